/** Retry switches, limits and rates: what they hold back, and how it is released. */
import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { HELD_RELEASE_RETRIES_MAX } from '../../../src/domain/limits.ts'
import { retryNow } from '../../../src/services/retry/change-retry.ts'
import {
  readRetrySwitches,
  setRetrySwitch,
  type SetRetrySwitchInput,
} from '../../../src/services/retry/retry-switches.ts'
import type { Viewer } from '../../../src/services/service-context.ts'
import { type Database, openDatabase } from '../../../src/store/database.ts'
import { untilBlocked } from '../../support/database/blocked.ts'
import { chainRows, decisionRow, events } from '../../support/database/session-rows.ts'
import { eventually } from '../../support/eventually.ts'
import { syncGates } from '../../support/servers/sync-gates.ts'
import { DEFAULT_PROJECT_ID, testServer } from '../../support/servers/test-server.ts'
import { dueRetries } from '../../support/sessions/due-retries.ts'
import { advanceClock } from '../../support/sessions/advance-clock.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'

const given = useScheduling()
const PROJECT = { scope: 'PROJECT', name: 'default' } as const

beforeEach(async () => {
  await given.sql(`INSERT INTO projects (id, domain_id, name) SELECT $1, id, 'other' FROM domains`, [randomUUID()])
})
const due = (count: number, project = 'default') => dueRetries(given.server.context, { count, project })

