/** Resubmissions that race with dispatchers, decisions and each other. */
import { afterEach, describe, expect, it } from 'vitest'
import { cancelRetry, retryNow } from '../../../src/services/retry/change-retry.ts'
import { NO_SYNC_POINTS, type SyncPointName, type SyncPoints } from '../../../src/observability/sync-points.ts'
import { type Database, openDatabase } from '../../../src/store/database.ts'
import { untilBlocked } from '../../support/database/blocked.ts'
import { endAll, failWith, sessionIn } from '../../support/sessions/drive-session.ts'
import { dueRetries } from '../../support/sessions/due-retries.ts'
import { advanceClock } from '../../support/sessions/advance-clock.ts'
import { refusals, useResubmission } from '../../support/sessions/resubmission.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'
import { chainRows, decisionRow, events } from '../../support/database/session-rows.ts'
import { syncGates } from '../../support/servers/sync-gates.ts'
import { testServer, type TestServer } from '../../support/servers/test-server.ts'

const given = useScheduling()
const resubmit = useResubmission(given)
const pools: Database[] = []
afterEach(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool.close()))
})

/** Another server, with connections of its own, that is held at the gate the first time. */
function heldServer(at: SyncPointName) {
  const { sync, gates } = syncGates(at)
  return { server: otherServer(sync), sync, gate: gates[at]! }
}

function otherServer(sync: SyncPoints = NO_SYNC_POINTS): TestServer {
  const db = openDatabase({ connectionString: given.database.connectionString, connectionsMax: 3, onError: () => {} })
  pools.push(db)
  return testServer(db, sync)
}

async function dueRetry(): Promise<string> {
  const { server, agent, db } = given
  const id = await sessionIn(server, agent, 'RUNNING', { retryPolicy: { maxRetries: 3, retryDelay: 1 } })
  await failWith(server, agent, 1)
  await advanceClock(db, 5)
  return id
}

const RESUBMITTED = { origin: 'RESUBMISSION', attempt: 2, retryCount: 0 }
const RETRIED = { origin: 'AUTO_RETRY', attempt: 2, retryCount: 1 }

describe('a resubmission and a dispatcher', () => {
  it.each(['dispatch:after-claim', 'dispatch:before-commit'] as const)(
    'the dispatcher is at %s: its child it is, and the resubmission is refused with its name',
    async (at) => {
      const id = await dueRetry()
      const other = heldServer(at)
      const dispatching = other.server.run('dispatch-retries')
      await other.gate.reached
      const resubmitting = resubmit({ sessionIds: [id] })
      await untilBlocked(given.db, 1)
      other.gate.open()
      await dispatching
      const shown = await resubmitting
      const [, child, ...more] = await chainRows(given.db, id)
      expect(more).toEqual([])
      expect(child).toMatchObject(RETRIED)
      expect(refusals(shown)).toEqual([`SESSION_HAS_CHILD ${id}`])
      expect(shown.refused[0]!.message).toContain(child!.id)
      expect(await decisionRow(given.db, id)).toMatchObject({ phase: 'DISPATCHED', child: child!.id })
    },
  )

  it('the dispatcher dies with the retry in its hands: the resubmission goes through', async () => {
    const id = await dueRetry()
    const other = heldServer('dispatch:before-commit')
    const dispatching = other.server.run('dispatch-retries').catch(() => 'died')
    await other.gate.reached
    const resubmitting = resubmit({ sessionIds: [id] })
    await untilBlocked(given.db, 1)
    await given.sql(
      `SELECT pg_terminate_backend(pid, 40000) FROM pg_stat_activity
       WHERE datname = current_database() AND state = 'idle in transaction' AND pid <> pg_backend_pid()`,
    )
    const shown = await resubmitting
    other.gate.open()
    await dispatching
    expect(shown.sessionIds).toHaveLength(1)
    expect((await chainRows(given.db, id)).slice(1)).toMatchObject([RESUBMITTED])
  })

  it.each(['resubmit:after-lock', 'resubmit:before-commit'] as const)(
    'the resubmission is at %s: the dispatcher passes over it, and there is nothing left for it',
    async (at) => {
      const { server } = given
      const id = await dueRetry()
      const other = heldServer(at)
      const resubmitting = resubmit({ sessionIds: [id] }, other)
      await other.gate.reached
      expect(await server.run('dispatch-retries')).toEqual([0])
      other.gate.open()
      const shown = await resubmitting
      expect(await server.run('dispatch-retries')).toEqual([0])
      expect((await chainRows(given.db, id)).slice(1)).toMatchObject([{ ...RESUBMITTED, id: shown.sessionIds[0] }])
      expect(await decisionRow(given.db, id)).toMatchObject({ phase: 'CANCELLED', child: null })
    },
  )

  it.each([
    ['cancels', cancelRetry],
    ['wants it now', retryNow],
  ] as const)('a person who %s meanwhile is too late, and gets an error', async (_what, change) => {
    const id = await dueRetry()
    const other = heldServer('resubmit:after-lock')
    const resubmitting = resubmit({ sessionIds: [id] }, other)
    await other.gate.reached
    const changing = change(given.server.context, { sessionId: id }).catch((error: unknown) => error)
    await untilBlocked(given.db, 1)
    other.gate.open()
    await resubmitting
    expect(await changing).toMatchObject({ code: 'NO_PENDING_RETRY' })
    expect((await events(given.db, id)).filter((event) => event === 'session.retry_cancelled')).toHaveLength(1)
  })

  it('with many retries due at once, in any order: one child each, and nobody waits for ever', async () => {
    const ids = await dueRetries(given.server.context, { count: 600 })
    const servers = [otherServer(), otherServer()]
    const [first, second] = await Promise.all([
      resubmit({ sessionIds: ids.slice(0, 500) }, { server: servers[0] }),
      resubmit({ sessionIds: ids.slice(100).toReversed() }, { server: servers[1] }),
      servers[0]!.run('dispatch-retries', 'dispatch-retries'),
      servers[1]!.run('dispatch-retries', 'dispatch-retries'),
    ])
    await given.server.run('dispatch-retries', 'dispatch-retries')
    const [counts] = await given.sql(`SELECT count(*) AS children, count(DISTINCT parent_session_id) AS parents,
      count(*) FILTER (WHERE origin = 'RESUBMISSION') AS resubmitted FROM sessions WHERE parent_session_id IS NOT NULL`)
    const resubmitted = first.sessionIds.length + second.sessionIds.length
    expect(counts).toEqual({ children: 600, parents: 600, resubmitted })
    const codes = new Set([...first.refused, ...second.refused].map(({ code }) => code))
    expect([...codes]).toEqual(codes.size === 0 ? [] : ['SESSION_HAS_CHILD'])
    expect(await given.sql(`SELECT FROM retry_decisions WHERE phase NOT IN ('DISPATCHED', 'CANCELLED')`)).toEqual([])
  })
})

