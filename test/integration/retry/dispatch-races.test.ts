/** Dispatchers of retries that race with each other and with people. */
import { afterEach, describe, expect, it } from 'vitest'
import { cancelRetry, retryNow, updateRetry } from '../../../src/services/retry/change-retry.ts'
import type { ServiceContext } from '../../../src/services/service-context.ts'
import { terminateSession } from '../../../src/services/session/terminate-session.ts'
import type { SyncPointName } from '../../../src/observability/sync-points.ts'
import { type Database, openDatabase } from '../../../src/store/database.ts'
import { failWith, sessionIn } from '../../support/sessions/drive-session.ts'
import { eventually } from '../../support/eventually.ts'
import { passTime } from '../../support/sessions/pass-time.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'
import { chainRows, decisionRow, events } from '../../support/database/session-rows.ts'
import { syncGates } from '../../support/servers/sync-gates.ts'
import { testServer } from '../../support/servers/test-server.ts'

const given = useScheduling()
const pools: Database[] = []
afterEach(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool.close()))
})

const updateNow = (context: ServiceContext, input: { sessionId: string }) =>
  updateRetry(context, { ...input, policy: { maxRetries: 9 } })

/** Another server, with connections of its own, whose first dispatch is held at the gate. */
function heldServer(at: SyncPointName) {
  const db = openDatabase({ connectionString: given.database.connectionString, connectionsMax: 3, onError: () => {} })
  pools.push(db)
  const { sync, gates } = syncGates(at)
  return { server: testServer(db, sync), gate: gates[at]! }
}

async function dueRetry(): Promise<string> {
  const { server, agent, db } = given
  const id = await sessionIn(server, agent, 'RUNNING', { retryPolicy: { maxRetries: 3, retryDelay: 1 } })
  await failWith(server, agent, 1)
  await passTime(db, 5)
  return id
}

async function expectOneChild(id: string): Promise<void> {
  const { db, sql } = given
  const [parent, child, ...more] = await chainRows(db, id)
  expect(more).toEqual([])
  expect(child).toMatchObject({
    parent: parent!.id,
    attempt: 2,
    retryCount: 1,
    origin: 'AUTO_RETRY',
    status: 'PENDING',
  })
  expect(await decisionRow(db, id)).toMatchObject({ phase: 'DISPATCHED', child: child!.id })
  expect((await events(db, id)).filter((line) => line === 'session.retry_dispatched')).toHaveLength(1)
  expect(await sql(`SELECT details ->> 'attempt' AS attempt FROM audit_log WHERE action = 'retry.dispatched'`)).toEqual(
    [{ attempt: 'attempt 2 of 4' }],
  )
}

/** The connection of the one transaction that is open dies, as if its server had. */
async function killOpenTransaction(): Promise<void> {
  const killed = await given.sql(
    `SELECT pg_terminate_backend(pid, 40000) FROM pg_stat_activity
    WHERE datname = current_database() AND state = 'idle in transaction'`,
  )
  expect(killed).toHaveLength(1)
}

