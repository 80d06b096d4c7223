/** Finer policies on the path that ships: tables of delays, growth from the peak, and policies tried on finished sessions. */
import { beforeEach, describe, expect, it } from 'vitest'
import type { RetryPolicyInput } from '../../../src/client/schema-types.generated.ts'
import type { FailureError } from '../../../src/domain/session/failure.ts'
import { fakeAgent, type FakeAgent } from '../../support/agents/fake-agent.ts'
import { chainRows, decisionRow } from '../../support/database/session-rows.ts'
import { recordQueries } from '../../support/database/record-statements.ts'
import { useFakeAgentApi } from '../../support/servers/fake-agent-api.ts'
import { advanceClock } from '../../support/sessions/advance-clock.ts'
import { driveAll, failWith } from '../../support/sessions/drive-session.ts'

const GIB = 1024 ** 3
const started = useFakeAgentApi()
const given = {
  get api() {
    return started.api
  },
  get server() {
    return started.server
  },
  get db() {
    return started.api.db
  },
  sql: async (text: string, values?: unknown[]) =>
    (await started.api.db.query<Record<string, unknown>>(text, values)).rows,
}
let agent: FakeAgent

beforeEach(async () => {
  agent = fakeAgent(given.server.gateway, { slots: { cpu: '64', mem: String(256 * GIB) } })
  await agent.register()
})

interface Failed {
  name?: string
  labels?: { key: string; value: string }[]
  peakGib?: number
  error?: FailureError
  exitCode?: number
}

/** Creates a session with 2 GiB of memory and a timeout of a minute by GraphQL, and lets it fail. */
async function failed(retryPolicy: RetryPolicyInput, { name = 'work', labels = [], ...failure }: Failed = {}) {
  const input = { name, labels, command: ['true'], resourceSlots: [{ slot: 'mem', amount: '2g' }], batchTimeout: 60 }
  const text = `mutation ($input: CreateSessionInput!) { createSession(input: $input) {
    ... on CreateSessionPayload { session { sessionId } } ... on ValidationError { issues { path message } } } }`
  const { createSession } = await query(text, { input: { ...input, retryPolicy } })
  if (createSession.session === undefined) return createSession
  await fail(failure)
  return createSession.session.sessionId as string
}

async function fail({ peakGib, error, exitCode = 1 }: Failed): Promise<void> {
  const { server } = given
  await driveAll(server, agent, 'RUNNING')
  const usage = { peakMemoryBytes: (peakGib ?? 0) * GIB, cpuSeconds: 1, wallSeconds: 1, source: 'CGROUP' as const }
  for (const [kernelId, { status }] of agent.kernels) {
    if (status === 'RUNNING') agent.observe(kernelId, { ...(peakGib && { usage }), ...(error && { error }) })
  }
  await failWith(server, agent, exitCode)
}

async function query(text: string, variables: object = {}, token = given.api.adminToken) {
  const { data, errors } = await given.api.query(text, variables, token)
  expect(errors).toBeUndefined()
  return data
}

const OOM = { name: 'oom-killed', message: 'used more than its memory' }
const TIMED_OUT = { name: 'task-timeout', message: 'ran longer than 60 s' }
const PREEMPTED = { name: 'preempted', message: 'Slurm preempted its job' }

