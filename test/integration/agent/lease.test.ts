/** Agents' leases: suspicion, loss, fences, and outages of all servers. */
import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { LEASE } from '../../../src/domain/agent/lease.ts'
import { updateSilentAgents } from '../../../src/store/sql/agent/agents.sql.ts'
import { recordPresence, type ServerIdentity } from '../../../src/store/sql/server.sql.ts'
import { driveAll, sessionIn } from '../../support/sessions/drive-session.ts'
import { advanceClock } from '../../support/sessions/advance-clock.ts'
import { fakeAgent } from '../../support/agents/fake-agent.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'
import {
  decisionRow,
  events,
  history,
  kernelRows,
  misbookedSlots,
  sessionRow,
  statuses,
} from '../../support/database/session-rows.ts'
import { testServer } from '../../support/servers/test-server.ts'

const given = useScheduling()

const RETRIED = { retryPolicy: { maxRetries: 3, retryDelay: 1, jitter: 'NONE' as const } }

async function agentStatus(id = given.agent.id): Promise<unknown> {
  return (await given.sql('SELECT status FROM agents WHERE id = $1', [id]))[0]!['status']
}

async function silence(seconds: number): Promise<void> {
  await advanceClock(given.db, seconds, { silentAgents: [given.agent.id] })
  await given.server.run('watch-agents')
}

/** The agent is lost while a session runs on it, and the failure is decided. */
async function loseRunning(): Promise<string> {
  const { server, agent } = given
  const id = await sessionIn(server, agent, 'RUNNING', RETRIED)
  await silence(41)
  await server.run('detect-termination', 'terminate-sessions', 'promote-to-terminated', 'decide-retries')
  return id
}

describe('silence', () => {
  it('makes an agent SUSPECT, then LOST; a sync makes it ALIVE', async () => {
    const { agent, db } = given
    await silence(10)
    expect(await agentStatus()).toBe('ALIVE')
    await silence(6)
    expect(await agentStatus()).toBe('SUSPECT')
    await agent.sync()
    expect(await agentStatus()).toBe('ALIVE')
    await silence(16)
    await silence(25)
    expect(await agentStatus()).toBe('LOST')
    await agent.sync()
    expect(await agentStatus()).toBe('ALIVE')
    expect(await history(db, agent.id)).toEqual([
      'register-agent →ALIVE SUCCESS ×1',
      'watch-agents ALIVE→SUSPECT EXPIRED ×1',
      'agent-sync SUSPECT→ALIVE SUCCESS ×1',
      'watch-agents ALIVE→SUSPECT EXPIRED ×1',
      'watch-agents SUSPECT→LOST EXPIRED ×1',
      'agent-sync LOST→ALIVE SUCCESS ×1',
    ])
  })

  it('of a suspect costs nothing yet, but it is given no more work', async () => {
    const { server, agent, db } = given
    const running = await sessionIn(server, agent, 'RUNNING')
    await silence(16)
    const waiting = await server.create()
    await server.run('detect-termination', 'schedule-sessions')
    expect(await statuses(db, running)).toBe('RUNNING: RUNNING')
    expect(await sessionRow(db, waiting)).toMatchObject({
      pendingReason: 'no agent of resource group default is alive',
    })
  })

  it('of one that is draining is no suspicion, but a loss in the end', async () => {
    await given.sql(`UPDATE agents SET status = 'DRAINING', drained_at = reprise_now()`)
    await silence(16)
    expect(await agentStatus()).toBe('DRAINING')
    await silence(25)
    expect(await agentStatus()).toBe('LOST')
  })
})

