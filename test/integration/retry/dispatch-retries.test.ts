/** The dispatch of retries: races, children that are refused, and many failures at once. */
import { randomUUID } from 'node:crypto'
import { afterEach, describe, expect, it } from 'vitest'
import { DISPATCH_BATCH_RETRIES_MAX } from '../../../src/domain/limits.ts'
import type { SyncPointName } from '../../../src/observability/sync-points.ts'
import { cancelRetry, retryNow, updateRetry } from '../../../src/services/retry/change-retry.ts'
import { setRetrySwitch } from '../../../src/services/retry/retry-switches.ts'
import type { ServiceContext } from '../../../src/services/service-context.ts'
import { terminateSession } from '../../../src/services/session/terminate-session.ts'
import { SESSION_COLUMNS } from '../../../src/store/sql/session/session-columns.sql.ts'
import { type Database, openDatabase } from '../../../src/store/database.ts'
import { chainRows, decisionRow, events } from '../../support/database/session-rows.ts'
import { eventually, pause } from '../../support/eventually.ts'
import { syncGates } from '../../support/servers/sync-gates.ts'
import { testServer } from '../../support/servers/test-server.ts'
import { driveAll, endAll, failWith, sessionIn } from '../../support/sessions/drive-session.ts'
import { dueRetries } from '../../support/sessions/due-retries.ts'
import { advanceClock } from '../../support/sessions/advance-clock.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'

const given = useScheduling()

describe('races', () => {
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
    await advanceClock(db, 5)
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
    expect(
      await sql(`SELECT details ->> 'attempt' AS attempt FROM audit_log WHERE action = 'retry.dispatched'`),
    ).toEqual([{ attempt: 'attempt 2 of 4' }])
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

  describe.each(['dispatch:after-claim', 'dispatch:before-commit'] as const)(
    'two dispatchers, one held at %s',
    (at) => {
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

      it('a person who cancels meanwhile is too late, and gets an error', async () => {
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
          message: expect.stringMatching(/^the newest attempt .* has no retry decision yet$/),
        })
        await expectOneChild(id)
        expect(await given.sql(`SELECT FROM audit_log WHERE action = 'retry.cancel'`)).toEqual([])
      })

      it('a person who ends the chain meanwhile ends the child: the chain is cancelled', async () => {
        const id = await dueRetry()
        const { server: first, gate } = heldServer(at)
        const running = first.run('dispatch-retries')
        await gate.reached
        const ending = terminateSession(given.server.context, { sessionId: id, reason: 'wrong input' })
        await somebodyWaits()
        gate.open()
        await running
        const ended = await ending
        const [, child, ...more] = await chainRows(given.db, id)
        expect(more).toEqual([])
        expect(ended).toEqual({ sessionId: child!.id })
        expect(child).toMatchObject({ status: 'CANCELLED' })
        await given.server.run('decide-retries', 'dispatch-retries')
        expect(await given.sql('SELECT state, cancelled_by FROM chains')).toEqual([
          { state: 'CANCELLED', cancelled_by: 'ada' },
        ])
      })

      it('a person who changes the policy meanwhile is too late, and changes nothing', async () => {
        const id = await dueRetry()
        const { server: first, gate } = heldServer(at)
        const running = first.run('dispatch-retries')
        await gate.reached
        const changing = updateNow(given.server.context, { sessionId: id }).catch((error: unknown) => error)
        await somebodyWaits()
        gate.open()
        await running
        expect(await changing).toMatchObject({ code: 'NO_PENDING_RETRY' })
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
    },
  )

  it('a retry that was cancelled first is not dispatched', async () => {
    const id = await dueRetry()
    const { server } = given
    await cancelRetry(server.context, { sessionId: id })
    await advanceClock(given.db, 100)
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
    await advanceClock(db, 5)
    expect(await server.run('dispatch-retries')).toEqual([0])
    await retryNow(server.context, { sessionId: id })
    await advanceClock(db, 1)
    expect(await server.run('dispatch-retries')).toEqual([1])
    await expectOneChild(id)
  })
})