describe('a table of delays', () => {
  it('is followed from attempt to attempt, is the budget, and is shown in seconds', async () => {
    const { server, db } = given
    const id = await failed({ delays: ['20s', 300, '1h'] })
    for (const retry of [2, 3, 4]) {
      await advanceClock(db, 86_400)
      await server.run('dispatch-retries')
      await fail({})
      expect(await chainRows(db, id)).toHaveLength(retry)
    }
    const decisions = await Promise.all((await chainRows(db, id)).map((row) => decisionRow(db, row.id)))
    expect(decisions.map((decision) => decision!.explanation)).toEqual([
      'retry 1 of 3: exit code 1; waits 20 s (delays[0])',
      'retry 2 of 3: exit code 1; waits 300 s (delays[1])',
      'retry 3 of 3: exit code 1; waits 1 h (delays[2])',
      'retries exhausted: 3 of 3 retries used; exit code 1',
    ])
    const text = `query ($id: UUID!) { session(id: $id) { maxRetries retryPolicy { delays jitter sources { field source } } } }`
    const { session } = await query(text, { id })
    expect(session).toMatchObject({ maxRetries: 3, retryPolicy: { delays: [20, 300, 3600], jitter: 'NONE' } })
    const ofSession = (session.retryPolicy.sources as { field: string; source: string }[])
      .filter(({ source }) => source === 'SESSION')
      .map(({ field }) => field)
    expect(ofSession.toSorted()).toEqual(['delays', 'jitter', 'maxRetries'])
  })

  it('that is none is refused, each fault at its place', async () => {
    const wanted = 'Must be a delay of 0 to 86400 s: seconds, or text like 20s, 5m or 1h30m'
    expect(await failed({ delays: ['20s', 'soon', '25h'] })).toEqual({
      issues: [1, 2].map((at) => ({ path: `retryPolicy.delays.${at}`, message: wanted })),
    })
    expect(await failed({ delays: [] })).toMatchObject({ issues: [{ path: 'retryPolicy.delays' }] })
  })

  it('replaces the delays of a waiting retry and keeps its budget; a resubmission takes its own', async () => {
    const { db, sql } = given
    const id = await failed({ maxRetries: 5, retryDelay: 3600 })
    const update = `mutation ($input: UpdateRetryInput!) { updateRetry(input: $input) { __typename } }`
    await query(update, { input: { sessionId: id, policy: { delays: ['5m'] } } })
    expect((await decisionRow(db, id))!.explanation).toBe(
      'retry 1 of 5: exit code 1; waits 300 s (delays[0]); policy changed by ADMIN-token',
    )
    const resubmit = `mutation ($input: ResubmitSessionsInput!) { resubmitSessions(input: $input) { __typename } }`
    const overrides = { retryPolicy: { delays: ['1m', '2m'] } }
    await query(resubmit, { input: { sessionIds: [id], overrides } })
    const [child] = await sql(`SELECT max_retries, retry_policy -> 'delays' AS delays FROM sessions WHERE epoch = 1`)
    expect(child).toEqual({ max_retries: 2, delays: [60, 120] })
  })
})

describe('growth', () => {
  const grown = async (id: string) => {
    const [row] = await given.sql(`SELECT details -> 'growth' AS growth FROM retry_decisions WHERE session_id = $1`, [
      id,
    ])
    const growth = row!['growth'] as { resourceSlots: Record<string, string>; batchTimeout: number } | null
    return growth && { mem: Number(growth.resourceSlots['mem']) / GIB, batchTimeout: growth.batchTimeout }
  }
  const peak: RetryPolicyInput = {
    maxRetries: 2,
    rules: [{ match: {}, action: 'RETRY', scaleResources: [{ slot: 'mem', from: 'PEAK', factor: 1.5 }] }],
  }

  it.each([
    ['measured peak', 1.75, { mem: 2.625, batchTimeout: 60 }],
    ['peak at the limit', 1.95, { mem: 3, batchTimeout: 60 }],
    ['low peak', 0.5, null],
    ['unknown peak', undefined, { mem: 3, batchTimeout: 60 }],
  ])('from a %s', async (_, peakGib, expected) => {
    expect(await grown(await failed(peak, { peakGib, error: OOM, exitCode: 137 }))).toEqual(expected)
  })

  it('from the peak is added to a waiting retry', async () => {
    const id = await failed({ maxRetries: 2 }, { peakGib: 1.75, error: OOM, exitCode: 137 })
    const update = `mutation ($input: UpdateRetryInput!) { updateRetry(input: $input) { __typename } }`
    await query(update, { input: { sessionId: id, policy: peak } })
    expect(await grown(id)).toEqual({ mem: 2.625, batchTimeout: 60 })
    const preview = `query ($id: UUID!) { retryPolicyPreview(policy: {}, sessionId: $id) {
      schedule { resourceSlots { slot amount } } } }`
    const { retryPolicyPreview } = await query(preview, { id })
    const ofMemory = retryPolicyPreview.schedule.map(
      ({ resourceSlots }: { resourceSlots: object[] }) => resourceSlots[1],
    )
    expect(ofMemory).toEqual([2.625, 3.9375].map((gib) => ({ slot: 'mem', amount: String(gib * GIB) })))
  })

  it('of timeouts follows timeouts only, and nothing grows after a preemption', async () => {
    const scaleResources = [{ slot: 'mem', factor: 2 }]
    const policy: RetryPolicyInput = {
      maxRetries: 2,
      rules: [{ match: {}, action: 'RETRY', scaleResources, scaleTimeout: { factor: 2 } }],
    }
    expect(await grown(await failed(policy, { error: TIMED_OUT, exitCode: 143 }))).toEqual({
      mem: 4,
      batchTimeout: 120,
    })
    expect(await grown(await failed(policy, { error: OOM, exitCode: 137 }))).toEqual({ mem: 4, batchTimeout: 60 })
    expect(await grown(await failed(policy))).toEqual({ mem: 4, batchTimeout: 60 })
    const preempted = await failed(policy, { error: PREEMPTED })
    expect(await grown(preempted)).toBeNull()
    expect((await decisionRow(given.db, preempted))!.explanation).toContain('; nothing grows after a preemption; ')
  })
})

