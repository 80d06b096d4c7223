/** Rate limits on retries: burst, rate, scopes, and several servers. */
import { randomUUID } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { setRetrySwitch, type SetRetrySwitchInput } from '../../../src/services/retry/retry-switches.ts'
import { type Database, openDatabase } from '../../../src/store/database.ts'
import { untilBlocked } from '../../support/database/blocked.ts'
import { dueRetries } from '../../support/sessions/due-retries.ts'
import { eventually } from '../../support/eventually.ts'
import { passTime } from '../../support/sessions/pass-time.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'
import { events } from '../../support/database/session-rows.ts'
import { syncGates } from '../../support/servers/sync-gates.ts'
import { testServer } from '../../support/servers/test-server.ts'

const given = useScheduling()
const PROJECT = { scope: 'PROJECT', name: 'default' } as const
const pools: Database[] = []

beforeEach(async () => {
  await given.sql(`INSERT INTO projects (id, domain_id, name) SELECT $1, id, 'other' FROM domains`, [randomUUID()])
})
afterEach(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool.close()))
})

const set = (input: SetRetrySwitchInput) => setRetrySwitch(given.server.context, input)
const limit = (perSecond: number, burst: number, scope: SetRetrySwitchInput = PROJECT) =>
  set({ ...scope, rateLimit: { perSecond, burst } })
const due = (count: number, project = 'default') => dueRetries(given.server.context, { count, project })

async function counts(): Promise<{ dispatched: number; held: number }> {
  const [row] = await given.sql(`SELECT count(*) FILTER (WHERE phase = 'DISPATCHED') AS dispatched,
    count(*) FILTER (WHERE phase = 'HELD' AND hold_reason = 'RATE_LIMITED') AS held FROM retry_decisions`)
  return row as { dispatched: number; held: number }
}

async function dispatch() {
  await given.server.run('dispatch-retries')
  return counts()
}

it('lets a burst go at once, and the rest as tokens come; the held are told once', async () => {
  await limit(10, 5)
  const ids = await due(12)
  expect(await dispatch()).toEqual({ dispatched: 5, held: 7 })
  await passTime(given.db, 0.35)
  expect((await dispatch()).dispatched).toBeGreaterThanOrEqual(8)
  await passTime(given.db, 0.5)
  expect(await dispatch()).toEqual({ dispatched: 12, held: 0 })
  const held = (await Promise.all(ids.map((id) => events(given.db, id))))
    .flat()
    .filter((line) => line === 'session.retry_held')
  expect(held).toHaveLength(7)
})

it('goes on by itself: the dispatcher knows when to look', async () => {
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

it('what is quiet saves up no more than the burst', async () => {
  await limit(10, 3)
  await passTime(given.db, 3_600)
  await due(10)
  expect((await dispatch()).dispatched).toBe(3)
})

describe('two servers', () => {
  function another(at: 'dispatch:before-commit') {
    const db = openDatabase({ connectionString: given.database.connectionString, connectionsMax: 3, onError: () => {} })
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

it('a limit that is changed keeps what is in the bucket, up to the new burst', async () => {
  await limit(0.001, 5)
  await due(2)
  await dispatch()
  await limit(0.001, 100)
  await due(10)
  expect((await dispatch()).dispatched).toBe(5)
})