describe('a resubmission and the decision', () => {
  async function undecided(): Promise<string> {
    const { server, agent } = given
    const id = await sessionIn(server, agent, 'RUNNING', { retryPolicy: { maxRetries: 3, retryDelay: 1 } })
    await endAll(server, agent, 1)
    return id
  }

  it('decide-retries skips sessions that are being resubmitted, and there is one decision', async () => {
    const id = await undecided()
    const other = heldServer('resubmit:after-lock')
    const resubmitting = resubmit({ sessionIds: [id] }, other)
    await other.gate.reached
    expect(await given.server.run('decide-retries')).toEqual([0])
    other.gate.open()
    await resubmitting
    expect(await given.server.run('decide-retries', 'dispatch-retries')).toEqual([0, 0])
    expect(await decisionRow(given.db, id)).toMatchObject({ phase: 'CANCELLED' })
    expect((await chainRows(given.db, id)).slice(1)).toMatchObject([RESUBMITTED])
  })

  it('a decision that is being made is waited for, and superseded', async () => {
    const id = await undecided()
    const blocker = await given.database.connect()
    await blocker.query('BEGIN')
    // The lock that decide-retries takes.
    await blocker.query('SELECT FROM sessions WHERE id = $1 FOR UPDATE', [id])
    const resubmitting = resubmit({ sessionIds: [id] })
    await untilBlocked(given.db, 1)
    await blocker.query(
      `INSERT INTO retry_decisions (session_id, project_id, chain_id, phase, cause, delay_ms, due_at, ready_at, explanation)
       SELECT id, project_id, chain_id, 'SCHEDULED', 'KERNEL_NONZERO_EXIT', 1000, reprise_now(), reprise_now(), 'retry 1 of 3'
       FROM sessions WHERE id = $1`,
      [id],
    )
    await blocker.query(
      `UPDATE sessions SET retry_decided = true, failure_cause = 'KERNEL_NONZERO_EXIT' WHERE id = $1`,
      [id],
    )
    await blocker.query('COMMIT')
    await blocker.end()
    expect((await resubmitting).sessionIds).toHaveLength(1)
    expect(await decisionRow(given.db, id)).toMatchObject({
      phase: 'CANCELLED',
      explanation: expect.stringContaining('retry 1 of 3; superseded'),
    })
    expect(await given.server.run('dispatch-retries')).toEqual([0])
  })
})