describe('refused children', () => {
  /** Two sessions that failed and whose retries are due; the first is then spoilt. */
  async function twoDueRetries() {
    const { server, agent, sql } = given
    const retryPolicy = { maxRetries: 2, retryDelay: 1 }
    const spoilt = await server.create({ creationId: 'spoilt', retryPolicy })
    const sound = await server.create({ creationId: 'sound', retryPolicy })
    await driveAll(server, agent, 'RUNNING')
    await failWith(server, agent, 1)
    await sql("UPDATE retry_decisions SET due_at = now() - interval '1 s', ready_at = now() - interval '1 s'")
    return { spoilt, sound }
  }

  it('a child whose creation id is taken is refused for good, and the others are dispatched', async () => {
    const { server, db, sql } = given
    const { spoilt, sound } = await twoDueRetries()
    const taken = await server.create()
    await sql('UPDATE sessions SET creation_id = $2 WHERE id = $1', [taken, 'spoilt:retry:1'])
    await server.run('dispatch-retries')
    expect(await decisionRow(db, spoilt)).toMatchObject({
      phase: 'NOT_ELIGIBLE',
      child: null,
      explanation: 'not retried: the child was refused: another session has the creation id spoilt:retry:1',
    })
    expect(await decisionRow(db, sound)).toMatchObject({ phase: 'DISPATCHED', child: expect.any(String) })
    expect(await chainRows(db, taken)).toHaveLength(1)
  })

  it('a retry whose session is gone is gone with it, and the others are dispatched', async () => {
    const { server, db, sql } = given
    const { spoilt, sound } = await twoDueRetries()
    await sql('DELETE FROM sessions WHERE id = $1', [spoilt])
    await server.run('dispatch-retries')
    expect(await decisionRow(db, spoilt)).toBeUndefined()
    expect(await decisionRow(db, sound)).toMatchObject({ phase: 'DISPATCHED' })
  })

  it.each(['{"maxRetries": "many"}', '{"emitRetryEvents": 7}', '[]', 'null'])(
    'a policy that became %s after the decision stops its own retry alone',
    async (policy) => {
      const { server, db, sql } = given
      const { spoilt, sound } = await twoDueRetries()
      await sql('UPDATE sessions SET retry_policy = $2::jsonb WHERE id = $1', [spoilt, policy])
      await server.run('dispatch-retries')
      expect(await decisionRow(db, spoilt)).toMatchObject({
        phase: 'NOT_ELIGIBLE',
        child: null,
        explanation: expect.stringMatching(/^not retried: the child was refused: the stored retry policy is not valid/),
      })
      expect(await decisionRow(db, sound)).toMatchObject({ phase: 'DISPATCHED' })
    },
  )

  it.each([
    '{}',
    'null',
    '[]',
    '"gone"',
    '{"growth": null, "avoid": null}',
    '{"growth": null, "avoid": {"agents": ["agent 7"], "groups": []}}',
    '{"growth": {"resourceSlots": {"cpu": "many"}, "batchTimeout": null}, "avoid": {"agents": [], "groups": []}}',
  ])('a decision whose details became %s stops its own retry alone', async (details) => {
    const { server, db, sql } = given
    const { spoilt, sound } = await twoDueRetries()
    await sql('UPDATE retry_decisions SET details = $2::jsonb WHERE session_id = $1', [spoilt, details])
    await server.run('dispatch-retries')
    expect(await decisionRow(db, spoilt)).toMatchObject({
      phase: 'NOT_ELIGIBLE',
      child: null,
      explanation: expect.stringMatching(/^not retried: the child was refused: the stored retry decision is not valid/),
    })
    expect(await decisionRow(db, sound)).toMatchObject({ phase: 'DISPATCHED', child: expect.any(String) })
  })

  it.each(['null', '[]', '{"error": "text"}', '{"error": {"name": 7}}', '"gone"'])(
    'a failure that is reported as %s is not retried, with the reason, and stops no other decision',
    async (statusData) => {
      const { server, agent, db, sql } = given
      const spoilt = await server.create({ retryPolicy: { maxRetries: 2 } })
      const sound = await server.create({ retryPolicy: { maxRetries: 2 } })
      await driveAll(server, agent, 'RUNNING')
      await endAll(server, agent, 1)
      await sql('UPDATE sessions SET status_data = $2::jsonb WHERE id = $1', [spoilt, statusData])
      await server.run('decide-retries')
      expect(await decisionRow(db, spoilt)).toMatchObject({
        phase: 'NOT_ELIGIBLE',
        cause: null,
        explanation: expect.stringMatching(/^not retried: .*cannot be classified/),
      })
      expect(await decisionRow(db, sound)).toMatchObject({ phase: 'SCHEDULED', cause: 'KERNEL_NONZERO_EXIT' })
    },
  )
})

