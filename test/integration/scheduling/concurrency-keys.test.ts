/** Concurrency keys: the limit on sessions with one key at a time. */
import { afterEach, describe, expect, it } from 'vitest'
import type { CreateSessionInput } from '../../../src/services/session/create-session-input.ts'
import { createSessions, type CreatedSession } from '../../../src/services/session/create-sessions.ts'
import { explainPendingSessions } from '../../../src/services/session/explain-pending.ts'
import { terminateSession } from '../../../src/services/session/terminate-session.ts'
import { openDatabase, type Database } from '../../../src/store/database.ts'
import { fakeAgent } from '../../support/agents/fake-agent.ts'
import { untilBlocked } from '../../support/database/blocked.ts'
import { sessionRow } from '../../support/database/session-rows.ts'
import { syncGates } from '../../support/servers/sync-gates.ts'
import { ALL_SERVICES, testServer } from '../../support/servers/test-server.ts'
import { driveAll, failWith, sessionIn } from '../../support/sessions/drive-session.ts'
import { advanceClock } from '../../support/sessions/advance-clock.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'

const given = useScheduling()
const pools: Database[] = []
afterEach(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool.close()))
})

const KEY = { concurrencyKey: 'customer-7' }

async function createAll(inputs: readonly Partial<CreateSessionInput>[]): Promise<string[]> {
  const all = inputs.map((input) => ({ name: 'work', command: ['true'], ...input }))
  return (await createSessions(given.server.context, all)).map((result) => (result as CreatedSession).sessionId)
}

/** The statuses of these sessions, shortened. */
async function placed(ids: readonly string[]): Promise<boolean[]> {
  const rows = await Promise.all(ids.map((id) => sessionRow(given.db, id)))
  return rows.map(({ status }) => status !== 'PENDING')
}

async function reasonOf(id: string): Promise<string | undefined> {
  return (await explainPendingSessions(given.server.context, [id])).get(id)?.text
}

/** The sessions that hold the key, oldest first. */
async function holders(): Promise<string[]> {
  const rows = await given.sql(`SELECT id FROM sessions WHERE concurrency_key IS NOT NULL
    AND status NOT IN ('PENDING', 'TERMINATED', 'ERROR', 'CANCELLED') ORDER BY id`)
  return rows.map(({ id }) => id as string)
}

/** Ends everything that runs, with exit code 0, and schedules what is next. */
async function nextTurn(): Promise<void> {
  const { server, agent } = given
  await driveAll(server, agent, 'RUNNING')
  await failWith(server, agent, 0)
  await server.run('schedule-sessions')
}

