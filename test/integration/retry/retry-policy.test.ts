/** Policies of retries: defaults, policies that cannot be read, jitter, and the longest time that a chain may take. */
import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { RetryPolicy } from '../../../src/domain/retry/policy/policy.ts'
import { readStoredPolicy } from '../../../src/domain/retry/policy/stored-policy.ts'
import { retryNow } from '../../../src/services/retry/change-retry.ts'
import {
  readRetryDefaults,
  setRetryDefaults,
  type SetRetryDefaultsInput,
} from '../../../src/services/retry/retry-defaults.ts'
import { setRetrySwitch } from '../../../src/services/retry/retry-switches.ts'
import type { ServiceContext, Viewer } from '../../../src/services/service-context.ts'
import { createSession } from '../../../src/services/session/create-sessions.ts'
import { chainRows, decisionRow, events } from '../../support/database/session-rows.ts'
import { DEFAULT_PROJECT_ID } from '../../support/servers/test-server.ts'
import { driveAll, failWith, sessionIn } from '../../support/sessions/drive-session.ts'
import { advanceClock } from '../../support/sessions/advance-clock.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'

const given = useScheduling()

describe('defaults', () => {
  const set = (input: SetRetryDefaultsInput, viewer: Partial<Viewer> = {}) => setRetryDefaults(as(viewer), input)

  function as(viewer: Partial<Viewer>): ServiceContext {
    return { ...given.server.context, viewer: { ...given.server.context.viewer, ...viewer } }
  }

  async function policyOf(id: string): Promise<{ policy: RetryPolicy; sources: Record<string, string> }> {
    const rows = await given.sql(
      'SELECT retry_policy AS policy, retry_policy_sources AS sources FROM sessions WHERE id = $1',
      [id],
    )
    const { policy, sources } = rows[0] as unknown as { policy: object; sources: Record<string, string> }
    return { policy: readStoredPolicy(policy) as RetryPolicy, sources }
  }

  async function newSession(retryPolicy: object = {}, project = 'default') {
    const { sessionId } = await createSession(given.server.context, {
      name: 'x',
      command: ['true'],
      project,
      retryPolicy,
    })
    return policyOf(sessionId)
  }

  it('the narrowest scope that sets a field wins; 0, false and the empty list are values', async () => {
    await set({
      scope: 'CLUSTER',
      policy: { maxRetries: 5, retryDelay: 7, backoff: 'EXPONENTIAL', emitRetryEvents: true },
    })
    await set({
      scope: 'DOMAIN',
      name: 'default',
      policy: { maxRetries: 4, maxRetryDelay: null, emitRetryEvents: false },
    })
    await set({ scope: 'PROJECT', name: 'default', policy: { maxRetries: 3, eligibleCauses: [] } })
    const { policy, sources } = await newSession({ maxRetries: 0 })
    expect(policy).toMatchObject({
      maxRetries: 0,
      retryDelay: 7,
      backoff: 'EXPONENTIAL',
      maxRetryDelay: null,
      emitRetryEvents: false,
      eligibleCauses: [],
    })
    expect(sources).toMatchObject({
      maxRetries: 'SESSION',
      retryDelay: 'CLUSTER',
      maxRetryDelay: 'DOMAIN',
      emitRetryEvents: 'DOMAIN',
      eligibleCauses: 'PROJECT',
    })
    expect(sources).not.toHaveProperty('jitter')
    expect((await newSession()).policy.maxRetries).toBe(3)
  })

  it.each([{ scope: 'CLUSTER' }, { scope: 'DOMAIN', name: 'default' }, { scope: 'PROJECT', name: 'default' }] as const)(
    'a default of $scope replaces the previous one, null clears it, and existing sessions keep theirs',
    async (scope) => {
      await set({ ...scope, policy: { maxRetries: 2, retryDelay: 9 } })
      const id = await given.server.create()
      await set({ ...scope, policy: { maxRetries: 1 } })
      expect((await newSession()).policy).toMatchObject({ maxRetries: 1, retryDelay: 60 })
      await set({ ...scope, policy: null })
      expect((await newSession()).policy.maxRetries).toBe(0)
      await set({ ...scope })
      expect((await policyOf(id)).policy).toMatchObject({ maxRetries: 2, retryDelay: 9 })
      const details = await given.sql(
        `SELECT actor, project_id, details FROM audit_log WHERE action = 'retry.set_defaults' ORDER BY id`,
      )
      const name = 'name' in scope ? scope.name : null
      const said = (before: object | null, after: object | null) => ({
        actor: 'ada',
        project_id: scope.scope === 'PROJECT' ? DEFAULT_PROJECT_ID : null,
        details: { scope: scope.scope, name, before, after },
      })
      expect(details).toEqual([
        said(null, { maxRetries: 2, retryDelay: 9 }),
        said({ maxRetries: 2, retryDelay: 9 }, { maxRetries: 1 }),
        said({ maxRetries: 1 }, null),
        said(null, null),
      ])
    },
  )

  it('all faults are reported at once, and nothing is changed', async () => {
    const policy = { maxRetries: -1, rules: [{ match: {}, action: 'FAIL', delay: 1 }], colour: 'red' }
    await expect(set({ scope: 'PROJECT', policy })).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      issues: expect.arrayContaining(
        ['name', 'policy.maxRetries', 'policy.rules.0.delay', 'policy.colour'].map((path) =>
          expect.objectContaining({ path }),
        ),
      ),
    })
    await expect(set({ scope: 'CLUSTER', name: 'x', policy: {} })).rejects.toMatchObject({ issues: [{ path: 'name' }] })
    expect(await given.sql('SELECT FROM audit_log')).toEqual([])
  })

  describe('who may', () => {
    it('is an administrator', async () => {
      for (const role of ['MEMBER', 'VIEWER', 'AGENT'] as const) {
        await expect(set({ scope: 'CLUSTER', policy: {} }, { role })).rejects.toMatchObject({ code: 'FORBIDDEN' })
      }
    })

    it('an administrator of one project sets only that', async () => {
      const mine = { projectId: DEFAULT_PROJECT_ID }
      await given.sql(`INSERT INTO projects (id, domain_id, name) SELECT $1, id, 'other' FROM domains`, [randomUUID()])
      await set({ scope: 'PROJECT', name: 'default', policy: { maxRetries: 1 } }, mine)
      await expect(set({ scope: 'PROJECT', name: 'other' }, mine)).rejects.toMatchObject({ code: 'PROJECT_NOT_FOUND' })
      await expect(set({ scope: 'DOMAIN', name: 'default' }, mine)).rejects.toMatchObject({ code: 'FORBIDDEN' })
      await expect(set({ scope: 'CLUSTER' }, mine)).rejects.toMatchObject({ code: 'FORBIDDEN' })
    })

    it('missing scopes are reported', async () => {
      await expect(set({ scope: 'DOMAIN', name: 'nope' })).rejects.toMatchObject({ code: 'DOMAIN_NOT_FOUND' })
      await expect(set({ scope: 'PROJECT', name: 'a\0b' })).rejects.toMatchObject({ code: 'PROJECT_NOT_FOUND' })
    })

    it('a viewer of one project reads the defaults of its sessions, and no others', async () => {
      await given.sql(`INSERT INTO projects (id, domain_id, name) SELECT $1, id, 'other' FROM domains`, [randomUUID()])
      await given.sql(`INSERT INTO domains (id, name) VALUES ($1, 'far')`, [randomUUID()])
      await set({ scope: 'CLUSTER', policy: { maxRetries: 1 } })
      for (const name of ['default', 'far']) await set({ scope: 'DOMAIN', name, policy: { maxRetries: 2 } })
      for (const name of ['default', 'other']) await set({ scope: 'PROJECT', name, policy: { maxRetries: 3 } })
      expect(await readRetryDefaults(as({ projectId: DEFAULT_PROJECT_ID, role: 'VIEWER' }))).toEqual([
        { scope: 'CLUSTER', name: null, policy: { maxRetries: 1 } },
        { scope: 'DOMAIN', name: 'default', policy: { maxRetries: 2 } },
        { scope: 'PROJECT', name: 'default', policy: { maxRetries: 3 } },
      ])
      expect(await readRetryDefaults(given.server.context)).toHaveLength(5)
    })
  })
})