describe('a lost agent', () => {
  it('fails its sessions as AGENT_TRANSIENT', async () => {
    const { db, agent } = given
    const id = await loseRunning()
    expect(await sessionRow(db, id)).toMatchObject({ status: 'ERROR', error: 'agent-lost', cause: 'AGENT_TRANSIENT' })
    expect(await kernelRows(db, id)).toMatchObject([{ status: 'ERROR', agent: agent.id, held: false, gone: false }])
    expect(await decisionRow(db, id)).toMatchObject({ phase: 'SCHEDULED', cause: 'AGENT_TRANSIENT' })
    expect(await misbookedSlots(db)).toEqual([])
  })

  it.each(['PREPARING', 'PREPARED', 'CREATING'] as const)('moves what is %s to another agent', async (status) => {
    const { server, agent, db } = given
    const id = await sessionIn(server, agent, status)
    const second = fakeAgent(server.gateway)
    await second.register()
    await silence(41)
    await server.run('prepare-sessions', 'start-sessions')
    expect(await statuses(db, id)).toBe('PENDING: PENDING')
    const { pauseMs, avoidAgents, tries } = await sessionRow(db, id)
    expect({ avoidAgents, tries }).toEqual({ avoidAgents: [agent.id], tries: 0 })
    // It may have begun to run: 120 s and 15 s after the agent was last heard, which is 41 s or more ago.
    const [told] = await given.sql(
      `SELECT extract(epoch FROM h.last_at - a.last_heard_at)::float8 * 1000 AS "silentMs"
       FROM scheduling_history h, agents a WHERE h.entity_id = $1 AND a.id = $2 ORDER BY h.id DESC LIMIT 1`,
      [id, agent.id],
    )
    if (status === 'CREATING') expect(pauseMs! + Number(told!['silentMs'])).toBeCloseTo(135_000, -1)
    else expect(pauseMs ?? 0).toBe(0)
    await advanceClock(db, 95, { silentAgents: [agent.id] })
    await second.sync()
    await server.run('schedule-sessions')
    expect(await kernelRows(db, id)).toMatchObject([{ status: 'PREPARING', agent: second.id }])
    expect(await misbookedSlots(db)).toEqual([])
  })

  it('ends sessions that were terminating', async () => {
    const { server, agent, db } = given
    const id = await sessionIn(server, agent, 'RUNNING', { ...RETRIED, batchTimeout: 30 })
    await advanceClock(db, 31)
    await server.run('enforce-batch-timeouts', 'terminate-sessions')
    await silence(41)
    await server.run('promote-to-terminated', 'decide-retries')
    expect(await statuses(db, id)).toBe('ERROR: ERROR')
    expect(await sessionRow(db, id)).toMatchObject({ cause: 'KERNEL_NONZERO_EXIT' })
    expect(await kernelRows(db, id)).toMatchObject([{ gone: false, held: false }])
  })
})

describe('the retry of a session on a silent agent', () => {
  it('is HELD until the fence and its margin have passed', async () => {
    const { server, agent, db } = given
    const id = await loseRunning()
    await advanceClock(db, 10, { silentAgents: [agent.id] })
    await server.run('dispatch-retries')
    expect(await decisionRow(db, id)).toMatchObject({ phase: 'HELD', holdReason: 'PARENT_ALIVE', child: null })
    for (const seconds of [30, 30]) {
      await advanceClock(db, seconds, { silentAgents: [agent.id] })
      await server.run('dispatch-retries')
      expect(await decisionRow(db, id)).toMatchObject({ phase: 'HELD' })
    }
    await advanceClock(db, 25, { silentAgents: [agent.id] })
    await server.run('dispatch-retries')
    expect(await decisionRow(db, id)).toMatchObject({ phase: 'DISPATCHED', holdReason: null })
    const retryEvents = (await events(db, id)).filter((line) => line.includes('retry_'))
    expect(retryEvents).toEqual(['session.retry_scheduled', 'session.retry_held', 'session.retry_dispatched'])
  })

  it.each([
    ['finds it gone', []],
    ['still runs it, and stops it', ['RUNNING', 'EXITED']],
    ['saw it end', ['EXITED']],
  ] as const)('goes at once when the agent returns and %s', async (_, reports) => {
    const { server, agent, db } = given
    const id = await loseRunning()
    const [kernel] = await kernelRows(db, id)
    await advanceClock(db, 5, { silentAgents: [agent.id] })
    await server.run('dispatch-retries')
    agent.kernels.clear()
    for (const status of reports) {
      agent.observe(kernel!.id, { status, startedAt: 'now', exitCode: status === 'EXITED' ? 0 : null })
      const { forget, orders } = await agent.sync()
      const own = { kernelId: kernel!.id, assignment: 1 }
      // Killed rather than forgotten: what it has left is told with its end.
      expect(orders).toEqual(status === 'RUNNING' ? [{ ...own, want: 'STOP', graceMs: 0 }] : [])
      expect(forget).toEqual(status === 'RUNNING' ? [] : [own])
      if (status === 'RUNNING') expect(await kernelRows(db, id)).toMatchObject([{ gone: false }])
    }
    await agent.sync()
    await advanceClock(db, 2)
    await server.run('dispatch-retries')
    expect(await decisionRow(db, id)).toMatchObject({ phase: 'DISPATCHED' })
    // Terminal is final: it did not succeed after all.
    expect(await sessionRow(db, id)).toMatchObject({ status: 'ERROR', cause: 'AGENT_TRANSIENT', exitCode: null })
    await driveAll(server, agent, 'RUNNING')
    expect(await sessionRow(db, (await decisionRow(db, id))!.child!)).toMatchObject({ status: 'RUNNING', attempt: 2 })
  })
})