describe('a session with a concurrency key', () => {
  it('waits while another holds it, names that one, and blocks nobody with another key or none', async () => {
    const { server, db } = given
    const [first, second, third, other, without] = await createAll([
      KEY,
      KEY,
      KEY,
      { concurrencyKey: 'customer-8' },
      {},
    ])
    await server.run('schedule-sessions')
    expect(await placed([first!, second!, third!, other!, without!])).toEqual([true, false, false, true, true])
    expect(await sessionRow(db, second!)).toMatchObject({
      tries: 0,
      skips: 0,
      pendingReason: 'waits for the concurrency key customer-7',
    })
    expect(await reasonOf(second!)).toBe(`waits for the concurrency key customer-7, which session ${first} holds`)
    expect(await reasonOf(third!)).toBe(
      `waits for the concurrency key customer-7, which session ${first} holds; 1 session comes first`,
    )
  })

  it('starts as soon as it may: by priority, then by age, each once', async () => {
    const { server } = given
    const [first, second, third] = await createAll([KEY, KEY, KEY])
    await server.run('schedule-sessions')
    const [late] = await createAll([{ ...KEY, priority: 20 }])
    await server.run('schedule-sessions')
    const order = [await holders()]
    for (let turn = 0; turn < 4; turn++) {
      await nextTurn()
      order.push(await holders())
    }
    expect(order).toEqual([[first], [late], [second], [third], []])
  })

  it('lets as many run as the smallest limit of those that run and its own allow', async () => {
    const { server } = given
    const [wide, strict, wider] = await createAll([
      { ...KEY, concurrencyLimit: 3 },
      { ...KEY, concurrencyLimit: 1 },
      { ...KEY, concurrencyLimit: 3 },
    ])
    await server.run('schedule-sessions')
    expect(await placed([wide!, strict!, wider!])).toEqual([true, false, true])
    expect(await reasonOf(strict!)).toBe(
      `waits for the concurrency key customer-7, which 2 sessions hold: ${wide}, ${wider}`,
    )
    await nextTurn()
    expect(await holders()).toEqual([strict])
    // A newcomer that would allow three waits for one that allows one.
    const [newcomer] = await createAll([{ ...KEY, concurrencyLimit: 3 }])
    await server.run('schedule-sessions')
    expect(await placed([newcomer!])).toEqual([false])
    await nextTurn()
    expect(await holders()).toEqual([newcomer])
  })

  it('is offered all places that are free at once', async () => {
    const { server } = given
    const limited = { ...KEY, concurrencyLimit: 3 }
    const ids = await createAll(Array.from({ length: 7 }, () => limited))
    await server.run('schedule-sessions')
    expect(await holders()).toEqual(ids.slice(0, 3))
    await nextTurn()
    expect(await holders()).toEqual(ids.slice(3, 6))
    await nextTurn()
    expect(await holders()).toEqual(ids.slice(6))
  })

  it('has the key to itself in its project alone', async () => {
    const { server, sql } = given
    const [first, second] = await createAll([KEY, KEY])
    await sql(`INSERT INTO projects (id, domain_id, name)
      SELECT gen_random_uuid(), domain_id, 'other' FROM projects LIMIT 1`)
    await sql(`UPDATE sessions SET project_id = (SELECT id FROM projects WHERE name = 'other') WHERE id = $1`, [second])
    await server.run('schedule-sessions')
    expect(await placed([first!, second!])).toEqual([true, true])
  })

  it('leaves the line to a thousand others behind a thousand that wait', async () => {
    const { server } = given
    const little = { resourceSlots: [{ slot: 'cpu', amount: '0.01' }] }
    for (let n = 0; n < 2; n++) await createAll(Array.from({ length: 600 }, () => ({ ...KEY, ...little })))
    const others = await createAll(Array.from({ length: 50 }, () => little))
    await server.run('schedule-sessions', 'schedule-sessions', 'schedule-sessions', 'schedule-sessions')
    expect(new Set(await placed(others))).toEqual(new Set([true]))
    expect(await holders()).toHaveLength(1)
  })

  it('comes before a younger one of another group, whichever is scheduled first', async () => {
    const { server, sql } = given
    await sql(`INSERT INTO resource_groups (name) VALUES ('other')`)
    await fakeAgent(server.gateway, { slots: { cpu: '4' }, resourceGroup: 'other' }).register()
    const [first, second] = await createAll([KEY, { ...KEY, resourceGroup: 'other' }])
    await server.run('schedule-sessions')
    expect(await placed([first!, second!])).toEqual([true, false])
    await driveAll(server, given.agent, 'RUNNING')
    await failWith(server, given.agent, 0)
    const [younger] = await createAll([KEY])
    await server.run('schedule-sessions')
    expect(await placed([second!, younger!])).toEqual([true, false])
  })

  it('gives its offer to the next if it can no longer start', async () => {
    const { server, sql } = given
    await sql(`INSERT INTO resource_groups (name) VALUES ('other')`)
    const elsewhere = fakeAgent(server.gateway, { slots: { cpu: '4' }, resourceGroup: 'other' })
    await elsewhere.register()
    const [first, second, third] = await createAll([KEY, { ...KEY, resourceGroup: 'other' }, KEY])
    await server.run('schedule-sessions', 'schedule-sessions')
    expect(await placed([first!, second!, third!])).toEqual([true, false, false])
    await sql(`UPDATE resource_groups SET drained_at = reprise_now() WHERE name = 'other'`)
    await nextTurn()
    await server.run('schedule-sessions')
    expect(await placed([second!, third!])).toEqual([false, true])
    expect(await reasonOf(second!)).toContain('is being drained')
    // No longer drained, and the older one.
    await sql(`UPDATE resource_groups SET drained_at = NULL`)
    const [fourth] = await createAll([KEY])
    await server.run('schedule-sessions', 'schedule-sessions')
    await nextTurn()
    expect(await placed([second!, fourth!])).toEqual([true, false])
  })
})