describe('unreadable policies', () => {
  it.each(['{"maxRetries": "many"}', '{"tomorrow": 1}', '[]', 'null'])(
    'a session whose stored policy is %s is not retried, with the reason, and does not stop the others',
    async (policy) => {
      const { server, agent, db, sql } = given
      const broken = await server.create({ retryPolicy: { maxRetries: 2 } })
      const sound = await server.create({ retryPolicy: { maxRetries: 2 } })
      await sql('UPDATE sessions SET retry_policy = $2::jsonb WHERE id = $1', [broken, policy])
      await driveAll(server, agent, 'RUNNING')
      await failWith(server, agent, 1)
      expect(await decisionRow(db, broken)).toMatchObject({
        phase: 'NOT_ELIGIBLE',
        explanation: expect.stringMatching(/^not retried: exit code 1; the stored retry policy is not valid \(/),
      })
      expect(await decisionRow(db, sound)).toMatchObject({ phase: 'SCHEDULED' })
    },
  )
})

describe('jitter', () => {
  interface Decided {
    sessionId: string
    attempt: number
    baseMs: number
    jitterMs: number
    delayMs: number
    explanation: string
  }

  /** The decisions of the chain, once its first attempt and `retries` more have failed. */
  async function decisions(policy: Partial<RetryPolicy>, retries: number): Promise<Decided[]> {
    const { server, agent, db, sql } = given
    const first = await sessionIn(server, agent, 'RUNNING', { retryPolicy: { maxRetries: 9, ...policy } })
    await failWith(server, agent, 1)
    for (let retry = 1; retry <= retries; retry++) {
      await advanceClock(db, 86_400)
      await server.run('dispatch-retries')
      await driveAll(server, agent, 'RUNNING')
      await failWith(server, agent, 1)
    }
    const rows = await sql(
      `SELECT s.id AS "sessionId", s.attempt, d.base_delay_ms AS "baseMs", d.jitter_ms AS "jitterMs",
       d.delay_ms AS "delayMs", d.explanation
     FROM sessions s JOIN retry_decisions d ON d.session_id = s.id WHERE s.chain_id = $1 ORDER BY s.attempt`,
      [first],
    )
    return rows as unknown as Decided[]
  }

  it('a decorrelated delay is drawn up to three times the delay before, from attempt to attempt', async () => {
    const made = await decisions({ jitter: 'DECORRELATED', retryDelay: 10, maxRetryDelay: 400 }, 4)
    expect(made.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4, 5])
    let before = 10_000
    for (const { attempt, baseMs, jitterMs, delayMs, explanation } of made) {
      const latest = Math.min(3 * before, 400_000)
      expect(delayMs).toBeGreaterThanOrEqual(10_000)
      expect(delayMs).toBeLessThanOrEqual(latest)
      expect([baseMs, baseMs + jitterMs]).toEqual([10_000, delayMs])
      const drawn = `waits ${delayMs / 1000} s, drawn from 10 s to ${latest / 1000} s`
      expect(explanation).toBe(`retry ${attempt} of 9: exit code 1; ${drawn}`)
      before = delayMs
    }
  })

  it('a full jitter is drawn from 0 to the whole delay', async () => {
    const made = await decisions({ jitter: 'FULL', retryDelay: 10, backoff: 'EXPONENTIAL' }, 2)
    for (const [index, { baseMs, jitterMs, delayMs, explanation }] of made.entries()) {
      expect([baseMs, baseMs + jitterMs]).toEqual([10_000 * 2 ** index, delayMs])
      expect(delayMs).toBeLessThanOrEqual(baseMs)
      expect(explanation).toMatch(new RegExp(`waits [\\d.]+ s, drawn from 0 s to ${baseMs / 1000} s$`))
    }
  })

  it.each(['NONE', 'DETERMINISTIC', 'RANDOM', 'FULL', 'DECORRELATED'] as const)(
    'with jitter %s a delay of 0 is one: the retry is due at once, every time',
    async (jitter) => {
      const { server, agent, sql } = given
      const rules = [{ match: {}, action: 'RETRY' as const, delay: 0 }]
      await sessionIn(server, agent, 'RUNNING', { retryPolicy: { maxRetries: 2, jitter, rules } })
      for (const attempt of [1, 2]) {
        await failWith(server, agent, 1)
        expect(await server.run('dispatch-retries')).toEqual([1])
        await driveAll(server, agent, 'RUNNING')
        const told = await sql(
          `SELECT data -> 'delaySeconds' AS delay, data ->> 'reason' AS reason FROM session_events
         WHERE type = 'session.retry_scheduled' ORDER BY id DESC LIMIT 1`,
        )
        expect(told).toEqual([
          { delay: 0, reason: `retry ${attempt} of 2: exit code 1 matched rules[0] (RETRY); waits 0 s` },
        ])
      }
    },
  )
})

