/** Retries over GraphQL: defaults, switches, previews and the queue. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { SHIPPED_POLICY } from '../../../src/domain/retry/policy/policy.ts'
import { PRESETS } from '../../../src/domain/retry/policy/resolve-policy.ts'
import { readStoredPolicy } from '../../../src/domain/retry/policy/stored-policy.ts'
import { analysedPlanOf, rowsRead } from '../../support/database/plans.ts'
import { recordQueries } from '../../support/database/record-statements.ts'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'
import { DEFAULT_PROJECT_ID } from '../../support/servers/test-server.ts'

let server: TestServer

beforeAll(async () => {
  server = await startGraphQLServer()
})
afterAll(() => server?.close())

describe('defaults', () => {
  const SET = `mutation ($input: SetRetryDefaultsInput!) { setRetryDefaults(input: $input) { __typename
  ... on SetRetryDefaultsPayload { retryDefaults { scope name policy { given maxRetries maxRetryDelay retryDelay rules { action } } } }
  ... on ValidationError { issues { path } } ... on Error { code } } }`

  async function set(input: object, token?: string) {
    const { data, errors } = await server.query(SET, { input }, token)
    expect(errors).toBeUndefined()
    return data.setRetryDefaults
  }

  test('defaults are set, read and cleared', async () => {
    const policy = { maxRetries: 0, maxRetryDelay: null, rules: [{ match: {}, action: 'FAIL' }] }
    const shown = {
      scope: 'PROJECT',
      name: 'default',
      policy: {
        given: ['maxRetries', 'maxRetryDelay', 'rules'],
        maxRetries: 0,
        maxRetryDelay: null,
        retryDelay: null,
        rules: [{ action: 'FAIL' }],
      },
    }
    expect(await set({ scope: 'PROJECT', name: 'default', policy })).toEqual({
      __typename: 'SetRetryDefaultsPayload',
      retryDefaults: shown,
    })
    const read = '{ retryDefaults { scope name policy { given maxRetries } } }'
    expect((await server.query(read)).data.retryDefaults).toMatchObject([{ scope: 'PROJECT', name: 'default' }])
    expect(await set({ scope: 'PROJECT', name: 'default', policy: null })).toMatchObject({
      retryDefaults: { policy: null },
    })
    expect((await server.query(read)).data.retryDefaults).toEqual([])
  })

  test('faults are members of the result', async () => {
    expect(await set({ scope: 'DOMAIN', policy: { maxRetries: 101 } })).toMatchObject({
      __typename: 'ValidationError',
      issues: [{ path: 'name' }, { path: 'policy.maxRetries' }],
    })
    expect(await set({ scope: 'DOMAIN', name: 'nope' })).toMatchObject({ __typename: 'NotFoundError' })
    const member = await server.factory.token({ role: 'MEMBER', projectId: DEFAULT_PROJECT_ID })
    expect(await set({ scope: 'PROJECT', name: 'default' }, member)).toMatchObject({
      __typename: 'ForbiddenError',
      code: 'FORBIDDEN',
    })
  })
})

describe('switches', () => {
  const CHANGE = '{ at by reason }'
  const SHOWN = `scope name disabled disabledUntil disabledChange ${CHANGE}
  rateLimit { perSecond burst } rateLimitUntil rateLimitChange ${CHANGE}`
  const SET = `mutation ($input: SetRetrySwitchInput!) { setRetrySwitch(input: $input) { __typename
  ... on SetRetrySwitchPayload { retrySwitch { ${SHOWN} } }
  ... on ValidationError { issues { path } } ... on Error { code } } }`

  async function set(input: object, token?: string) {
    const { data, errors } = await server.query(SET, { input }, token)
    expect(errors).toBeUndefined()
    return data.setRetrySwitch
  }

  test('switches are set one by one, for a time, and read', async () => {
    const rateLimit = { perSecond: 2.5, burst: 3 }
    await set({ scope: 'CLUSTER', rateLimit, reason: 'too many at once' })
    const change = { at: expect.stringMatching(/^20\d\d-/), by: 'ADMIN-token' }
    const expected = {
      scope: 'CLUSTER',
      name: null,
      disabled: true,
      disabledUntil: '2040-01-01T00:00:00.000Z',
      disabledChange: { ...change, reason: null },
      rateLimit,
      rateLimitUntil: null,
      rateLimitChange: { ...change, reason: 'too many at once' },
    }
    expect(await set({ scope: 'CLUSTER', disabled: true, until: '2040-01-01T00:00:00Z' })).toEqual({
      __typename: 'SetRetrySwitchPayload',
      retrySwitch: expected,
    })
    const read = `{ retrySwitches { ${SHOWN} } }`
    const viewer = await server.factory.token({ role: 'VIEWER', projectId: DEFAULT_PROJECT_ID })
    expect((await server.query(read, {}, viewer)).data.retrySwitches).toEqual([expected])
    await set({ scope: 'CLUSTER', disabled: false, rateLimit: null })
    expect((await server.query(read)).data.retrySwitches).toEqual([])
  })

  test('a viewer of one project does not read the switches of another', async () => {
    await server.factory.project('somebody-elses')
    await set({ scope: 'PROJECT', name: 'somebody-elses', disabled: true })
    const member = await server.factory.token({ role: 'MEMBER', projectId: DEFAULT_PROJECT_ID })
    expect((await server.query('{ retrySwitches { name } }', {}, member)).data.retrySwitches).toEqual([])
    expect(await set({ scope: 'PROJECT', name: 'default', disabled: true }, member)).toMatchObject({
      __typename: 'ForbiddenError',
    })
  })

  test('faults are members of the result', async () => {
    const rateLimit = { perSecond: -1, burst: 0 }
    expect(await set({ scope: 'PROJECT', rateLimit, reason: 'x'.repeat(1001) })).toMatchObject({
      __typename: 'ValidationError',
      issues: [{ path: 'name' }, { path: 'rateLimit.perSecond' }, { path: 'rateLimit.burst' }, { path: 'reason' }],
    })
    expect(await set({ scope: 'DOMAIN', name: 'nope', disabled: true })).toMatchObject({ __typename: 'NotFoundError' })
  })
})

describe('previews', () => {
  const PLAIN_FIELDS = Object.keys(SHIPPED_POLICY).filter((field) => field !== 'rules')
  const POLICY = `${PLAIN_FIELDS.join(' ')}
  rules { action delay avoid match { causes exitCodes exitCodesNotIn reason } scaleResources { slot factor max } scaleGpuMemory { factor max } scaleTimeout { factor max } }
  sources { field source }`

  const CREATE = `mutation ($input: CreateSessionInput!) { createSession(input: $input) {
  ... on CreateSessionPayload { session { sessionId retryPolicy { ${POLICY} } } }
  ... on ValidationError { issues { path } } } }`

  async function create(retryPolicy: object, more: object = {}) {
    const resourceSlots = [{ slot: 'mem', amount: '2000m' }]
    const { data, errors } = await server.query(CREATE, {
      input: { name: 'x', command: ['true'], resourceSlots, retryPolicy, ...more },
    })
    expect(errors).toBeUndefined()
    return data.createSession
  }

  function sourcesOf(policy: { sources: { field: string; source: string }[] }): Record<string, string> {
    return Object.fromEntries(policy.sources.map(({ field, source }) => [field, source]))
  }

  describe('a preset', () => {
    test('becomes the policy of a session, field by field, and an explicit field wins', async () => {
      const { session } = await create({ preset: 'CMS_EXIT_CODES', maxRetries: 4 })
      expect(session.retryPolicy).toMatchObject({ maxRetries: 4, retryDelay: 900, jitter: 'NONE', maxRetryDelay: 3600 })
      expect(session.retryPolicy.rules).toHaveLength(PRESETS.CMS_EXIT_CODES.rules!.length)
      expect(sourcesOf(session.retryPolicy)).toMatchObject({
        maxRetries: 'SESSION',
        rules: 'SESSION',
        jitter: 'SESSION',
        maxRetryDelay: 'SHIPPED',
      })
      const { rows } = await server.db.query('SELECT retry_policy AS policy FROM sessions WHERE id = $1', [
        session.sessionId,
      ])
      const { policy } = rows[0] as { policy: object }
      expect(readStoredPolicy(policy)).toEqual({ ...SHIPPED_POLICY, ...PRESETS.CMS_EXIT_CODES, maxRetries: 4 })
      // What nobody stated is not stored.
      expect(policy).not.toHaveProperty('maxRetryDelay')
    })

    test('is previewed, with the memory that each retry gets', async () => {
      const { session } = await create({ preset: 'CMS_EXIT_CODES' })
      const text = `query ($policy: RetryPolicyInput!, $sessionId: UUID) {
      retryPolicyPreview(policy: $policy, exitCode: 50115, sessionId: $sessionId) {
        eligible schedule { delaySeconds resourceSlots { slot amount } batchTimeout } } }`
      const policy = { preset: 'CMS_EXIT_CODES', maxRetries: 7 }
      const { data } = await server.query(text, { policy, sessionId: session.sessionId })
      const { schedule } = data.retryPolicyPreview
      expect(schedule.map((retry: any) => retry.delaySeconds)).toEqual(Array.from({ length: 7 }, () => 900))
      const memory = schedule.map((retry: any) => retry.resourceSlots.find(({ slot }: any) => slot === 'mem').amount)
      expect(schedule[0].batchTimeout).toBeNull()
      expect(memory.map((bytes: string) => Math.floor(Number(bytes) / 2 ** 20))).toEqual([
        2600, 3380, 4394, 5712, 7425, 7500, 7500,
      ])
    })
  })

  describe('exit codes of a rule', () => {
    const rules = [
      { match: { exitCodes: [2, '64-78'] }, action: 'FAIL' },
      { match: { exitCodesNotIn: ['0-9', 75] }, action: 'RETRY' },
    ]

    test('are numbers and ranges, in and out', async () => {
      const { session } = await create({ maxRetries: 2, rules })
      expect(session.retryPolicy.rules).toMatchObject(rules)
      const literal = await server.query(`{ retryPolicyPreview(exitCode: 70, policy: { maxRetries: 1, rules: [
      { action: FAIL, match: { exitCodes: [2, "64-78"] } }] }) { eligible explanation } }`)
      expect(literal.data.retryPolicyPreview).toEqual({
        eligible: false,
        explanation: 'no retry: matched rules[0] (FAIL)',
      })
    })

    test('decide the preview', async () => {
      const text = `query ($policy: RetryPolicyInput!, $exitCode: Int) {
      retryPolicyPreview(policy: $policy, exitCode: $exitCode) { explanation } }`
      const explain = async (exitCode: number) => {
        const { data } = await server.query(text, { policy: { maxRetries: 2, rules }, exitCode })
        return data.retryPolicyPreview.explanation
      }
      expect(await explain(2)).toBe('no retry: matched rules[0] (FAIL)')
      expect(await explain(63)).toBe('2 retries by rules[1] (RETRY)')
      for (const code of [64, 75, 78]) expect(await explain(code)).toBe('no retry: matched rules[0] (FAIL)')
      expect(await explain(5)).toBe('2 retries by the eligible causes')
    })

    test('that are none are refused', async () => {
      const { errors } = await server.query(CREATE, {
        input: {
          name: 'x',
          command: ['true'],
          retryPolicy: { rules: [{ match: { exitCodes: ['78-64'] }, action: 'FAIL' }] },
        },
      })
      expect(errors?.[0]?.message).toMatch(/ExitCodes cannot represent "78-64": it is an exit code, or a range/)
    })
  })

  test('growth of GPU memory is shown as it was given, with its maximum in bytes, and is previewed', async () => {
    const scaleGpuMemory = { factor: 2, max: '80g' }
    const rules = [{ match: { reason: 'gpu-memory' }, action: 'RETRY', scaleGpuMemory }]
    const { session } = await create({ maxRetries: 2, rules }, { gpus: { memory: '24g' } })
    expect(session.retryPolicy.rules).toMatchObject([{ scaleGpuMemory: { factor: 2, max: String(80 * 2 ** 30) } }])
    const { data } = await server.query(
      `query ($policy: RetryPolicyInput!, $sessionId: UUID) {
      retryPolicyPreview(policy: $policy, exitCode: 1, sessionId: $sessionId) { schedule { gpuMemoryBytes } } }`,
      { policy: { maxRetries: 2, rules: [{ ...rules[0], match: {} }] }, sessionId: session.sessionId },
    )
    const bytes = data.retryPolicyPreview.schedule.map((retry: any) => retry.gpuMemoryBytes)
    expect(bytes).toEqual([48, 80].map((gib) => gib * 2 ** 30))
  })

  describe('the policy of a session', () => {
    test('shows the source of each field', async () => {
      const { session } = await create({ retryDelay: 5, maxElapsed: null })
      const sources = sourcesOf(session.retryPolicy)
      expect(Object.keys(sources).toSorted()).toEqual(Object.keys(SHIPPED_POLICY).toSorted())
      expect(Object.keys(sources).filter((field) => sources[field] === 'SESSION')).toEqual(['retryDelay', 'maxElapsed'])
    })

    test('that no longer validates does not hide the session', async () => {
      const { id } = await server.factory.session({ retryPolicy: { maxRetries: 2 } })
      await server.db.query(
        `UPDATE sessions SET retry_policy = '{"maxRetries": 2, "jitter": "SOME"}',
      retry_policy_sources = '{"maxRetries": "DOMAIN", "jitter": "SESSION"}' WHERE id = $1`,
        [id],
      )
      const { data, errors } = await server.query(`{ session(id: "${id}") { maxRetries retryPolicy { ${POLICY} } } }`)
      expect(errors).toBeUndefined()
      expect(data.session).toMatchObject({ maxRetries: 2, retryPolicy: { ...SHIPPED_POLICY, maxRetries: 2 } })
      expect(sourcesOf(data.session.retryPolicy)).toMatchObject({ maxRetries: 'DOMAIN', jitter: 'SHIPPED' })
    })
  })

  describe('airflowPolicyPreview', () => {
    const text = `query ($settings: AirflowSettingsInput!) { airflowPolicyPreview(settings: $settings) {
    policy { ${POLICY} } explanation { alike differs }
    airflowDelays { retry delaySeconds earliestSeconds latestSeconds elapsedSeconds }
    schedule { retry earliestSeconds latestSeconds } } }`

    async function preview(settings: object) {
      const { data, errors } = await server.query(text, { settings })
      expect(errors).toBeUndefined()
      return data.airflowPolicyPreview
    }

    test('puts both schedules side by side', async () => {
      const { policy, explanation, airflowDelays, schedule } = await preview({
        retries: 3,
        retryDelay: 30,
        retryExponentialBackoff: true,
        maxRetryDelay: 200,
      })
      expect(policy).toMatchObject({ maxRetries: 3, backoff: 'EXPONENTIAL', backoffMultiplier: 2, maxRetryDelay: 200 })
      expect(sourcesOf(policy)).toMatchObject({ maxRetries: 'SESSION', maxElapsed: 'SHIPPED' })
      expect(airflowDelays).toEqual([
        { retry: 1, delaySeconds: 30, earliestSeconds: 30, latestSeconds: 59, elapsedSeconds: 30 },
        { retry: 2, delaySeconds: 60, earliestSeconds: 60, latestSeconds: 119, elapsedSeconds: 90 },
        { retry: 3, delaySeconds: 120, earliestSeconds: 120, latestSeconds: 200, elapsedSeconds: 210 },
      ])
      expect(schedule).toEqual([
        { retry: 1, earliestSeconds: 30, latestSeconds: 60 },
        { retry: 2, earliestSeconds: 60, latestSeconds: 120 },
        { retry: 3, earliestSeconds: 120, latestSeconds: 200 },
      ])
      expect(explanation.alike.join(' ')).toContain('4 attempts')
      expect(explanation.differs.length).toBeGreaterThan(0)
    })

    test('computes the jitter of a named task', async () => {
      const task = { dagId: 'd', taskId: 't', logicalDate: '2016-01-01 00:00:00+00:00' }
      const { airflowDelays } = await preview({ ...task, retries: 3, retryDelay: 60, retryExponentialBackoff: 1.5 })
      expect(airflowDelays.map((retry: any) => retry.delaySeconds)).toEqual([81, expect.any(Number), 243])
    })

    test('has the defaults of Airflow', async () => {
      expect(await preview({})).toMatchObject({ policy: { maxRetries: 0, retryDelay: 300 }, airflowDelays: [] })
    })

    test('reports faults', async () => {
      const answer = await server.query(text, { settings: { retries: -1, taskId: 't' } })
      expect(answer.errors?.[0]?.extensions).toMatchObject({ code: 'VALIDATION_FAILED' })
      const issues = answer.errors?.[0]?.extensions['issues'].map(({ path }: any) => path)
      expect(issues).toEqual(['settings.retries', 'settings.taskId'])
      const wrongType = await server.query(text, { settings: { retryExponentialBackoff: 'yes' } })
      expect(wrongType.errors?.[0]?.message).toMatch(/AirflowBackoff cannot represent "yes"/)
    })
  })
})

describe('the queue', () => {
  const QUEUE = `query ($first: Int, $after: String, $last: Int) {
  retryDecisions(filter: { phase: [SCHEDULED, HELD] }, orderBy: { field: DUE_AT }, first: $first, after: $after, last: $last) {
    totalCount pageInfo { hasNextPage endCursor } edges { node { session { name } dueAt holdReason heldSince holds { from } } } } }`

  test('is ordered by due time, page by page, and shows since when retries are held', async () => {
    const { factory, db } = server
    const retryPolicy = { maxRetries: 3 }
    for (const [name, minutes, phase] of [
      ['third', 30, 'SCHEDULED'],
      ['first', -20, 'HELD'],
      ['second', 10, 'SCHEDULED'],
      ['over', -90, 'EXHAUSTED'],
    ] as const) {
      const { id } = await factory.session({ name, status: 'ERROR', phase, retryPolicy })
      await db.query(`UPDATE retry_decisions SET due_at = now() + make_interval(mins => $2) WHERE session_id = $1`, [
        id,
        minutes,
      ])
      if (phase === 'HELD') {
        await db.query(
          `INSERT INTO retry_waits (session_id, number, reason, from_at, to_at) VALUES
           ($1, 1, 'DISABLED', '2026-01-01T00:00:00Z', '2026-01-01T00:01:00Z'), ($1, 2, 'QUOTA', '2026-01-01T00:01:00Z', NULL)`,
          [id],
        )
      }
    }
    const names: string[] = []
    let after: string | null = null
    do {
      const { data, errors }: any = await server.query(QUEUE, { first: 1, after })
      expect(errors).toBeUndefined()
      const { totalCount, edges, pageInfo } = data.retryDecisions
      expect(totalCount).toBe(3)
      names.push(edges[0].node.session.name)
      expect(edges[0].node.heldSince).toBe(edges[0].node.session.name === 'first' ? '2026-01-01T00:01:00.000Z' : null)
      after = pageInfo.hasNextPage ? pageInfo.endCursor : null
    } while (after !== null)
    expect(names).toEqual(['first', 'second', 'third'])
    const { data } = await server.query(QUEUE, { last: 1 })
    expect(data.retryDecisions.edges[0].node.session.name).toBe('third')

    const { data: held } = await server.query(
      '{ chains(filter: { name: { equals: "first" } }) { edges { node { outlook { willRetry reason dueAt at } } } } }',
    )
    // Overdue: the time at which it should have been dispatched says nothing about when it will be.
    expect(held.chains.edges[0].node.outlook).toMatchObject({ willRetry: true, dueAt: null, at: null })
    expect(held.chains.edges[0].node.outlook.reason).toMatch(/^held: /)
  })

  test('reads the page, not all that wait', async () => {
    const { db, factory } = server
    const { id } = await factory.session({
      name: 'one of many',
      status: 'ERROR',
      phase: 'SCHEDULED',
      retryPolicy: { maxRetries: 1 },
    })
    await db.query('ALTER TABLE retry_decisions DISABLE TRIGGER USER')
    await db.query('ALTER TABLE retry_decisions DROP CONSTRAINT retry_decisions_session_id_fkey')
    await db.query(
      `INSERT INTO retry_decisions SELECT (json_populate_record(d, json_build_object('session_id', gen_random_uuid(),
       'due_at', now() + make_interval(secs => n)))).* FROM retry_decisions d, generate_series(1, 20000) AS n WHERE d.session_id = $1`,
      [id],
    )
    await db.query('VACUUM ANALYZE retry_decisions')
    const { queries } = await recordQueries(() =>
      server.query(
        '{ retryDecisions(filter: { phase: [SCHEDULED, HELD] }, orderBy: { field: DUE_AT }, first: 10) { edges { node { dueAt } } } }',
      ),
    )
    const page = queries.find(({ text }) => text.includes('"retry_decisions"'))!
    const nodes = await analysedPlanOf(db, page)
    expect(nodes.map((node) => node['Index Name'])).toContain('retry_decisions_due')
    expect(rowsRead(nodes)).toBeLessThan(100)
  })
})