describe('who holds a key', () => {
  it('gives it up when it is cancelled, and so does one that waits', async () => {
    const { server, agent } = given
    const [first, second, third] = await createAll([KEY, KEY, KEY])
    await driveAll(server, agent, 'RUNNING')
    await terminateSession(server.context, { sessionId: second! })
    await terminateSession(server.context, { sessionId: first! })
    await server.run('schedule-sessions')
    // TERMINATING: it has not ended.
    expect(await placed([third!])).toEqual([false])
    await server.run('terminate-sessions')
    await agent.comply()
    await server.run('promote-to-terminated', 'schedule-sessions')
    expect(await holders()).toEqual([third])
  })

  it('frees it during its backoff, and its retry queues again', async () => {
    const { server, agent, db } = given
    const policy = { maxRetries: 1, retryDelay: 60, jitter: 'NONE' as const }
    const [first, second] = await createAll([{ ...KEY, concurrencyLimit: 1, retryPolicy: policy }, KEY])
    await driveAll(server, agent, 'RUNNING')
    await failWith(server, agent, 1)
    await server.run('schedule-sessions')
    expect(await holders()).toEqual([second])
    await advanceClock(db, 61)
    await server.run('dispatch-retries', 'schedule-sessions')
    const [child] = await given.sql(
      `SELECT id, status, concurrency_key, concurrency_limit FROM sessions
      WHERE parent_session_id = $1`,
      [first],
    )
    expect(child).toMatchObject({ status: 'PENDING', concurrency_key: 'customer-7', concurrency_limit: 1 })
    await nextTurn()
    expect(await holders()).toEqual([child!['id']])
  })

  it('keeps it while it rests after its first reschedule, since its kernels may be alive', async () => {
    const { server, agent, db } = given
    const first = await sessionIn(server, agent, 'CREATING', KEY)
    const second = await server.create(KEY)
    await advanceClock(db, 601)
    await server.run('start-sessions')
    expect(await sessionRow(db, first)).toMatchObject({ status: 'PENDING', reschedules: 1 })
    await server.run('schedule-sessions')
    expect(await placed([first, second])).toEqual([false, false])
    expect(await reasonOf(second)).toContain(`which session ${first} holds`)
  })

  it('holds it until its kernels are certain to be gone', async () => {
    const { server, agent, db } = given
    const first = await sessionIn(server, agent, 'RUNNING', KEY)
    const spare = fakeAgent(server.gateway, { slots: { cpu: '4' } })
    const second = await server.create(KEY)
    await server.run('schedule-sessions')
    await advanceClock(db, 60, { silentAgents: [agent.id] })
    await spare.register()
    await server.run('watch-agents', 'detect-termination', 'terminate-sessions', 'promote-to-terminated')
    expect(await sessionRow(db, first)).toMatchObject({ status: 'ERROR' })
    await server.run('schedule-sessions')
    expect(await placed([second])).toEqual([false])
    expect(await reasonOf(second)).toContain(`which session ${first} holds`)
    // The fence: by now the agent has stopped them by itself.
    await advanceClock(db, 120, { silentAgents: [agent.id] })
    await server.run('schedule-sessions')
    expect(await placed([second])).toEqual([true])
  })
})