describe('switches', () => {
  const CLUSTER = { scope: 'CLUSTER' } as const
  const DOMAIN = { scope: 'DOMAIN', name: 'default' } as const

  const set = (input: SetRetrySwitchInput, viewer: Partial<Viewer> = {}) =>
    setRetrySwitch({ ...given.server.context, viewer: { ...given.server.context.viewer, ...viewer } }, input)
  const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1000)

  /** The number of retries by phase and hold reason: `{ DISPATCHED: 3, 'HELD DISABLED': 2 }`. */
  async function phases(): Promise<Record<string, number>> {
    const rows = await given.sql(
      `SELECT phase || coalesce(' ' || hold_reason, '') AS phase, count(*) AS count FROM retry_decisions GROUP BY 1`,
    )
    return Object.fromEntries(rows.map(({ phase, count }) => [phase, count]))
  }

  async function dispatch(): Promise<Record<string, number>> {
    await given.server.run('dispatch-retries')
    return phases()
  }

  describe.each([CLUSTER, DOMAIN, PROJECT])('a kill switch for $scope', (scope) => {
    it('holds due retries, with one event each, and releases them when it is switched back', async () => {
      const where = [scope.scope.toLowerCase(), ...('name' in scope ? [scope.name] : [])].join(' ')
      const [id] = await due(1)
      await set({ ...scope, disabled: true })
      expect(await dispatch()).toEqual({ 'HELD DISABLED': 1 })
      await advanceClock(given.db, 3_600)
      expect(await dispatch()).toEqual({ 'HELD DISABLED': 1 })
      expect((await events(given.db, id!)).filter((line) => line === 'session.retry_held')).toHaveLength(1)
      expect(
        await given.sql(`SELECT data ->> 'reason' AS reason FROM session_events WHERE type = 'session.retry_held'`),
      ).toEqual([{ reason: `held: retries are switched off (${where}), set by ada` }])
      await set({ ...scope, disabled: false })
      expect(await dispatch()).toEqual({ DISPATCHED: 1 })
      expect(await chainRows(given.db, id!)).toHaveLength(2)
      expect(await given.sql('SELECT FROM retry_decisions WHERE hold_reason IS NOT NULL')).toEqual([])
    })
  })

  it('a project that is switched off holds no other', async () => {
    await due(2)
    await due(1, 'other')
    await set({ ...PROJECT, disabled: true })
    expect(await dispatch()).toEqual({ 'HELD DISABLED': 2, DISPATCHED: 1 })
  })

  it('every scope must allow it', async () => {
    await due(1)
    await set({ ...CLUSTER, disabled: true })
    await set({ ...PROJECT, disabled: true })
    expect(await dispatch()).toEqual({ 'HELD DISABLED': 1 })
    await set({ ...CLUSTER, disabled: false })
    expect(await dispatch()).toEqual({ 'HELD DISABLED': 1 })
    await set({ ...PROJECT, disabled: false })
    expect(await dispatch()).toEqual({ DISPATCHED: 1 })
  })

  it('another server acts on it with its next look', async () => {
    await due(1)
    const another = testServer(given.db)
    await set({ ...PROJECT, disabled: true })
    await another.run('dispatch-retries')
    expect(await phases()).toEqual({ 'HELD DISABLED': 1 })
  })

  it('retryNow does not go past it', async () => {
    const [id] = await due(1)
    await set({ ...CLUSTER, disabled: true })
    await dispatch()
    await retryNow(given.server.context, { sessionId: id! })
    expect(await dispatch()).toEqual({ 'HELD DISABLED': 1 })
    expect(await decisionRow(given.db, id!)).toMatchObject({ phase: 'HELD', holdReason: 'DISABLED' })
  })

  describe('held retries', () => {
    it('is let go in a ramp, of every project in turn', async () => {
      const many = 2 * HELD_RELEASE_RETRIES_MAX + 50
      await set({ ...CLUSTER, disabled: true })
      await due(many)
      await due(3, 'other')
      await given.server.run('dispatch-retries', 'dispatch-retries')
      await set({ ...CLUSTER, disabled: false })
      expect(await ramp()).toEqual([
        { at: 0, count: HELD_RELEASE_RETRIES_MAX },
        { at: 1_000, count: HELD_RELEASE_RETRIES_MAX },
        { at: 2_000, count: 53 },
      ])
      expect((await dispatch()).DISPATCHED).toBe(HELD_RELEASE_RETRIES_MAX)
      const others = await given.sql(`SELECT phase FROM retry_decisions WHERE project_id <> $1`, [DEFAULT_PROJECT_ID])
      expect(others).toEqual(Array.from({ length: 3 }, () => ({ phase: 'DISPATCHED' })))
      await advanceClock(given.db, 60)
      expect((await dispatch()).DISPATCHED).toBe(2 * HELD_RELEASE_RETRIES_MAX)
      await advanceClock(given.db, 60)
      expect(await dispatch()).toEqual({ DISPATCHED: many + 3 })
    })

    /** In ms from the first, when how many are let go. A second is then a minute, which no busy machine passes unseen. */
    async function ramp(): Promise<Record<string, unknown>[]> {
      const first = `(SELECT min(ready_at) FROM retry_decisions WHERE phase = 'HELD')`
      const steps =
        await given.sql(`SELECT (extract(epoch FROM ready_at - ${first}) * 1000)::float8 AS at, count(*) AS count
      FROM retry_decisions WHERE phase = 'HELD' GROUP BY ready_at ORDER BY ready_at`)
      await given.sql(
        `UPDATE retry_decisions SET ready_at = ${first} + (ready_at - ${first}) * 60 WHERE phase = 'HELD'`,
      )
      return steps
    }

    it('waits in a line that nobody looks at, and keeps nobody else waiting', async () => {
      await set({ ...PROJECT, disabled: true })
      await due(1_200)
      await due(1, 'other')
      expect(await given.server.run('dispatch-retries')).toEqual([500])
      expect((await phases()).DISPATCHED).toBe(1)
      await given.server.run('dispatch-retries', 'dispatch-retries')
      expect(await phases()).toEqual({ 'HELD DISABLED': 1_200, DISPATCHED: 1 })
      expect(await given.server.run('dispatch-retries')).toEqual([0])
      const [places] = await given.sql(
        'SELECT count(DISTINCT ready_at) AS count FROM retry_decisions WHERE phase = $1',
        ['HELD'],
      )
      expect(places!.count).toBeGreaterThan(5)
    })
  })

  describe('until', () => {
    it('a kill switch ends by itself, and its retries are released', async () => {
      await due(1)
      expect(await set({ ...PROJECT, disabled: true, until: inSeconds(60) })).toMatchObject({ disabled: true })
      await dispatch()
      await advanceClock(given.db, 40)
      expect(await dispatch()).toEqual({ 'HELD DISABLED': 1 })
      await advanceClock(given.db, 21)
      expect(await dispatch()).toEqual({ DISPATCHED: 1 })
      expect(await readRetrySwitches(given.server.context)).toEqual([])
    })

    it('a permanent setting returns, however often it was changed for a time', async () => {
      await set({ ...PROJECT, disabled: true, rateLimit: { perSecond: 7, burst: 8 } })
      await set({ ...PROJECT, disabled: false, until: inSeconds(30) })
      const until = inSeconds(60)
      expect(await set({ ...PROJECT, disabled: false, until, reason: 'a look' })).toEqual({
        scope: 'PROJECT',
        name: 'default',
        disabled: false,
        disabledUntil: until,
        disabledChange: { at: expect.any(Date), by: 'ada', reason: 'a look' },
        rateLimit: { perSecond: 7, burst: 8 },
        rateLimitUntil: null,
        rateLimitChange: { at: expect.any(Date), by: 'ada', reason: null },
        breaker: null,
      })
      await due(1)
      expect(await dispatch()).toEqual({ DISPATCHED: 1 })
      await advanceClock(given.db, 61)
      await due(1)
      expect(await dispatch()).toEqual({ DISPATCHED: 1, 'HELD DISABLED': 1 })
      // Nobody made it so: it came back.
      expect(await readRetrySwitches(given.server.context)).toMatchObject([
        { disabled: true, disabledUntil: null, disabledChange: null, rateLimitChange: { by: 'ada' } },
      ])
    })

    it('a limit for a time does not keep its line waiting longer', async () => {
      await set({ ...PROJECT, rateLimit: { perSecond: 0.01, burst: 1 }, until: inSeconds(20) })
      await due(10)
      expect(await dispatch()).toEqual({ DISPATCHED: 1, 'HELD RATE_LIMITED': 9 })
      await advanceClock(given.db, 22)
      expect(await dispatch()).toEqual({ DISPATCHED: 10 })
    })
  })

  describe('refused input', () => {
    it.each<[string, SetRetrySwitchInput, string[]]>([
      ['nothing to change', { ...CLUSTER }, ['disabled']],
      ['a name for the cluster', { ...CLUSTER, name: 'x', disabled: true }, ['name']],
      [
        'no name for a project',
        { scope: 'PROJECT', rateLimit: { perSecond: 0, burst: 1.5 } },
        ['name', 'rateLimit.perSecond', 'rateLimit.burst'],
      ],
      ['a time that is over', { ...CLUSTER, disabled: true, until: new Date(0) }, ['until']],
    ])('%s', async (_what, input, paths) => {
      const error = await set(input).catch((refusal: unknown) => refusal)
      expect(error).toMatchObject({ code: 'VALIDATION_FAILED' })
      expect((error as { issues: { path: string }[] }).issues.map(({ path }) => path)).toEqual(paths)
      expect(await given.sql('SELECT FROM retry_switches')).toEqual([])
    })

    it('those who may not', async () => {
      await expect(set({ ...PROJECT, disabled: true }, { role: 'MEMBER' })).rejects.toMatchObject({ code: 'FORBIDDEN' })
      const own = { projectId: DEFAULT_PROJECT_ID }
      await expect(set({ ...CLUSTER, disabled: true }, own)).rejects.toMatchObject({ code: 'FORBIDDEN' })
      await expect(set({ ...PROJECT, name: 'other', disabled: true }, own)).rejects.toMatchObject({
        code: 'PROJECT_NOT_FOUND',
      })
      await set({ ...PROJECT, disabled: true }, own)
    })
  })

  it('is in the audit log: actor, scope, old and new value', async () => {
    await set({ ...PROJECT, disabled: true, reason: 'it burns' })
    expect(
      await given.sql(`SELECT actor, project_id, details FROM audit_log WHERE action = 'retry.set_switch'`),
    ).toEqual([
      {
        actor: 'ada',
        project_id: DEFAULT_PROJECT_ID,
        details: {
          before: expect.objectContaining({ disabled: false }),
          after: {
            scope: 'PROJECT',
            name: 'default',
            disabled: true,
            disabledUntil: null,
            rateLimit: null,
            rateLimitUntil: null,
            breaker: null,
          },
          reason: 'it burns',
        },
      },
    ])
    expect(await set({ ...PROJECT, rateLimit: { perSecond: 1, burst: 1 } }, { name: 'bo' })).toMatchObject({
      disabledChange: { by: 'ada', reason: 'it burns' },
      rateLimitChange: { by: 'bo', reason: null },
    })
  })
})

