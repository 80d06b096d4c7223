/** When sessions start and end: dependencies, start times, starts that expire, and batch timeouts. */
import { randomUUID } from 'node:crypto'
import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, it, test } from 'vitest'
import { LEASE } from '../../../src/domain/agent/lease.ts'
import { COORDINATOR_INTERVAL_MS } from '../../../src/domain/limits.ts'
import { createWakeExchange } from '../../../src/events/wake-exchange.ts'
import { createSessions } from '../../../src/services/session/create-sessions.ts'
import { startSwarm } from '../../support/agents/agent-swarm.ts'
import type { FakeAgent } from '../../support/agents/fake-agent.ts'
import { testDatabase, type TestDatabase } from '../../support/database/database.ts'
import { chainRows, decisionRow, kernelRows, sessionRow, statuses } from '../../support/database/session-rows.ts'
import { eventually } from '../../support/eventually.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { useFakeAgentApi } from '../../support/servers/fake-agent-api.ts'
import { testServer } from '../../support/servers/test-server.ts'
import { driveAll, endAll, failWith, sessionIn } from '../../support/sessions/drive-session.ts'
import { advanceClock } from '../../support/sessions/advance-clock.ts'
import { useResubmission } from '../../support/sessions/resubmission.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'

describe('dependencies and start times', () => {
  const given = useScheduling()
  const resubmit = useResubmission(given)

  it('a chain that was resubmitted before its dependents were looked at has not failed for good', async () => {
    const { server, agent, db } = given
    const first = await server.create()
    const dependent = await server.create({ dependsOn: [first] })
    await driveAll(server, agent, 'RUNNING')
    await failWith(server, agent, 1)
    await resubmit({ sessionIds: [first] })
    await advanceClock(db, 60)
    await server.run('schedule-sessions')
    expect(await chainRows(db, first)).toMatchObject([{ status: 'ERROR' }, { origin: 'RESUBMISSION' }])
    expect((await sessionRow(db, dependent)).status).toBe('PENDING')
    await driveAll(server, agent, 'RUNNING')
    await failWith(server, agent, 0)
    await advanceClock(db, 60)
    await server.run('schedule-sessions')
    expect((await sessionRow(db, dependent)).status).toBe('PREPARING')
  })

  it('any attempt of a chain stands for the chain', async () => {
    const { server, agent, db } = given
    const first = await server.create()
    await driveAll(server, agent, 'RUNNING')
    await failWith(server, agent, 1)
    await resubmit({ sessionIds: [first] })
    const [, second] = await chainRows(db, first)
    const dependents = [
      await server.create({ dependsOn: [first] }),
      await server.create({ dependsOn: [second!.id, first] }),
    ]
    await driveAll(server, agent, 'RUNNING')
    await failWith(server, agent, 0)
    await advanceClock(db, 60)
    await server.run('schedule-sessions')
    for (const id of dependents) expect((await sessionRow(db, id)).status).toBe('PREPARING')
  })

  it('nobody can depend on a session that does not exist yet, so there are no cycles', async () => {
    const { context } = given.server
    const work = { name: 'work', command: ['true'] }
    const results = await createSessions(context, [
      { ...work, dependsOn: [randomUUID()] },
      { ...work, creationId: 'b' },
      work,
    ])
    expect(results).toMatchObject([{ code: 'DEPENDENCY_NOT_FOUND' }, { created: true }, { created: true }])
    const { sessionId } = results[1] as { sessionId: string }
    expect(await createSessions(context, [{ ...work, creationId: 'b', dependsOn: [sessionId] }])).toMatchObject([
      { code: 'CREATION_ID_REUSED' },
    ])
    expect(await given.sql('SELECT FROM session_dependencies')).toEqual([])
  })

  it('a start time that has come is kept, not found at the next look', async () => {
    const { server, db } = given
    await server.create({ startsAt: new Date(Date.now() + 3_600_000) })
    // The scheduler looks again when the first of them begins, and at the end of its interval at the latest.
    const { againInMs } = await server.services['schedule-sessions'].runOnce()
    expect(againInMs).toBeGreaterThan(COORDINATOR_INTERVAL_MS)
    expect(againInMs).toBeLessThanOrEqual(3_600_000)
    const id = await server.create({ startsAt: new Date(Date.now() + 1_500) })
    const next = await server.services['schedule-sessions'].runOnce()
    expect(next.againInMs).toBeLessThanOrEqual(1_500)
    await using _ = server.start()
    await eventually(async () => (await sessionRow(db, id)).status !== 'PENDING')
    const early = await given.sql(
      `SELECT FROM scheduling_history h JOIN sessions s ON s.id = h.entity_id
     WHERE h.to_status = 'SCHEDULED' AND first_at < starts_at`,
    )
    expect(early).toEqual([])
  })
})

