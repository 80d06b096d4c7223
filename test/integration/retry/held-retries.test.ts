/** Retries that a switch or a rate limit holds: who set it, why, and until when. */
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import { BREAKER_PROBE_MAX_MS, BREAKER_PROBE_MIN_MS } from '../../../src/domain/limits.ts'
import { mergeFailureGroups, readBreakers, setRetryBreaker } from '../../../src/services/insight/failure-groups.ts'
import { setRetrySwitch, type SetRetrySwitchInput } from '../../../src/services/retry/retry-switches.ts'
import type { Viewer } from '../../../src/services/service-context.ts'
import { createSessions } from '../../../src/services/session/create-sessions.ts'
import { untilBlocked } from '../../support/database/blocked.ts'
import { decisionRow } from '../../support/database/session-rows.ts'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'
import { syncGates } from '../../support/servers/sync-gates.ts'
import { testServer } from '../../support/servers/test-server.ts'
import { advanceClock } from '../../support/sessions/advance-clock.ts'
import { dueRetries } from '../../support/sessions/due-retries.ts'
import { endSession } from '../../support/sessions/end-session.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'

describe('a held retry', () => {
  const given = useScheduling()
  const CLUSTER = { scope: 'CLUSTER' } as const
  const PROJECT = { scope: 'PROJECT', name: 'default' } as const
  const due = (count: number) => dueRetries(given.server.context, { count })
  const dispatch = () => given.server.run('dispatch-retries')
  const set = (input: SetRetrySwitchInput, viewer: Partial<Viewer> = {}) =>
    setRetrySwitch({ ...given.server.context, viewer: { ...given.server.context.viewer, ...viewer } }, input)

  it('a held retry has who holds it, why and until when; another change of the switch is another span', async () => {
    const [id] = await due(1)
    const until = new Date(Date.now() + 7_200_000)
    await set({ ...PROJECT, disabled: true, reason: 'storm', until }, { name: 'bob' })
    await dispatch()
    const first = { scope: 'PROJECT', name: 'default', by: 'bob', reason: 'storm', until: until.toISOString() }
    const end = until.toISOString().replace(/\.\d+/, '')
    const words = `held: retries are switched off (project default), set by bob, until ${end}: storm`
    const decided = async () => (await given.sql('SELECT held_by FROM retry_decisions WHERE session_id = $1', [id]))[0]
    expect((await decided())!['held_by']).toEqual({ ...first, since: expect.stringMatching(/^20/) })
    await set({ ...CLUSTER, rateLimit: { perSecond: 5, burst: 5 }, reason: 'no matter' })
    await set({ ...PROJECT, disabled: true, reason: 'still a storm' }, { name: 'eve' })
    await dispatch()
    const spans = await given.sql('SELECT held_by, to_at IS NULL AS open FROM retry_waits ORDER BY number')
    const second = { scope: 'PROJECT', name: 'default', by: 'eve', reason: 'still a storm', until: null }
    expect(spans).toMatchObject([
      { held_by: first, open: false },
      { held_by: second, open: true },
    ])
    const reasons = await given.sql(
      `SELECT data ->> 'reason' AS reason FROM session_events WHERE type = 'session.retry_held' ORDER BY id`,
    )
    expect(reasons).toEqual([
      { reason: words },
      { reason: 'held: retries are switched off (project default), set by eve: still a storm' },
    ])
    await set({ ...PROJECT, disabled: false })
    await dispatch()
    expect((await decided())!['held_by']).toBeNull()
    expect((await decisionRow(given.db, id!))!.explanation).toMatch(
      /; held [\d.]+ s: retries are switched off, set by bob: storm; held [\d.]+ s: retries are switched off, set by eve: still a storm$/,
    )
  })

  it('a rate limit that holds a retry has who set it', async () => {
    await due(2)
    await set({ ...CLUSTER, rateLimit: { perSecond: 0.01, burst: 1 }, reason: 'slowly' })
    await dispatch()
    expect(await given.sql('SELECT held_by FROM retry_decisions WHERE held_by IS NOT NULL')).toMatchObject([
      { held_by: { scope: 'CLUSTER', name: null, by: 'ada', reason: 'slowly', until: null } },
    ])
  })
})