/** Until somebody waits for a lock that another transaction of this database holds. */
async function somebodyWaits(): Promise<void> {
  await eventually(async () => {
    const rows = await given.sql(
      `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    )
    return rows.length > 0
  })
}

describe.each(['dispatch:after-claim', 'dispatch:before-commit'] as const)('two dispatchers, one held at %s', (at) => {
  it('make one child', async () => {
    const id = await dueRetry()
    const { server: first, gate } = heldServer(at)
    const running = first.run('dispatch-retries')
    await gate.reached
    expect(await given.server.run('dispatch-retries')).toEqual([0])
    gate.open()
    await running
    await given.server.run('dispatch-retries')
    await expectOneChild(id)
  })

  it('make one child though the first dies: all of its transaction is undone', async () => {
    const id = await dueRetry()
    const { server: first, gate } = heldServer(at)
    const running = first.run('dispatch-retries').then(
      () => 'committed',
      () => 'died',
    )
    await gate.reached
    await killOpenTransaction()
    gate.open()
    expect(await running).toBe('died')
    expect(await chainRows(given.db, id)).toHaveLength(1)
    expect(await given.server.run('dispatch-retries')).toEqual([1])
    await expectOneChild(id)
  })

  it('a person who cancels meanwhile is too late, and is told so', async () => {
    const id = await dueRetry()
    const { server: first, gate } = heldServer(at)
    const running = first.run('dispatch-retries')
    await gate.reached
    const cancelling = cancelRetry(given.server.context, { sessionId: id }).catch((error: unknown) => error)
    await somebodyWaits()
    gate.open()
    await running
    expect(await cancelling).toMatchObject({
      code: 'NO_PENDING_RETRY',
      message: expect.stringContaining('just now'),
    })
    await expectOneChild(id)
    expect(await given.sql(`SELECT FROM audit_log WHERE action = 'retry.cancel'`)).toEqual([])
  })

  it.each([
    ['updateRetry', updateNow, 'NO_PENDING_RETRY'],
    ['terminateSession', terminateSession, 'SESSION_ALREADY_FINISHED'],
  ] as const)('a person who calls %s meanwhile is too late, and changes nothing', async (_name, change, code) => {
    const id = await dueRetry()
    const { server: first, gate } = heldServer(at)
    const running = first.run('dispatch-retries')
    await gate.reached
    const changing = change(given.server.context, { sessionId: id }).catch((error: unknown) => error)
    await somebodyWaits()
    gate.open()
    await running
    expect(await changing).toMatchObject({ code })
    await expectOneChild(id)
    expect(await given.sql('SELECT DISTINCT max_retries FROM sessions')).toEqual([{ max_retries: 3 }])
    expect(await given.sql(`SELECT FROM audit_log WHERE action IN ('retry.update', 'retry.cancel')`)).toEqual([])
  })

  it('a person who wants it now meanwhile gets no second child', async () => {
    const id = await dueRetry()
    const { server: first, gate } = heldServer(at)
    const running = first.run('dispatch-retries')
    await gate.reached
    const hurrying = retryNow(given.server.context, { sessionId: id }).catch((error: unknown) => error)
    await somebodyWaits()
    gate.open()
    await running
    expect(await hurrying).toMatchObject({ code: 'NO_PENDING_RETRY' })
    await given.server.run('dispatch-retries')
    await expectOneChild(id)
  })
})

it('a retry that was cancelled first is not dispatched', async () => {
  const id = await dueRetry()
  const { server } = given
  await cancelRetry(server.context, { sessionId: id })
  await passTime(given.db, 100)
  expect(await server.run('dispatch-retries')).toEqual([0])
  expect(await decisionRow(given.db, id)).toMatchObject({
    phase: 'CANCELLED',
    explanation: expect.stringContaining('cancelled by ada'),
  })
  expect((await events(given.db, id)).at(-1)).toBe('session.retry_cancelled')
  expect(await chainRows(given.db, id)).toHaveLength(1)
  await expect(retryNow(server.context, { sessionId: id })).rejects.toMatchObject({ code: 'NO_PENDING_RETRY' })
})

it('retryNow does not wait for the delay', async () => {
  const { server, agent, db } = given
  const id = await sessionIn(server, agent, 'RUNNING', { retryPolicy: { maxRetries: 3, retryDelay: 3_600 } })
  await failWith(server, agent, 1)
  await passTime(db, 5)
  expect(await server.run('dispatch-retries')).toEqual([0])
  await retryNow(server.context, { sessionId: id })
  await passTime(db, 1)
  expect(await server.run('dispatch-retries')).toEqual([1])
  await expectOneChild(id)
})

it('a child whose creation id somebody has taken is refused for good, and says why', async () => {
  const { server, agent, db, sql } = given
  const taken = await server.create({ startsAt: new Date(Date.now() + 3_600_000) })
  await sql('UPDATE sessions SET creation_id = $2 WHERE id = $1', [taken, 'nightly:retry:1'])
  const id = await sessionIn(server, agent, 'RUNNING', {
    creationId: 'nightly',
    retryPolicy: { maxRetries: 1, retryDelay: 1 },
  })
  const other = await server.create({ retryPolicy: { maxRetries: 1, retryDelay: 1 } })
  await failWith(server, agent, 1)
  await sessionIn(server, agent, 'RUNNING')
  await failWith(server, agent, 1)
  await passTime(db, 5)
  await server.run('dispatch-retries')
  expect(await decisionRow(db, id)).toMatchObject({
    phase: 'NOT_ELIGIBLE',
    explanation: expect.stringContaining('nightly:retry:1'),
  })
  expect(await decisionRow(db, other)).toMatchObject({ phase: 'DISPATCHED' })
  expect(await chainRows(db, taken)).toHaveLength(1)
})