describe('starts that expire', () => {
  const given = useFakeAgentApi()
  let agent: FakeAgent

  beforeEach(async () => {
    agent = await registered('64')
  })

  const registered = (cpu: string) => given.registered({ slots: { cpu } })

  const FIELDS = 'sessionId avoidAgents childSession { sessionId avoidAgents }'

  async function avoided(id: string): Promise<unknown> {
    const { data, errors } = await given.api.query(
      `query ($id: UUID!) { session(id: $id) { ${FIELDS} } sessions { edges { node { ${FIELDS} } } } }`,
      { id },
      given.api.adminToken,
    )
    expect(errors).toBeUndefined()
    return data.session.avoidAgents
  }

  async function rest(path: string): Promise<{ status: number; body: any }> {
    const response = await fetch(`${given.api.url}${path}`, {
      headers: { authorization: `Bearer ${given.api.adminToken}` },
    })
    return { status: response.status, body: await response.json() }
  }

  async function agentOf(id: string): Promise<string | null> {
    return (await kernelRows(given.api.db, id))[0]!.agent
  }

  test('a start that expires leaves the session and its children readable in every answer', async () => {
    await given.api.db.query('UPDATE resource_groups SET reschedules_max = 1')
    const id = await sessionIn(given.server, agent, 'PREPARING', { retryPolicy: { maxRetries: 1, retryDelay: 1 } })
    await advanceClock(given.api.db, 901)
    await given.server.run('prepare-sessions')
    expect((await sessionRow(given.api.db, id)).status).toBe('PENDING')
    expect(await avoided(id)).toEqual([agent.id])
    expect((await rest(`/v2/sessions/${id}`)).status).toBe(200)

    await driveAll(given.server, agent, 'PREPARING')
    await advanceClock(given.api.db, 901)
    await given.server.run('prepare-sessions', 'terminate-sessions')
    await agent.comply()
    await given.server.run('promote-to-terminated', 'decide-retries')
    await advanceClock(given.api.db, 5)
    await given.server.run('dispatch-retries')
    expect(await avoided(id)).toEqual([agent.id])
    const { status, body } = await rest('/v2/sessions')
    expect({ status, attempts: body.items.map((one: { attempt: number }) => one.attempt) }).toEqual({
      status: 200,
      attempts: [2, 1],
    })
  })

  test.each([
    ['PREPARING', 'prepare-sessions', 901],
    ['CREATING', 'start-sessions', 601],
  ] as const)('%s until it expires: the next start is on another agent', async (status, handler, seconds) => {
    const id = await sessionIn(given.server, agent, status)
    expect(await agentOf(id)).toBe(agent.id)
    // Smaller, so that nothing but the expiry speaks for it.
    const other = await registered('2')
    await advanceClock(given.api.db, seconds)
    await given.server.run(handler)
    expect(await sessionRow(given.api.db, id)).toMatchObject({ status: 'PENDING', avoidAgents: [agent.id] })
    await advanceClock(given.api.db, 200)
    await given.server.run('schedule-sessions')
    expect(await agentOf(id)).toBe(other.id)
  })

  test('of several kernels only the agents of those that were late are remembered', async () => {
    const other = await registered('64')
    const id = await sessionIn(given.server, agent, 'PREPARING', {
      clusterSize: 2,
      clusterMode: 'MULTI_NODE',
      resourceSlots: [{ slot: 'cpu', amount: '40' }],
    })
    await other.comply()
    await advanceClock(given.api.db, 901)
    await given.server.run('prepare-sessions')
    expect(await sessionRow(given.api.db, id)).toMatchObject({ status: 'PENDING', avoidAgents: [agent.id] })
  })

  test('the queue of another scheduler has its own timeout, if its group has one', async () => {
    const { server, api } = given
    const retryPolicy = { maxRetries: 1, retryDelay: 1 }
    const id = await sessionIn(server, agent, 'CREATING', { retryPolicy })
    const kernelId = (await kernelRows(api.db, id))[0]!.id
    const starting = () => sessionRow(api.db, id)
    agent.observe(kernelId, { status: 'PREPARED', waiting: { reason: 'queued by Slurm: Priority' } })
    await agent.sync()
    await advanceClock(api.db, 3_000)
    await agent.sync()
    await server.run('start-sessions')
    expect((await starting()).status).toBe('CREATING')
    await api.db.query('UPDATE resource_groups SET queue_timeout_ms = 3600000')
    await server.run('start-sessions')
    expect((await starting()).status).toBe('CREATING')
    await advanceClock(api.db, 601)
    await agent.sync()
    await server.run('start-sessions')
    expect(await starting()).toMatchObject({
      status: 'TERMINATING',
      reason: 'waited longer than the 3600 s that its resource group allows (queueTimeout): queued by Slurm: Priority',
    })
    await server.run('terminate-sessions')
    await agent.comply()
    await server.run('promote-to-terminated', 'decide-retries')
    expect(await starting()).toMatchObject({ status: 'ERROR', cause: 'SCHEDULER_TIMEOUT' })
    await advanceClock(api.db, 5)
    await server.run('dispatch-retries')
    expect(await api.db.query('SELECT FROM sessions WHERE parent_session_id = $1', [id])).toMatchObject({ rowCount: 1 })
  })
})

