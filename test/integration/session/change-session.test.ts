/** Changes of a session, and steps that are written together because nothing can come between them. */
import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { cancelRetry, retryNow, updateRetry } from '../../../src/services/retry/change-retry.ts'
import { previewRetries } from '../../../src/services/retry/preview-retries.ts'
import type { ServiceContext } from '../../../src/services/service-context.ts'
import type { CreateSessionInput } from '../../../src/services/session/create-session-input.ts'
import { terminateSession } from '../../../src/services/session/terminate-session.ts'
import {
  decisionRow,
  events,
  history,
  kernelRows,
  misbookedSlots,
  sessionRow,
  statuses,
} from '../../support/database/session-rows.ts'
import { ADMIN, DEFAULT_PROJECT_ID } from '../../support/servers/test-server.ts'
import { failWith, sessionIn } from '../../support/sessions/drive-session.ts'
import { advanceClock } from '../../support/sessions/advance-clock.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'

const given = useScheduling()

describe('changes by people', () => {
  const MUTATIONS = {
    terminateSession,
    cancelRetry,
    retryNow,
    updateRetry: (context: ServiceContext, input: { sessionId: string }) =>
      updateRetry(context, { ...input, policy: { retryDelay: 7 } }),
  }

  function as(viewer: Partial<ServiceContext['viewer']>): ServiceContext {
    return { ...given.server.context, viewer: { ...ADMIN, ...viewer } }
  }

  async function failedSession(input = {}): Promise<string> {
    const { server, agent } = given
    const id = await sessionIn(server, agent, 'RUNNING', {
      retryPolicy: { maxRetries: 2, retryDelay: 100, jitter: 'NONE' },
      ...input,
    })
    await failWith(server, agent, 1)
    return id
  }

  describe.each(Object.entries(MUTATIONS))('%s', (_, mutate) => {
    it.each(['VIEWER', 'AGENT'] as const)('is not for a %s', async (role) => {
      const id = await failedSession()
      const before = await decisionRow(given.db, id)
      await expect(mutate(as({ role }), { sessionId: id })).rejects.toMatchObject({ code: 'FORBIDDEN' })
      expect(await decisionRow(given.db, id)).toEqual(before)
    })

    it("does not find another project's session, nor one that is none", async () => {
      const id = await failedSession()
      const stranger = as({ role: 'MEMBER', projectId: randomUUID() })
      await expect(mutate(stranger, { sessionId: id })).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
      for (const sessionId of [randomUUID(), 'work', '', '\0', 7 as never]) {
        await expect(mutate(as({}), { sessionId })).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' })
      }
      expect(await decisionRow(given.db, id)).toMatchObject({ phase: 'SCHEDULED' })
    })

    it('finds its own for a member', async () => {
      const member = as({ role: 'MEMBER', projectId: DEFAULT_PROJECT_ID })
      const done = mutate(member, { sessionId: await failedSession() })
      await done
    })
  })

  describe('a pending retry', () => {
    it('is cancelled once, with an event and an audit entry', async () => {
      const id = await failedSession()
      await cancelRetry(given.server.context, { sessionId: id })
      expect((await events(given.db, id)).at(-1)).toBe('session.retry_cancelled')
      expect(await given.sql(`SELECT actor, session_id FROM audit_log WHERE action = 'retry.cancel'`)).toEqual([
        { actor: 'ada', session_id: id },
      ])
      await expect(cancelRetry(given.server.context, { sessionId: id })).rejects.toMatchObject({
        code: 'NO_PENDING_RETRY',
        message: expect.stringContaining('CANCELLED'),
      })
    })

    it('writes no event if its policy disables them, but an audit entry', async () => {
      const id = await failedSession({ retryPolicy: { maxRetries: 2, retryDelay: 100, emitRetryEvents: false } })
      await retryNow(given.server.context, { sessionId: id })
      await advanceClock(given.db, 1)
      await given.server.run('dispatch-retries')
      expect((await events(given.db, id)).filter((line) => line.includes('retry'))).toEqual([])
      expect(await given.sql(`SELECT action FROM audit_log WHERE session_id = $1 ORDER BY id`, [id])).toEqual([
        { action: 'retry.decided' },
        { action: 'retry.now' },
        { action: 'retry.dispatched' },
      ])
      expect(await decisionRow(given.db, id)).toMatchObject({ phase: 'DISPATCHED' })
    })

    it('is none where nothing is decided yet', async () => {
      const id = await given.server.create()
      await expect(retryNow(given.server.context, { sessionId: id })).rejects.toMatchObject({
        code: 'NO_PENDING_RETRY',
      })
    })
  })

  describe('terminateSession', () => {
    it('twice, the second time with force, ends it once', async () => {
      const { server, agent, db } = given
      const id = await sessionIn(server, agent, 'RUNNING')
      await terminateSession(server.context, { sessionId: id, reason: 'enough' })
      await terminateSession(as({ name: 'bob' }), { sessionId: id, force: true, reason: 'more than enough' })
      expect(await sessionRow(db, id)).toMatchObject({ status: 'TERMINATING', reason: 'enough' })
      expect((await events(db, id)).filter((line) => line.endsWith('→TERMINATING'))).toHaveLength(1)
      expect(await given.sql('SELECT terminated_by, terminate_force FROM sessions')).toEqual([
        { terminated_by: 'ada', terminate_force: true },
      ])
      expect(
        await given.sql(`SELECT actor, details FROM audit_log WHERE action = 'session.terminate' ORDER BY id`),
      ).toEqual([
        { actor: 'ada', details: { force: false, reason: 'enough' } },
        { actor: 'bob', details: { force: true, reason: 'more than enough' } },
      ])
    })

    it('races with scheduling: the session is cancelled or stopped, never both', async () => {
      const { server, agent, db } = given
      const ids = await Promise.all(Array.from({ length: 10 }, () => server.create()))
      await Promise.all([
        server.run('schedule-sessions'),
        ...ids.map((sessionId) => terminateSession(server.context, { sessionId })),
      ])
      await server.run('schedule-sessions', 'terminate-sessions')
      await agent.comply()
      await server.run('promote-to-terminated')
      for (const id of ids) expect(['CANCELLED: CANCELLED', 'TERMINATED: TERMINATED']).toContain(await statuses(db, id))
      expect(await given.sql('SELECT used::float8 AS used FROM agent_slots')).toEqual([{ used: 0 }])
    })

    it('takes a reason of the greatest length', async () => {
      const id = await given.server.create()
      await terminateSession(given.server.context, { sessionId: id, reason: 'x'.repeat(1_000) })
      expect(await statuses(given.db, id)).toBe('CANCELLED: CANCELLED')
    })

    it.each(['\0', '\ud800', 'x'.repeat(1_001)])('refuses a reason that cannot be kept (%#)', async (reason) => {
      const id = await given.server.create()
      const terminating = terminateSession(given.server.context, { sessionId: id, reason })
      await expect(terminating).rejects.toMatchObject({ code: 'VALIDATION_FAILED' })
    })
  })

  describe('previewRetries', () => {
    it('plans the next retries of a session, the first to the millisecond as it is decided', async () => {
      const { server, agent, db, sql } = given
      const id = await sessionIn(server, agent, 'RUNNING', {
        retryPolicy: { maxRetries: 3, retryDelay: 60, backoff: 'EXPONENTIAL' },
      })
      const { schedule } = await previewRetries(server.context, { policy: {}, sessionId: id, exitCode: 1 })
      expect(schedule).toHaveLength(3)
      await failWith(server, agent, 1)
      const [row] = await sql('SELECT delay_ms FROM retry_decisions WHERE session_id = $1', [id])
      expect(row!['delay_ms']).toBe(Math.round(schedule[0]!.delaySeconds * 1000))
      expect(await decisionRow(db, id)).toMatchObject({ phase: 'SCHEDULED' })
    })

    it('refuses an invalid policy, and does not find hidden sessions', async () => {
      const { context } = given.server
      await expect(previewRetries(context, { policy: { maxRetries: -1 } })).rejects.toMatchObject({
        code: 'VALIDATION_FAILED',
        issues: [{ path: 'policy.maxRetries' }],
      })
      const sessionId = await given.server.create()
      const stranger = as({ role: 'VIEWER', projectId: randomUUID() })
      await expect(previewRetries(stranger, { policy: {}, sessionId })).rejects.toMatchObject({
        code: 'SESSION_NOT_FOUND',
      })
      await expect(previewRetries(context, { policy: {}, sessionId: 'x' })).rejects.toMatchObject({
        code: 'SESSION_NOT_FOUND',
      })
      expect(await previewRetries(stranger, { policy: { maxRetries: 2 } })).toMatchObject({ eligible: true })
    })
  })
})