describe('two servers', () => {
  async function secondServer() {
    const db = openDatabase({
      connectionString: given.database.connectionString,
      connectionsMax: 10,
      onError: () => {},
    })
    pools.push(db)
    return db
  }

  it('never hand out the same place, for two groups at once', async () => {
    const { server, sql, db } = given
    await sql(`INSERT INTO resource_groups (name) VALUES ('other')`)
    await fakeAgent(server.gateway, { slots: { cpu: '4' }, resourceGroup: 'other' }).register()
    const ids = await createAll([KEY, { ...KEY, resourceGroup: 'other' }])
    const { sync, gates } = syncGates('schedule:after-keys')
    const first = testServer(db, sync).run('schedule-sessions')
    await gates['schedule:after-keys']!.reached
    const second = testServer(await secondServer()).run('schedule-sessions')
    await Promise.race([second, untilBlocked(db, 1)])
    gates['schedule:after-keys']!.open()
    await Promise.all([first, second])
    expect(await holders()).toEqual([ids[0]])
    await nextTurn()
    expect(await holders()).toEqual([ids[1]])
  })

  it('offer a place that becomes free while another finds none', async () => {
    const { server, agent, db } = given
    const [, second] = await createAll([KEY, KEY])
    await server.db.query(`UPDATE sessions SET starts_at = reprise_now() + interval '1 hour' WHERE id = $1`, [second])
    await driveAll(server, agent, 'RUNNING')
    await server.db.query(`UPDATE sessions SET starts_at = NULL, next_try_at = NULL WHERE id = $1`, [second])
    const { sync, gates } = syncGates('schedule:after-keys')
    const blind = testServer(db, sync).run('schedule-sessions')
    await gates['schedule:after-keys']!.reached
    await failWith(server, agent, 0)
    // It waits for the pass that has counted before.
    const offering = testServer(await secondServer()).run('schedule-sessions')
    await Promise.race([offering, untilBlocked(db, 1)])
    gates['schedule:after-keys']!.open()
    await Promise.all([blind, offering])
    await server.run('schedule-sessions')
    expect(await holders()).toEqual([second])
  })

  it('with several agents and groups: never more than the limit, in their order, and all end', async () => {
    const { server, agent, sql, db } = given
    await sql(`INSERT INTO resource_groups (name) VALUES ('other')`)
    const servers = [server, testServer(await secondServer())] as const
    const agents = [
      agent,
      fakeAgent(servers[1].gateway, { slots: { cpu: '3' } }),
      fakeAgent(server.gateway, { slots: { cpu: '2' }, resourceGroup: 'other' }),
    ]
    await Promise.all(agents.slice(1).map((one) => one.register()))
    const keys = [
      ['a', 1],
      ['b', 2],
      ['c', 3],
    ] as const
    await createAll(
      Array.from({ length: 60 }, (_, n) => {
        const [concurrencyKey, limit] = keys[n % 3]!
        const concurrencyLimit = n % 7 === 0 ? 1 : limit
        const where = n % 4 === 0 ? { resourceGroup: 'other' } : {}
        return { concurrencyKey, concurrencyLimit, ...where, retryPolicy: { maxRetries: n % 3, retryDelay: 1 } }
      }),
    )
    const OVER = `SELECT concurrency_key, count(*) FROM sessions WHERE concurrency_key IS NOT NULL
      AND status NOT IN ('PENDING', 'TERMINATED', 'ERROR', 'CANCELLED') GROUP BY project_id, concurrency_key
      HAVING count(*) > min(concurrency_limit)`
    let most = 0
    for (let round = 0; round < 400; round++) {
      const [, [over]] = await Promise.all([
        Promise.all([
          ...servers.flatMap((one) => ALL_SERVICES.map((name) => one.run(name))),
          ...agents.map(async (one, index) => {
            one.obey(await one.sync())
            if (round % 3 === index) one.exitAll(round % 5 === 0 ? 1 : 0)
          }),
        ]),
        sql(OVER),
      ])
      expect(over).toBeUndefined()
      expect(await sql(OVER)).toEqual([])
      most = Math.max(most, (await holders()).length)
      await advanceClock(db, 5)
      const [live] = await sql(`SELECT count(*) AS n FROM sessions WHERE NOT retry_decided
        OR id IN (SELECT session_id FROM retry_decisions WHERE phase IN ('SCHEDULED', 'HELD'))`)
      if (live!['n'] === 0) break
    }
    expect(await sql(`SELECT id FROM sessions WHERE status NOT IN ('TERMINATED', 'ERROR')`)).toEqual([])
    expect(most).toBeGreaterThan(3)
  })
})