describe('client keys', () => {
  const input = (id: string, more: object = {}) => ({ sessionIds: [id], clientKey: 'mine', ...more })

  it('the same again answers with the first call’s result', async () => {
    const id = await dueRetry()
    const first = await resubmit(input(id))
    expect(await resubmit(input(id))).toEqual(first)
    expect(await resubmit(input(id), { server: otherServer() })).toEqual(first)
    expect(await chainRows(given.db, id)).toHaveLength(2)
  })

  it('the same with something else is a conflict', async () => {
    const [id, other] = await dueRetries(given.server.context, { count: 2 })
    const first = await resubmit({ ...input(id!), sessionIds: [id!, other!] })
    for (const different of [
      input(id!),
      { ...input(id!), sessionIds: [id!, other!], overrides: { priority: 3 } },
      { clientKey: 'mine', filter: { name: { equals: 'failed' } } },
    ]) {
      await expect(resubmit(different)).rejects.toMatchObject({ code: 'CLIENT_KEY_REUSED' })
    }
    expect(await resubmit({ ...input(id!), sessionIds: [other!, id!.toUpperCase()] })).toEqual(first)
  })

  it('is known for each project by itself', async () => {
    const [id, other] = await dueRetries(given.server.context, { count: 2 })
    const member = { role: 'MEMBER', projectId: '00000000-0000-7000-8000-000000000002' } as const
    const [mine, everybodys] = [await resubmit(input(id!), { viewer: member }), await resubmit(input(other!))]
    expect(mine.resubmissionId).not.toBe(everybodys.resubmissionId)
    expect([mine.sessionIds.length, everybodys.sessionIds.length]).toEqual([1, 1])
  })

  it.each(['resubmit:after-lock', 'resubmit:before-commit'] as const)(
    'the same key twice at once, the first at %s: the second waits and answers the same',
    async (at) => {
      const id = await dueRetry()
      const other = heldServer(at)
      const first = resubmit(input(id), other)
      await other.gate.reached
      const second = resubmit(input(id), { server: otherServer() })
      const third = resubmit(input(id, { overrides: { priority: 99 } })).catch((error: unknown) => error)
      await untilBlocked(given.db, 2)
      other.gate.open()
      expect(await second).toEqual(await first)
      expect(await third).toMatchObject({ code: 'CLIENT_KEY_REUSED' })
      expect(await chainRows(given.db, id)).toHaveLength(2)
    },
  )

  it('a call that fails leaves its key free', async () => {
    const id = await dueRetry()
    const other = heldServer('resubmit:before-commit')
    const first = resubmit(input(id), other).catch(() => 'died')
    await other.gate.reached
    await given.sql(
      `SELECT pg_terminate_backend(pid, 40000) FROM pg_stat_activity
       WHERE datname = current_database() AND state = 'idle in transaction' AND pid <> pg_backend_pid()`,
    )
    other.gate.open()
    expect(await first).toBe('died')
    expect((await resubmit(input(id))).sessionIds).toHaveLength(1)
    expect(await chainRows(given.db, id)).toHaveLength(2)
  })

  it('two keys for the same session at once, from two servers: one wins, the other is refused with its name', async () => {
    const id = await dueRetry()
    const other = heldServer('resubmit:after-lock')
    const first = resubmit({ sessionIds: [id], clientKey: 'one' }, other)
    await other.gate.reached
    const second = resubmit({ sessionIds: [id], clientKey: 'two' }, { server: otherServer() })
    await untilBlocked(given.db, 1)
    other.gate.open()
    const [child] = (await first).sessionIds
    expect(refusals(await second)).toEqual([`SESSION_HAS_CHILD ${id}`])
    expect((await second).refused[0]!.message).toContain(child)
    expect(await chainRows(given.db, id)).toHaveLength(2)
  })

  it('two keys for different sessions at once, from two servers: neither waits', async () => {
    const [one, two] = await dueRetries(given.server.context, { count: 2 })
    const other = heldServer('resubmit:after-lock')
    const first = resubmit({ sessionIds: [one!] }, other)
    await other.gate.reached
    expect((await resubmit({ sessionIds: [two!] }, { server: otherServer() })).sessionIds).toHaveLength(1)
    other.gate.open()
    expect((await first).sessionIds).toHaveLength(1)
  })
})