describe('rate limits', () => {
  const pools: Database[] = []
  afterEach(async () => {
    await Promise.all(pools.splice(0).map((pool) => pool.close()))
  })

  const set = (input: SetRetrySwitchInput) => setRetrySwitch(given.server.context, input)
  const limit = (perSecond: number, burst: number, scope: SetRetrySwitchInput = PROJECT) =>
    set({ ...scope, rateLimit: { perSecond, burst } })

  async function counts(): Promise<{ dispatched: number; held: number }> {
    const [row] = await given.sql(`SELECT count(*) FILTER (WHERE phase = 'DISPATCHED') AS dispatched,
    count(*) FILTER (WHERE phase = 'HELD' AND hold_reason = 'RATE_LIMITED') AS held FROM retry_decisions`)
    return row as { dispatched: number; held: number }
  }

  async function dispatch() {
    await given.server.run('dispatch-retries')
    return counts()
  }

  it('dispatches a burst at once, and the rest as tokens come, with one event for each held retry', async () => {
    await limit(10, 5)
    const ids = await due(12)
    expect(await dispatch()).toEqual({ dispatched: 5, held: 7 })
    await advanceClock(given.db, 0.35)
    expect((await dispatch()).dispatched).toBeGreaterThanOrEqual(8)
    await advanceClock(given.db, 0.5)
    expect(await dispatch()).toEqual({ dispatched: 12, held: 0 })
    const held = (await Promise.all(ids.map((id) => events(given.db, id))))
      .flat()
      .filter((line) => line === 'session.retry_held')
    expect(held).toHaveLength(7)
  })

  it('continues by itself: the dispatcher knows when tokens come', async () => {
    await limit(20, 2)
    await due(8)
    const { services } = given.server
    void services['dispatch-retries'].start()
    await eventually(async () => (await counts()).dispatched === 8)
    await services['dispatch-retries'].stop()
  })

  it('of one project leaves others alone; of the cluster they share it', async () => {
    await limit(0.001, 1)
    await due(3)
    await due(3, 'other')
    expect(await dispatch()).toEqual({ dispatched: 4, held: 2 })
    await limit(0.001, 2, { scope: 'CLUSTER' })
    await due(3, 'other')
    expect(await dispatch()).toEqual({ dispatched: 6, held: 3 })
  })

  it('of the cluster is shared by turns, though one project was there first with many', async () => {
    await limit(0.001, 4, { scope: 'CLUSTER' })
    await due(600)
    await due(2, 'other')
    await dispatch()
    const rows =
      await given.sql(`SELECT p.name, count(*) AS count FROM retry_decisions d JOIN projects p ON p.id = d.project_id
    WHERE d.phase = 'DISPATCHED' GROUP BY p.name ORDER BY p.name`)
    expect(rows).toEqual([
      { name: 'default', count: 2 },
      { name: 'other', count: 2 },
    ])
  })

  it('a quiet time saves up no more than the burst', async () => {
    await limit(10, 3)
    await advanceClock(given.db, 3_600)
    await due(10)
    expect((await dispatch()).dispatched).toBe(3)
  })

  describe('two servers', () => {
    function another(at: 'dispatch:before-commit') {
      const db = openDatabase({
        connectionString: given.database.connectionString,
        connectionsMax: 3,
        onError: () => {},
      })
      pools.push(db)
      const { sync, gates } = syncGates(at)
      return { server: testServer(db, sync), gate: gates[at]! }
    }

    it('do not take the same token', async () => {
      await limit(0.001, 600)
      await due(1_000)
      const { server, gate } = another('dispatch:before-commit')
      const first = server.run('dispatch-retries')
      await gate.reached
      const second = given.server.run('dispatch-retries')
      await untilBlocked(given.db, 1)
      gate.open()
      await Promise.all([first, second])
      expect(await counts()).toEqual({ dispatched: 600, held: 400 })
    })

    it('a limit that is lifted while a dispatcher goes by it leaves nothing in its line', async () => {
      await limit(0.001, 1)
      await due(50)
      const { server, gate } = another('dispatch:before-commit')
      const dispatching = server.run('dispatch-retries')
      await gate.reached
      const lifting = set({ ...PROJECT, rateLimit: null })
      await untilBlocked(given.db, 1)
      gate.open()
      await Promise.all([dispatching, lifting])
      expect(await dispatch()).toEqual({ dispatched: 50, held: 0 })
    })
  })

  it('a changed limit keeps the tokens in the bucket, up to the new burst', async () => {
    await limit(0.001, 5)
    await due(2)
    await dispatch()
    await limit(0.001, 100)
    await due(10)
    expect((await dispatch()).dispatched).toBe(5)
  })
})