describe('over the API', () => {
  let server: TestServer

  beforeAll(async () => {
    server = await startGraphQLServer()
  })
  afterAll(() => server?.close())

  test('a held retry shows the switch that holds it: state, spans, outlook and timeline, over REST as well', async () => {
    const { id } = await server.factory.session({ status: 'ERROR', phase: 'HELD' })
    const heldBy = {
      scope: 'PROJECT',
      name: 'default',
      by: 'ada',
      reason: 'storm',
      since: '2026-11-29T00:00:00.000Z',
      until: '2040-01-01T00:00:00.000Z',
    }
    await server.db.query(
      `UPDATE retry_decisions SET hold_reason = 'DISABLED', held_by = $2, explanation = 'why' WHERE session_id = $1`,
      [id, heldBy],
    )
    await server.db.query(
      `INSERT INTO retry_waits (session_id, number, reason, scope, held_by) VALUES ($1, 1, 'DISABLED', 'PROJECT', $2)`,
      [id, heldBy],
    )
    const FIELDS = '{ scope name by reason since until }'
    const { data, errors } = await server.query(
      `query ($id: UUID!) { session(id: $id) { retryState { reason } chain { outlook { reason }
        timeline { edges { node { kind reason } } } }
        retryDecision { holdReason heldBy ${FIELDS} holds { reason heldBy ${FIELDS} } } } }`,
      { id },
    )
    expect(errors).toBeUndefined()
    const words = 'retries are switched off (project default), set by ada, until 2040-01-01T00:00:00Z: storm'
    expect(data.session).toMatchObject({
      retryState: { reason: `held: ${words}; why` },
      chain: { outlook: { reason: `held: ${words}; why` } },
      retryDecision: { holdReason: 'DISABLED', heldBy, holds: [{ reason: words, heldBy }] },
    })
    expect(data.session.chain.timeline.edges).toContainEqual({ node: { kind: 'HELD', reason: words } })
  })
})