describe('PENDING longer than its own maxPending', () => {
  const given = useScheduling()

  const TOO_LARGE = { resourceSlots: [{ slot: 'cpu', amount: '65' }], maxPending: 60 }

  it('has waited too long: it says for what, is retried, and the retry may wait as long again', async () => {
    const { server, db } = given
    const id = await server.create({ ...TOO_LARGE, retryPolicy: { maxRetries: 1, retryDelay: 1 } })
    const patient = await server.create({ resourceSlots: TOO_LARGE.resourceSlots })
    await server.run('schedule-sessions')
    await advanceClock(db, 55)
    await server.run('schedule-sessions')
    expect((await sessionRow(db, id)).status).toBe('PENDING')
    await advanceClock(db, 10)
    await server.run('schedule-sessions', 'decide-retries')
    const reason = expect.stringMatching(
      /^waited for longer than the 60 s that it may wait \(maxPending\): no agent .* asks for 65$/,
    )
    const ended = {
      status: 'CANCELLED',
      result: 'FAILURE',
      cause: 'SCHEDULER_TIMEOUT',
      error: 'waited-too-long',
      reason,
    }
    expect(await sessionRow(db, id)).toMatchObject(ended)
    expect(await statuses(db, id)).toBe('CANCELLED: CANCELLED')
    expect((await sessionRow(db, patient)).status).toBe('PENDING')
    await advanceClock(db, 2)
    await server.run('dispatch-retries')
    const child = (await decisionRow(db, id))!.child!
    await advanceClock(db, 50)
    await server.run('schedule-sessions')
    expect((await sessionRow(db, child)).status).toBe('PENDING')
    await advanceClock(db, 15)
    await server.run('schedule-sessions')
    expect(await sessionRow(db, child)).toMatchObject({ ...ended, cause: null })
  })

  it('does not count the time before its start time, nor before its dependencies have succeeded', async () => {
    const { server, agent, db, sql } = given
    const before = await sessionIn(server, agent, 'RUNNING')
    const [{ startsAt }] = (await sql(`SELECT reprise_now() + interval '300 s' AS "startsAt"`)) as [{ startsAt: Date }]
    const later = await server.create({ ...TOO_LARGE, startsAt })
    const dependent = await server.create({ ...TOO_LARGE, dependsOn: [before] })
    const waiting = async () => {
      // Each server looks for sessions that are not in line only once a second.
      await testServer(db).run('schedule-sessions')
      const rows = await Promise.all([later, dependent].map((id) => sessionRow(db, id)))
      return rows.map(({ status }) => status)
    }
    await advanceClock(db, 250)
    expect(await waiting()).toEqual(['PENDING', 'PENDING'])
    await endAll(server, agent, 0)
    await server.run('decide-retries')
    await advanceClock(db, 55)
    expect(await waiting()).toEqual(['PENDING', 'PENDING'])
    await advanceClock(db, 10)
    expect(await waiting()).toEqual(['PENDING', 'CANCELLED'])
    await advanceClock(db, 60)
    expect(await waiting()).toEqual(['CANCELLED', 'CANCELLED'])
  })

  it('is found at any place of a long line, by its index', async () => {
    const { server, db, sql } = given
    const ids = await Promise.all(
      Array.from({ length: 40 }, () => server.create({ resourceSlots: TOO_LARGE.resourceSlots })),
    )
    const last = await server.create({ ...TOO_LARGE, priority: 1 })
    await advanceClock(db, 65)
    await server.run('schedule-sessions')
    expect((await sessionRow(db, last)).status).toBe('CANCELLED')
    expect((await sessionRow(db, ids[0]!)).status).toBe('PENDING')
    const [index] = await sql(`SELECT indexdef FROM pg_indexes WHERE indexname = 'sessions_max_pending'`)
    expect(index!['indexdef']).toContain('max_pending')
  })
})