describe('steps that are written together', () => {
  const SUCCESS = { status: 'TERMINATED', result: 'SUCCESS', exitCode: 0, reason: null }
  const FAILURE = { status: 'ERROR', result: 'FAILURE', error: 'kernel-exited' }

  it.each<[string, number, Partial<CreateSessionInput>, object]>([
    ['succeeds', 0, {}, SUCCESS],
    ['fails', 3, {}, { ...FAILURE, exitCode: 3, reason: 'exited with 3' }],
    ['fails with a timeout set', 4, { batchTimeout: 60 }, { ...FAILURE, exitCode: 4 }],
    ['succeeds with all of its kernels', 0, { clusterSize: 3 }, SUCCESS],
  ])('a session that %s before it is seen to run has passed every status', async (_, exitCode, input, expected) => {
    const { server, agent, db, sql } = given
    const id = await server.create(input)
    await server.run('schedule-sessions')
    expect(await statuses(db, id)).toMatch(/^PREPARING:( PREPARING)+$/)
    await agent.comply()
    await server.run('promote-to-prepared')
    expect(await statuses(db, id)).toMatch(/^CREATING:( CREATING)+$/)
    agent.obey(await agent.sync())
    agent.exitAll(exitCode)
    await agent.sync()
    await server.run('promote-to-running')
    expect(await sessionRow(db, id)).toMatchObject(expected)
    const end = exitCode === 0 ? 'TERMINATED' : 'ERROR'
    const steps = [
      'schedule-sessions PENDING→SCHEDULED',
      'prepare-sessions SCHEDULED→PREPARING',
      'promote-to-prepared PREPARING→PREPARED',
      'start-sessions PREPARED→CREATING',
      'promote-to-running CREATING→RUNNING',
      'detect-termination RUNNING→TERMINATING',
      `promote-to-terminated TERMINATING→${end}`,
    ]
    expect(await history(db, id)).toEqual(steps.map((step) => `${step} SUCCESS ×1`))
    expect((await events(db, id)).map((event) => event.split(' ')[1])).toEqual([
      '→PENDING',
      ...steps.map((step) => step.split(' ')[1]),
    ])
    expect((await events(db, id)).at(-1)).toContain(`session.${end.toLowerCase()} `)
    const [row] = await sql(
      `SELECT started_at IS NOT NULL AS started, times_out_at IS NOT NULL AS timed, terminated_at IS NOT NULL AS ended,
       tries, next_try_at AS next, (SELECT array_agg(data ->> 'reason') FROM (
         SELECT data FROM session_events WHERE session_id = s.id AND type LIKE 'session.%' ORDER BY id DESC LIMIT 2)) AS reasons,
       (SELECT array_agg(message) FROM (
         SELECT message FROM scheduling_history WHERE entity_id = s.id ORDER BY id DESC LIMIT 2)) AS messages
     FROM sessions s WHERE id = $1`,
      [id],
    )
    const { reason } = await sessionRow(db, id)
    expect(row).toEqual({
      started: true,
      timed: input.batchTimeout !== undefined,
      ended: true,
      tries: 0,
      next: null,
      reasons: [reason, reason],
      messages: [reason, reason],
    })
    expect(await misbookedSlots(db)).toEqual([])
  })

  it('ends from RUNNING with a single write, too', async () => {
    const { server, agent, db } = given
    const id = await sessionIn(server, agent, 'RUNNING')
    agent.exitAll(3)
    await agent.sync()
    await server.run('detect-termination')
    expect(await sessionRow(db, id)).toMatchObject({
      status: 'ERROR',
      result: 'FAILURE',
      exitCode: 3,
      reason: 'exited with 3',
    })
    expect((await events(db, id)).slice(-2)).toEqual([
      'session.status_changed RUNNING→TERMINATING',
      'session.error TERMINATING→ERROR',
    ])
  })

  it('stays TERMINATING while another of its kernels is there', async () => {
    const { server, agent, db } = given
    const id = await sessionIn(server, agent, 'CREATING', { clusterSize: 2 })
    await agent.comply()
    const [main] = await kernelRows(db, id)
    agent.observe(main!.id, { status: 'EXITED', exitCode: 0 })
    await agent.sync()
    await server.run('promote-to-running')
    expect(await statuses(db, id)).toBe('TERMINATING: TERMINATED RUNNING')
    await server.run('terminate-sessions')
    await agent.comply()
    await server.run('promote-to-terminated')
    expect(await statuses(db, id)).toBe('TERMINATED: TERMINATED TERMINATED')
  })

  it('runs on where a kernel of it has ended well that does not decide', async () => {
    const { server, agent, db } = given
    const id = await sessionIn(server, agent, 'CREATING', { clusterSize: 2 })
    await agent.comply()
    agent.observe((await kernelRows(db, id))[1]!.id, { status: 'EXITED', exitCode: 0 })
    await agent.sync()
    await server.run('promote-to-running', 'detect-termination')
    expect(await statuses(db, id)).toBe('RUNNING: RUNNING TERMINATED')
  })

  it('does not start a session on a lost agent', async () => {
    const { server, agent, db, sql } = given
    const id = await sessionIn(server, agent, 'PREPARING')
    await agent.comply()
    await sql(`UPDATE agents SET status = 'LOST'`)
    await server.run('promote-to-prepared')
    expect(await statuses(db, id)).toBe('PREPARED: PREPARED')
    expect((await events(db, id)).at(-1)).toBe('session.status_changed PREPARING→PREPARED')
    await sql(`UPDATE kernels SET error = '{"name": "agent-lost", "message": "it is lost"}'`)
    await server.run('start-sessions')
    expect((await sessionRow(db, id)).status).not.toBe('CREATING')
  })

  it('wakes the agents that get kernels', async () => {
    const { server, agent } = given
    await server.create()
    const rung: string[] = []
    server.hub.onAgent(agent.id, () => rung.push('agent'))
    await server.run('schedule-sessions')
    expect(rung).toHaveLength(1)
    await agent.comply()
    await server.run('promote-to-prepared')
    expect(rung).toHaveLength(2)
  })

  it('a session assigned to an agent that is just being lost is moved by the next sweep', async () => {
    const { server, agent, db, sql } = given
    const id = await server.create()
    await server.run('schedule-sessions')
    await sql(`UPDATE agents SET status = 'LOST'`)
    await advanceClock(db, 41, { silentAgents: [agent.id] })
    await server.run('sweep-leftovers', 'prepare-sessions')
    expect(await statuses(db, id)).toBe('PENDING: PENDING')
  })
})