describe('a breaker', () => {
  const given = useScheduling()
  const PROJECT = { scope: 'PROJECT', name: 'default' } as const
  const PROBE_SECONDS = BREAKER_PROBE_MIN_MS / 1000

  const ends = () => ({ db: given.db, wake: given.server.hub })
  const set = (breaker: { failures: number; chains: number; window: number } | null) =>
    setRetrySwitch(given.server.context, { ...PROJECT, breaker })

  async function create(count: number): Promise<string[]> {
    const retryPolicy = { maxRetries: 9, retryDelay: 30, jitter: 'NONE' as const }
    const work = Array.from({ length: count }, () => ({ name: 'fit', command: ['false'], retryPolicy }))
    return (await createSessions(given.server.context, work)).map((made) => {
      if (made instanceof Error) throw made
      return made.sessionId
    })
  }

  async function fail(ids: readonly string[], exitCode = 3): Promise<void> {
    for (const id of ids) await endSession(ends(), id, exitCode)
    await given.server.run('group-failures')
  }

  /** The retries that go now: the ids of their children; and the number that the breaker holds. */
  async function dispatch(): Promise<{ children: string[]; held: number }> {
    const before = await dispatched()
    await given.server.run('dispatch-retries')
    const [{ held }] = (await given.sql(
      `SELECT count(*)::int AS held FROM retry_decisions WHERE phase = 'HELD' AND hold_reason = 'BREAKER'`,
    )) as [{ held: number }]
    return { children: (await dispatched()).filter((id) => !before.includes(id)), held }
  }

  async function dispatched(): Promise<string[]> {
    const rows = await given.sql(`SELECT child_session_id AS id FROM retry_decisions WHERE phase = 'DISPATCHED'`)
    return rows.map(({ id }) => id as string)
  }

  const pass = (seconds: number) => advanceClock(given.db, seconds)
  const groupOf = async (exitCode: number) =>
    (await given.sql('SELECT id FROM failure_groups WHERE exit_code = $1', [exitCode]))[0]!['id'] as string
  const breaker = async (exitCode = 3) => {
    const id = await groupOf(exitCode)
    return (await readBreakers(given.server.context, [id])).get(id) ?? null
  }
  const audited = async () =>
    (await given.sql(`SELECT action FROM audit_log WHERE action LIKE 'retry.%breaker%' ORDER BY id`)).map(
      ({ action }) => action,
    )

  it('holds the retries of one kind of failure, sends probes at growing intervals, and releases them by a success', async () => {
    await set({ failures: 4, chains: 3, window: 600 })
    const ids = await create(6)
    await fail(ids.slice(0, 3))
    expect(await breaker()).toBeNull()
    await fail(ids.slice(3, 5))
    await fail(ids.slice(5), 9)
    expect(await breaker()).toMatchObject({ failures: 5, chains: 5, openedBy: null, probes: [], held: 0 })
    await pass(31)
    // That of another kind goes; no probe is due yet.
    const early = await dispatch()
    expect(early).toMatchObject({ children: [expect.any(String)], held: 5 })
    expect((await decisionRow(given.db, ids[5]!))?.child).toBe(early.children[0])
    const [{ explanation }] = (await given.sql(
      `SELECT held_by ->> 'reason' AS explanation FROM retry_decisions WHERE session_id = $1`,
      [ids[0]],
    )) as [{ explanation: string }]
    expect(explanation).toBe('exit code 3')

    await pass(PROBE_SECONDS)
    const [first] = (await dispatch()).children
    expect(await dispatch()).toEqual({ children: [], held: 4 })
    await fail([first!])
    await pass(PROBE_SECONDS)
    const { children: second, held } = await dispatch()
    expect([second.length, held]).toEqual([1, 4])
    await fail(second)
    // Twice as long as before.
    await pass(PROBE_SECONDS)
    expect((await dispatch()).children).toEqual([])
    await pass(PROBE_SECONDS)
    const { children: third } = await dispatch()
    expect(third).toHaveLength(1)
    expect(await breaker()).toMatchObject({ probes: [first, ...second, ...third], held: 4 })

    await endSession(ends(), third[0]!, 0)
    await given.server.run('group-failures')
    expect(await breaker()).toBeNull()
    await pass(1)
    expect(await dispatch()).toMatchObject({ children: { length: 4 }, held: 0 })
    expect(await audited()).toEqual(['retry.breaker_opened', 'retry.breaker_closed'])
  })

  it('opens again only by failures after it was closed', async () => {
    await set({ failures: 2, chains: 2, window: 3_600 })
    const ids = await create(4)
    await fail(ids.slice(0, 2))
    const failureGroupId = await groupOf(3)
    await setRetryBreaker(given.server.context, { failureGroupId, open: false })
    await fail(ids.slice(2, 3))
    expect(await breaker()).toBeNull()
    await fail(ids.slice(3))
    expect(await breaker()).toMatchObject({ failures: 2, chains: 2 })
  })

  it('of servers that dispatch at once lets one probe through', async () => {
    const ids = await create(8)
    await fail(ids)
    await setRetryBreaker(given.server.context, { failureGroupId: await groupOf(3), open: true })
    await pass(PROBE_SECONDS + 1)
    // The first dispatcher has claimed half of them and sends its probe; the second claims the others meanwhile.
    const others = ids.slice(4)
    await given.sql(`UPDATE retry_decisions SET ready_at = ready_at + interval '1 h' WHERE session_id = ANY($1)`, [
      others,
    ])
    const { sync, gates } = syncGates('dispatch:before-commit')
    const first = testServer(given.db, sync).run('dispatch-retries')
    await gates['dispatch:before-commit']!.reached
    await given.sql(`UPDATE retry_decisions SET ready_at = reprise_now() WHERE session_id = ANY($1)`, [others])
    const second = given.server.run('dispatch-retries')
    await untilBlocked(given.db, 1)
    gates['dispatch:before-commit']!.open()
    await Promise.all([first, second])
    expect(await dispatched()).toHaveLength(1)
    expect(await breaker()).toMatchObject({ held: 7, openedBy: 'ada', probes: await dispatched() })
  })

  it.each([
    [
      'a person closes it',
      async () => setRetryBreaker(given.server.context, { failureGroupId: await groupOf(3), open: false }),
    ],
    ['its setting is removed', () => set(null)],
    [
      'its group is merged into another',
      async () =>
        mergeFailureGroups(given.server.context, { failureGroupIds: [await groupOf(3)], into: await groupOf(9) }),
    ],
  ])('releases what it holds when %s', async (_how, close) => {
    await set({ failures: 2, chains: 2, window: 600 })
    const [other, ...ids] = await create(4)
    await fail([other!], 9)
    await fail(ids)
    await pass(31)
    expect(await dispatch()).toMatchObject({ held: 3 })
    await close()
    await given.server.run('group-failures')
    await pass(1)
    expect(await dispatch()).toMatchObject({ children: { length: 3 }, held: 0 })
  })

  it('that has nothing left to hold closes after a while', async () => {
    const ids = await create(2)
    await fail(ids)
    await given.sql(`UPDATE retry_decisions SET phase = 'CANCELLED', ready_at = NULL`)
    await setRetryBreaker(given.server.context, { failureGroupId: await groupOf(3), open: true })
    await given.server.run('group-failures')
    expect(await breaker()).not.toBeNull()
    await pass(BREAKER_PROBE_MAX_MS / 1000 + 1)
    await given.server.run('group-failures')
    expect(await breaker()).toBeNull()
  })

  it('is not opened for failures that have nothing in common, nor set to impossible numbers', async () => {
    const ids = await create(1)
    await fail(ids)
    await given.sql(`UPDATE failure_groups SET fingerprint = 'overflow'`)
    const open = setRetryBreaker(given.server.context, { failureGroupId: await groupOf(3), open: true })
    await expect(open).rejects.toMatchObject({ code: 'VALIDATION_FAILED' })
    await expect(set({ failures: 1, chains: 2, window: 60 })).rejects.toMatchObject({
      issues: [{ path: 'breaker.failures' }],
    })
  })
})