describe('batch timeouts', () => {
  const AGENTS = 8
  const TIMED = 40
  /** Short ones that come and go on the same agents meanwhile. */
  const OTHERS = 600
  /** An agent that does not hear of a timeout looks again only after this. */
  const LOOK_MS = 600_000
  /** Without a word to their servers, agents have been seen to look after 24 s. */
  const LATE_MAX_MS = 20_000
  const RARE_LOOKS = { ...LEASE, heartbeatMs: LOOK_MS, suspectAfterMs: 2 * LOOK_MS, lostAfterMs: 3 * LOOK_MS }

  const log = pino({ enabled: false })
  let database: TestDatabase

  beforeAll(async () => {
    database = await testDatabase()
  })
  afterAll(() => database.close())

  it('batch timeouts are kept at once, not at the next look, with servers and agents that are busy', async () => {
    const { db, connectionString } = database
    await using resources = new AsyncDisposableStack()
    // One server drives sessions, one only serves agents, one does both.
    const server = () => testServer(db, undefined, undefined, { lease: RARE_LOOKS, waitMaxMs: LOOK_MS })
    const [driving, hearing, both] = [server(), server(), server()]
    for (const { hub } of [driving, hearing, both]) {
      const exchange = createWakeExchange({ db, hub, connectionString, log })
      resources.defer(() => exchange.stop())
    }
    await driving.run('watch-agents')
    const gateways = [hearing.gateway, both.gateway]
    const swarm = await startSwarm({
      size: AGENTS,
      gateway: (index) => gateways[index % gateways.length]!,
      directory: await temporaryDirectory('timeouts'),
      slots: { cpu: '1000' },
      log,
    })
    resources.use(swarm)
    resources.use(driving.start())
    resources.use(both.start())

    const timed = Array.from({ length: TIMED }, (_, index) => ({
      name: 'timed',
      command: ['noop', 'hang'],
      batchTimeout: 0.5 + (index % 10) * 0.3,
    }))
    const others = Array.from({ length: OTHERS }, (_, index) => ({
      name: 'other',
      command: ['noop', 'sleep', String((index % 20) * 10)],
    }))
    await createSessions(hearing.context, timed)
    await createSessions(hearing.context, others)
    const open = `SELECT count(*) AS open FROM sessions WHERE status NOT IN ('TERMINATED', 'ERROR')`
    const allEnded = async () => (await db.query<{ open: number }>(open)).rows[0]!.open === 0
    await eventually(allEnded, { withinMs: 120_000 })
    // Now nothing but the timeout makes the agents look.
    await createSessions(
      hearing.context,
      Array.from({ length: AGENTS }, () => ({ name: 'timed', command: ['noop', 'hang'], batchTimeout: 0.5 })),
    )
    await eventually(allEnded, { withinMs: 120_000 })

    const { rows } = await db.query<{ told: number; ended: number }>(
      `SELECT round(extract(epoch FROM h.first_at - s.times_out_at) * 1000)::float8 AS told,
      round(extract(epoch FROM s.terminated_at - s.times_out_at) * 1000)::float8 AS ended
    FROM sessions s JOIN scheduling_history h ON h.entity_id = s.id AND h.phase = 'enforce-batch-timeouts'
    WHERE s.name = 'timed' AND s.status_data #>> '{error,name}' = 'task-timeout' ORDER BY ended`,
    )
    expect(rows).toHaveLength(TIMED + AGENTS)
    expect(rows.filter(({ told, ended }) => told < 0 || ended > LATE_MAX_MS)).toEqual([])
  })
})