describe('a policy that is tried', () => {
  const TRIAL = `matched tried counts { phase counted matchedRule count } decisions(first: 10) {
    sessionId name project attempt cause phase matchedRule counted reason delaySeconds resourceSlots { slot amount }
    batchTimeout recordedPhase }`
  const TRY = `query ($policy: RetryPolicyInput!, $sessionIds: [UUID!], $filter: SessionFilter, $window: TimeWindow) {
    retryPolicyPreview(policy: $policy, sessionIds: $sessionIds, filter: $filter, window: $window) {
      eligible trial { ${TRIAL} } } }`
  const tried = async (variables: object, token?: string) =>
    (await query(TRY, { policy: {}, ...variables }, token)).retryPolicyPreview.trial

  const POLICY: RetryPolicyInput = {
    delays: ['20s', '5m'],
    rules: [
      { match: { exitCodes: [64] }, action: 'FAIL' },
      {
        match: { causes: ['OOM_KILLED'] },
        action: 'RETRY_UNCOUNTED',
        scaleResources: [{ slot: 'mem', from: 'PEAK', factor: 1.5 }],
      },
    ],
  }

  it('decides about each session as at its end, with counts and names, and changes nothing', async () => {
    const { sql } = given
    const labels = [{ key: 'study', value: '7' }]
    await failed({ maxRetries: 0 }, { name: 'usage', labels, exitCode: 64 })
    await failed({ maxRetries: 9, retryDelay: 9 }, { name: 'hungry', labels, peakGib: 1.75, error: OOM, exitCode: 137 })
    await failed({ maxRetries: 0 }, { name: 'flaky', labels })
    await failed({ maxRetries: 0 }, { name: 'other' })
    const before = await sql('SELECT * FROM retry_decisions ORDER BY session_id')
    const trial = await tried({ policy: POLICY, filter: { label: labels[0] } })
    expect(trial).toMatchObject({ matched: 3, tried: 3 })
    expect(trial.counts).toHaveLength(3)
    expect(trial.counts).toEqual(
      expect.arrayContaining([
        { phase: 'NOT_ELIGIBLE', counted: true, matchedRule: 0, count: 1 },
        { phase: 'SCHEDULED', counted: false, matchedRule: 1, count: 1 },
        { phase: 'SCHEDULED', counted: true, matchedRule: null, count: 1 },
      ]),
    )
    const [flaky, hungry, usage] = trial.decisions
    expect(flaky).toMatchObject({
      name: 'flaky',
      project: 'default',
      attempt: 1,
      cause: 'KERNEL_NONZERO_EXIT',
      phase: 'SCHEDULED',
      reason: 'retry 1 of 2: exit code 1; waits 20 s (delays[0])',
      delaySeconds: 20,
      resourceSlots: [
        { slot: 'cpu', amount: '1' },
        { slot: 'mem', amount: String(2 * GIB) },
      ],
      batchTimeout: 60,
      recordedPhase: 'NONE',
    })
    expect(hungry).toMatchObject({
      name: 'hungry',
      phase: 'SCHEDULED',
      counted: false,
      matchedRule: 1,
      resourceSlots: [
        { slot: 'cpu', amount: '1' },
        { slot: 'mem', amount: String(2.625 * GIB) },
      ],
      recordedPhase: 'SCHEDULED',
    })
    expect(usage).toMatchObject({ phase: 'NOT_ELIGIBLE', delaySeconds: null, resourceSlots: [], batchTimeout: null })
    expect(await sql('SELECT * FROM retry_decisions ORDER BY session_id')).toEqual(before)
  })

  it('has the defaults of each project, and the budget that an attempt has used', async () => {
    const { server, db, sql } = given
    const id = await failed({ maxRetries: 1, retryDelay: 1 })
    await advanceClock(db, 60)
    await server.run('dispatch-retries')
    await fail({})
    const [, second] = await chainRows(db, id)
    await sql(`UPDATE projects SET retry_defaults = '{"retryDelay": 77, "jitter": "NONE"}'`)
    const trial = await tried({ policy: { maxRetries: 1 }, sessionIds: [id, second!.id] })
    expect(trial.decisions.map(({ reason }: { reason: string }) => reason)).toEqual([
      'retries exhausted: 1 of 1 retry used; exit code 1',
      'retry 1 of 1: exit code 1; waits 77 s',
    ])
  })

  it('reads sessions that ended within the window, by default the last seven days', async () => {
    const { db } = given
    await failed({}, { name: 'old' })
    await advanceClock(db, 8 * 86_400)
    await failed({}, { name: 'new' })
    const names = async (variables: object) =>
      (await tried(variables)).decisions.map(({ name }: { name: string }) => name)
    expect(await names({ filter: {} })).toEqual(['new'])
    expect(await names({ window: {} })).toEqual(['new'])
    expect(await names({ window: { from: '2020-01-01T00:00:00Z' } })).toEqual(['new', 'old'])
    expect(await names({ window: { from: '2020-01-01T00:00:00Z' }, filter: { name: { equals: 'old' } } })).toEqual([
      'old',
    ])
    expect(await tried({})).toBeNull()
  })

  it('needs a number of statements that does not depend on the sessions', async () => {
    const count = async () => {
      const { queries } = await recordQueries(() => tried({ policy: POLICY, window: {} }))
      // The use of the token is noted now and then.
      return queries.filter(({ text }) => /\b(sessions|projects)\b/.test(text)).length
    }
    await failed({})
    const one = await count()
    expect(one).toBeGreaterThan(1)
    for (let more = 0; more < 5; more++) await failed(POLICY)
    expect(await count()).toBe(one)
  })

  it.each([
    ['an unknown session', { sessionIds: ['01990000-0000-7000-8000-00000000000a'] }, 'SESSION_NOT_FOUND'],
    ['sessions and a filter', { sessionIds: [], filter: {} }, 'VALIDATION_FAILED'],
    ['an empty window', { window: { from: '2026-01-02T00:00:00Z', to: '2026-01-01T00:00:00Z' } }, 'VALIDATION_FAILED'],
    ['a faulty policy', { policy: { delays: ['never'] }, window: {} }, 'VALIDATION_FAILED'],
  ])('refuses %s', async (_, variables, code) => {
    const { errors } = await given.api.query(TRY, { policy: {}, ...variables }, given.api.adminToken)
    expect(errors?.[0]?.extensions['code']).toBe(code)
  })

  it('refuses a session that has not ended, and lists of more than 100', async () => {
    const id = await given.server.create({})
    const { errors } = await given.api.query(TRY, { policy: {}, sessionIds: [id] }, given.api.adminToken)
    expect(errors?.[0]?.extensions['code']).toBe('SESSION_NOT_FOUND')
    const text = `{ retryPolicyPreview(policy: {}, window: {}) { trial { decisions(first: 101) { name } } } }`
    const { errors: tooMany } = await given.api.query(text, {}, given.api.adminToken)
    expect(tooMany?.[0]?.extensions['code']).toBe('VALIDATION_FAILED')
  })
})