describe('the retry of a session whose kernel has ended, but may still run', () => {
  it.each(['is reported as gone', 'is not reported any more'] as const)('is HELD until the kernel %s', async (end) => {
    const { server, agent, db } = given
    const id = await sessionIn(server, agent, 'RUNNING', RETRIED)
    const [kernel] = await kernelRows(db, id)
    const error = { name: 'node-failed', message: 'its node does not answer' }
    agent.observe(kernel!.id, { status: 'EXITED', error, gone: false })
    expect((await agent.sync()).forget).toEqual([])
    await server.run('detect-termination', 'terminate-sessions', 'promote-to-terminated', 'decide-retries')
    expect(await sessionRow(db, id)).toMatchObject({ status: 'ERROR', cause: 'AGENT_TRANSIENT' })
    expect(await kernelRows(db, id)).toMatchObject([{ status: 'ERROR', gone: false }])
    // Far longer than any fence: the agent is heard, and still says that it may run.
    for (const seconds of [2, 600]) {
      await advanceClock(db, seconds)
      expect((await agent.sync()).forget).toEqual([])
      await server.run('dispatch-retries')
      expect(await decisionRow(db, id)).toMatchObject({ phase: 'HELD', holdReason: 'PARENT_ALIVE', child: null })
    }
    if (end === 'is reported as gone') agent.observe(kernel!.id, { gone: true })
    else agent.kernels.clear()
    await agent.sync()
    expect(agent.kernels.size).toBe(0)
    expect(await kernelRows(db, id)).toMatchObject([{ status: 'ERROR', gone: true }])
    await advanceClock(db, 2)
    await server.run('dispatch-retries')
    expect(await decisionRow(db, id)).toMatchObject({ phase: 'DISPATCHED', holdReason: null })
    expect(await misbookedSlots(db)).toEqual([])
  })
})

describe('an outage of all servers', () => {
  it('gives every agent a full lease, and costs no attempt', async () => {
    const { server, agent, db } = given
    const id = await sessionIn(server, agent, 'RUNNING', RETRIED)
    await advanceClock(db, 3_600, { silentAgents: [agent.id], serversGone: true })
    const restarted = testServer(db)
    await restarted.run('watch-agents', 'detect-termination')
    expect(await agentStatus()).toBe('ALIVE')
    await silence(30)
    expect(await agentStatus()).toBe('SUSPECT')
    await agent.sync()
    expect(await agentStatus()).toBe('ALIVE')
    expect(await statuses(db, id)).toBe('RUNNING: RUNNING')
  })

  it('saves nobody who stays away: the lease runs out after it', async () => {
    const { agent, db } = given
    await advanceClock(db, 3_600, { silentAgents: [agent.id], serversGone: true })
    await testServer(db).run('watch-agents')
    await silence(41)
    expect(await agentStatus()).toBe('LOST')
  })

  it('of those with an API alone costs agents of their own processes nothing, and spares no embedded one', async () => {
    const { db, agent, sql, server } = given
    const embedded = fakeAgent(server.gateway)
    await embedded.register()
    await sql('UPDATE agents SET embedded = false WHERE id = $1', [agent.id])
    await sql(`UPDATE servers SET last_seen_at = reprise_now() - interval '10 seconds'`)
    const scheduler = { id: randomUUID(), host: 'test', pid: 1, roles: ['scheduler'] }
    const api = { ...scheduler, id: randomUUID(), roles: ['api'] }
    const look = async (who: ServerIdentity) => {
      await recordPresence(db, who, LEASE.outageAfterMs)
      await updateSilentAgents(db, LEASE)
    }
    await look(scheduler)
    await advanceClock(db, 41, { silentAgents: [agent.id, embedded.id] })
    await look(scheduler)
    expect([await agentStatus(), await agentStatus(embedded.id)]).toEqual(['ALIVE', 'LOST'])
    await look(api)
    await look(scheduler)
    expect(await agentStatus()).toBe('ALIVE')
    await advanceClock(db, 41, { silentAgents: [agent.id] })
    await look(scheduler)
    expect(await agentStatus()).toBe('LOST')
  })

  it('is none while one of two servers was there', async () => {
    const { agent, db } = given
    await advanceClock(db, 41, { silentAgents: [agent.id] })
    await testServer(db).run('watch-agents')
    expect(await agentStatus()).toBe('LOST')
  })
})