it('a retry has all that its parent was given, and nothing of the parent itself', async () => {
  const { server, agent, db, sql } = given
  const first = await sessionIn(server, agent, 'RUNNING')
  await endAll(server, agent, 0)
  await server.settle()
  const named = { labels: [{ key: 'of', value: 'both' }], environ: [{ name: 'PLAIN', value: 'x' }], onHang: ['dump'] }
  const counted = { priority: 7, stopGrace: 3, maxPending: 900, concurrencyKey: 'one', outputs: { paths: ['out/**'] } }
  const retryPolicy = { maxRetries: 2, retryDelay: 1, rules: [{ match: { exitCodes: ['9'] }, action: 'RETRY' }] }
  const id = await sessionIn(server, agent, 'RUNNING', { ...named, ...counted, dependsOn: [first], retryPolicy })
  await failWith(server, agent, 1)
  await advanceClock(db, 5)
  await server.run('dispatch-retries')
  const inherited = Object.values(SESSION_COLUMNS).flatMap(({ kind, column }) => (kind === 'own' ? [] : [column]))
  const [parent, child] = await sql(
    `SELECT ${inherited.join(', ')}, max_retries, epoch, epoch_started_at,
      ARRAY(SELECT d.chain_id FROM session_dependencies d WHERE d.session_id = s.id) AS dependencies
    FROM sessions s WHERE chain_id = (SELECT chain_id FROM sessions WHERE id = $1) ORDER BY attempt`,
    [id],
  )
  expect(child).toEqual(parent)
  expect(child).toMatchObject({ priority: 7, concurrency_key: 'one', dependencies: [first], max_retries: 2 })
  const own = `SELECT status, result, started_at, exit_code, creation_digest, retry_decided, o.state AS outputs
    FROM sessions s JOIN session_outputs o ON o.session_id = s.id WHERE parent_session_id = $1`
  const none = { started_at: null, exit_code: null, creation_digest: null, retry_decided: false }
  expect(await sql(own, [id])).toEqual([{ status: 'PENDING', result: 'UNDEFINED', outputs: 'WAITING', ...none }])
})

describe('many failures at once', () => {
  it('a backlog is dispatched in two batches at once', async () => {
    const { server, sql } = given
    const count = 2 * DISPATCH_BATCH_RETRIES_MAX + 100
    await dueRetries(server.context, { count })
    expect(await server.run('dispatch-retries')).toEqual([DISPATCH_BATCH_RETRIES_MAX])
    expect(await server.run('dispatch-retries')).toEqual([DISPATCH_BATCH_RETRIES_MAX + 100])
    const children = await sql(`SELECT count(*)::int AS children, count(DISTINCT parent_session_id)::int AS parents
      FROM sessions WHERE parent_session_id IS NOT NULL`)
    expect(children).toEqual([{ children: count, parents: count }])
  })

  const STORM = 2_000
  const LIMIT = { perSecond: 300, burst: 200 }
  const OTHERS = 40
  /** A dispatcher's look begins this much before it takes tokens at most, on a machine that is busy. */
  const LOOK_SECONDS = 3

  it('many failing at once under a limit: the limit is kept, nothing is doubled, and others do not wait', async () => {
    const { server, db, sql } = given
    await sql(`INSERT INTO projects (id, domain_id, name) SELECT $1, id, 'calm' FROM domains`, [randomUUID()])
    await setRetrySwitch(server.context, { scope: 'PROJECT', name: 'default', rateLimit: LIMIT })
    await dueRetries(server.context, { count: STORM })
    const dispatchers = [server, testServer(db)].map(({ services }) => services['dispatch-retries'])
    for (const dispatcher of dispatchers) void dispatcher.start()
    try {
      for (let made = 0; made < OTHERS; made++) {
        await dueRetries(server.context, { count: 1, project: 'calm' })
        dispatchers[0]!.wake()
        await pause(20)
      }
      const open = `SELECT FROM retry_decisions WHERE phase <> 'DISPATCHED' LIMIT 1`
      await eventually(async () => (await sql(open)).length === 0, { withinMs: 120_000 })
    } finally {
      await Promise.all(dispatchers.map((dispatcher) => dispatcher.stop()))
    }

    const [children] =
      await sql(`SELECT count(*) AS children, count(DISTINCT parent_session_id) AS parents FROM sessions
    WHERE parent_session_id IS NOT NULL`)
    expect(children).toEqual({ children: STORM + OTHERS, parents: STORM + OTHERS })

    const looks =
      await sql(`SELECT extract(epoch FROM dispatched_at - min(dispatched_at) OVER ())::float8 AS at, count(*) AS count
    FROM retry_decisions d JOIN projects p ON p.id = d.project_id WHERE p.name = 'default' GROUP BY dispatched_at ORDER BY 1`)
    // The bucket's tokens need this long, and more on a busy machine.
    const lasted = looks.at(-1)!['at'] as number
    let sum = 0
    for (const { at, count } of looks as { at: number; count: number }[]) {
      sum += count
      expect(count).toBeLessThanOrEqual(DISPATCH_BATCH_RETRIES_MAX)
      expect(sum).toBeLessThanOrEqual(LIMIT.burst + LIMIT.perSecond * (at + LOOK_SECONDS))
    }

    const [late] = await sql(`SELECT max(extract(epoch FROM dispatched_at - due_at))::float8 AS seconds
    FROM retry_decisions d JOIN projects p ON p.id = d.project_id WHERE p.name = 'calm'`)
    expect(late!.seconds).toBeLessThan(lasted)

    const [held] = await sql(`SELECT count(*) AS events, count(DISTINCT session_id) AS sessions FROM session_events
    WHERE type = 'session.retry_held'`)
    expect(held!.events).toBe(held!.sessions)
  })
})