describe('the longest time of a chain', () => {
  /** A session that failed, with a retry due in a second, of which none may start after the first minute. */
  async function failed(emitRetryEvents = true): Promise<string> {
    const { server, agent } = given
    const retryPolicy = { maxRetries: 3, retryDelay: 1, jitter: 'NONE' as const, maxElapsed: 60, emitRetryEvents }
    const id = await sessionIn(server, agent, 'RUNNING', { retryPolicy })
    await failWith(server, agent, 3)
    return id
  }

  async function switchedOff(disabled: boolean): Promise<void> {
    await setRetrySwitch(given.server.context, { scope: 'CLUSTER', disabled })
  }

  const EXPLANATION =
    'retries exhausted: it would start later than 60 s after the first attempt; retry 1 of 3: exit code 3; waits 1 s'

  it('a retry that a switch holds until after maxElapsed is exhausted, with an event and an explanation', async () => {
    const { server, db, sql } = given
    const id = await failed()
    const dependent = await server.create({ dependsOn: [id] })
    await server.run('schedule-sessions')
    await switchedOff(true)
    await advanceClock(db, 30)
    await server.run('dispatch-retries')
    expect(await decisionRow(db, id)).toMatchObject({ phase: 'HELD', holdReason: 'DISABLED' })
    await advanceClock(db, 31)
    await switchedOff(false)
    await server.run('dispatch-retries', 'schedule-sessions')
    expect(await decisionRow(db, id)).toMatchObject({ phase: 'EXHAUSTED', holdReason: null, explanation: EXPLANATION })
    expect(await chainRows(db, id)).toHaveLength(1)
    expect((await events(db, id)).at(-1)).toBe('session.retry_exhausted')
    const [told] = await sql(`SELECT data FROM session_events WHERE type = 'session.retry_exhausted'`)
    expect(told!['data']).toMatchObject({ attempt: 1, maxAttempts: 4, childSessionId: null, scheduledAt: null })
    const audit = await sql(
      `SELECT actor, details FROM audit_log WHERE action = 'retry.decided' ORDER BY id DESC LIMIT 1`,
    )
    expect(audit).toEqual([
      {
        actor: 'scheduler',
        details: { phase: 'EXHAUSTED', cause: 'KERNEL_NONZERO_EXIT', explanation: EXPLANATION },
      },
    ])
    const [waiting] = await sql('SELECT status FROM sessions WHERE id = $1', [dependent])
    expect(waiting).toEqual({ status: 'CANCELLED' })
  })

  it('a held one is exhausted while it is still held', async () => {
    const { server, db } = given
    const id = await failed()
    await switchedOff(true)
    await advanceClock(db, 2)
    await server.run('dispatch-retries')
    await advanceClock(db, 1_000)
    await server.run('dispatch-retries')
    expect(await decisionRow(db, id)).toMatchObject({ phase: 'EXHAUSTED', holdReason: null })
  })

  it('one that only waited for a server is exhausted all the same, and retryNow does not help', async () => {
    const { server, db } = given
    const id = await failed()
    await advanceClock(db, 61)
    await retryNow(server.context, { sessionId: id })
    await server.run('dispatch-retries')
    expect(await decisionRow(db, id)).toMatchObject({ phase: 'EXHAUSTED' })
  })

  it('one that starts in time is dispatched, though it was held', async () => {
    const { server, db } = given
    const id = await failed()
    await switchedOff(true)
    await advanceClock(db, 30)
    await server.run('dispatch-retries')
    await switchedOff(false)
    await server.run('dispatch-retries')
    expect(await decisionRow(db, id)).toMatchObject({ phase: 'DISPATCHED' })
  })

  it('a policy without retry events writes none, and the others of the batch are dispatched', async () => {
    const { server, db, sql } = given
    const late = await failed(false)
    await advanceClock(db, 61)
    const timely = await failed()
    await advanceClock(db, 2)
    await server.run('dispatch-retries')
    expect(await decisionRow(db, late)).toMatchObject({ phase: 'EXHAUSTED' })
    expect(await decisionRow(db, timely)).toMatchObject({ phase: 'DISPATCHED' })
    expect(await sql(`SELECT FROM session_events WHERE type = 'session.retry_exhausted'`)).toEqual([])
  })
})
