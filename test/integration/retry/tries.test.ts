/** Tries, reschedules and timeouts, and what a person ends. */
import { describe, expect, it } from 'vitest'
import type { FailureError } from '../../../src/domain/session/failure.ts'
import { tryPauseMs } from '../../../src/domain/session/judge.ts'
import { terminateSession } from '../../../src/services/session/terminate-session.ts'
import { updateResourceGroup } from '../../../src/services/resource-group.ts'
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

const given = useScheduling()

const NO_CODE: FailureError = { name: 'code-unavailable', message: 'no answer' }

/** The agent cannot prepare it, as often as it is told to. */
async function failPreparing(id: string, times: number, error = NO_CODE, agent = given.agent): Promise<void> {
  const { server, db } = given
  for (let time = 0; time < times; time++) {
    await advanceClock(db, 60)
    await server.run('schedule-sessions', 'prepare-sessions')
    await agent.sync()
    const [kernel] = await kernelRows(db, id)
    agent.kernels.clear()
    for (const order of (await agent.sync()).orders) {
      agent.obey({ orders: [order], forget: [] })
      agent.observe(kernel!.id, { status: 'FAILED', error })
    }
    await agent.sync()
    await server.run('prepare-sessions')
  }
}

describe('tries', () => {
  it('are counted, pause longer and longer, and leave a line of history', async () => {
    const id = await given.server.create()
    for (const tries of [1, 2, 3]) {
      await failPreparing(id, 1)
      const row = await sessionRow(given.db, id)
      expect(row).toMatchObject({ status: 'PREPARING', tries, pauseMs: tryPauseMs(tries) })
    }
    expect((await history(given.db, id)).filter((line) => line.includes('NEED_RETRY'))).toEqual(
      Array.from({ length: 3 }, () => 'prepare-sessions PREPARING→PREPARING NEED_RETRY ×1'),
    )
    expect(await kernelRows(given.db, id)).toMatchObject([{ assignment: 4, held: true, agent: given.agent.id }])
  })

  it('rest: nobody looks at the session before its pause is over', async () => {
    const id = await given.server.create()
    await failPreparing(id, 1)
    await given.sql(`UPDATE sessions SET next_try_at = reprise_now() + interval '1 minute'`)
    await given.server.run('prepare-sessions')
    expect(await statuses(given.db, id)).toBe('PREPARING: SCHEDULED')
  })

  it("at the group's maximum lead back to PENDING, released, and the agent is remembered", async () => {
    const { server, db, agent, sql } = given
    const other = await server.create()
    await server.run('schedule-sessions')
    await sql(`UPDATE resource_groups SET tries_max = 3`)
    const id = await server.create({ clusterSize: 2, resourceSlots: [{ slot: 'cpu', amount: '0.1' }] })
    await failPreparing(id, 3)
    expect(await sessionRow(db, id)).toMatchObject({
      status: 'PENDING',
      result: 'UNDEFINED',
      tries: 0,
      reschedules: 1,
      restsMs: null,
      avoidAgents: [agent.id],
    })
    expect(await kernelRows(db, id)).toMatchObject([
      { status: 'PENDING', agent: null, held: false, gone: true, error: null, assignment: 4 },
      { status: 'PENDING', agent: null, held: false, gone: true, error: null, assignment: 2 },
    ])
    expect(await misbookedSlots(db)).toEqual([])
    expect((await history(db, id)).at(-1)).toBe('prepare-sessions PREPARING→PENDING GIVE_UP ×1')
    expect((await events(db, id)).at(-1)).toBe('session.status_changed PREPARING→PENDING')
    expect((await sessionRow(db, other)).avoidAgents).toEqual([])
  })

  it('are bounded: after the last reschedule it fails, with the cause of the last error', async () => {
    const { server, db, sql, agent } = given
    await sql(`UPDATE resource_groups SET tries_max = 2, reschedules_max = 1`)
    const id = await server.create({ retryPolicy: { maxRetries: 2 } })
    await failPreparing(id, 4)
    expect(await sessionRow(db, id)).toMatchObject({ status: 'TERMINATING', result: 'FAILURE', error: NO_CODE.name })
    await server.run('terminate-sessions')
    await agent.comply()
    await server.run('promote-to-terminated', 'decide-retries')
    expect(await sessionRow(db, id)).toMatchObject({
      status: 'ERROR',
      cause: 'IMAGE_PULL_FAILURE',
      reason: NO_CODE.message,
    })
    expect(await decisionRow(db, id)).toMatchObject({ phase: 'SCHEDULED', cause: 'IMAGE_PULL_FAILURE' })
    expect(await misbookedSlots(db)).toEqual([])
  })

  describe.each([
    'image-pull-failed',
    'image-unreachable',
    'image-not-found',
    'image-unauthorised',
    'image-invalid',
    'image-disk-full',
  ])('after %s, which the agent itself has tried again,', (name) => {
    const error: FailureError = { name, message: 'its registry is unreachable' }

    it('is not tried again, and without another agent the session fails', async () => {
      const { server, db, agent } = given
      const id = await server.create({ retryPolicy: { maxRetries: 2 } })
      await failPreparing(id, 1, error)
      expect(await sessionRow(db, id)).toMatchObject({ status: 'TERMINATING', result: 'FAILURE', error: name })
      await server.run('terminate-sessions')
      await agent.comply()
      await server.run('promote-to-terminated', 'decide-retries')
      expect(await decisionRow(db, id)).toMatchObject({ phase: 'SCHEDULED', cause: 'IMAGE_PULL_FAILURE' })
      const { rows } = await db.query<{ message: string | null; agents: string[] | null }>(
        'SELECT message, agent_ids AS agents FROM scheduling_history WHERE entity_id = $1 ORDER BY id',
        [id],
      )
      expect(rows.length).toBeLessThan(10)
      // Placed, prepared, and failed: all on this agent.
      expect(rows.slice(0, 3).map(({ agents }) => agents)).toEqual(Array.from({ length: 3 }, () => [agent.id]))
      expect(rows.filter(({ message }) => message === error.message).length).toBeLessThan(3)
    })

    it('goes back for another agent, and fails if it comes to the same agent again', async () => {
      const { server, db, agent } = given
      const other = fakeAgent(server.gateway, { slots: { cpu: '64' } })
      const id = await server.create({ allowAgents: [agent.id] })
      await other.register()
      await server.run('watch-agents')
      await failPreparing(id, 1, error)
      const first = await sessionRow(db, id)
      expect(first).toMatchObject({ status: 'PENDING', reschedules: 1, avoidAgents: [agent.id] })
      // No other agent than the first may have it, so it comes back.
      await failPreparing(id, 1, error)
      expect(await sessionRow(db, id)).toMatchObject({ status: 'TERMINATING', result: 'FAILURE', error: name })
    })
  })

  it('equal failures in a row are one line that counts up', async () => {
    const { server, agent, db } = given
    const id = await sessionIn(server, agent, 'PREPARED')
    for (let time = 0; time < 3; time++) {
      await advanceClock(db, 60)
      await given.sql(`UPDATE kernels SET error = $2 WHERE session_id = $1`, [id, JSON.stringify(NO_CODE)])
      await server.run('start-sessions')
    }
    expect((await history(db, id)).at(-1)).toBe('start-sessions PREPARED→PREPARED NEED_RETRY ×3')
  })
})

describe('time', () => {
  it.each([
    ['PREPARING', 901, 'prepare-sessions'],
    ['PREPARED', 601, 'start-sessions'],
    ['CREATING', 601, 'start-sessions'],
  ] as const)('%s for %i s: %s sends it back', async (status, seconds, handler) => {
    const { server, agent, db } = given
    const id = await sessionIn(server, agent, status)
    // Nothing to do for its handler but to see that time is up.
    await given.sql(`UPDATE kernels SET status = 'CREATING' WHERE session_id = $1 AND status = 'PREPARED'`, [id])
    await advanceClock(db, seconds - 10)
    await server.run(handler)
    expect((await sessionRow(db, id)).status).toBe(status)
    await advanceClock(db, 10)
    await server.run(handler)
    expect(await statuses(db, id)).toBe('PENDING: PENDING')
    expect((await history(db, id)).at(-1)).toBe(`${handler} ${status}→PENDING EXPIRED ×1`)
    const { reschedules, pauseMs } = await sessionRow(db, id)
    expect(reschedules).toBe(1)
    // A kernel that may have started is assigned again only once its agent has certainly stopped it.
    if (handler === 'start-sessions') expect(pauseMs).toBeGreaterThan(130_000)
    else expect(pauseMs).toBeNull()
    expect(await misbookedSlots(db)).toEqual([])
  })

  it('PENDING longer than its group allows is a scheduler timeout, and is retried', async () => {
    const { server, db, sql } = given
    await sql(`UPDATE resource_groups SET pending_timeout_ms = 60000`)
    const id = await server.create({ resourceSlots: [{ slot: 'cpu', amount: '65' }], retryPolicy: { maxRetries: 1 } })
    await advanceClock(db, 55)
    await server.run('schedule-sessions')
    expect((await sessionRow(db, id)).status).toBe('PENDING')
    await advanceClock(db, 10)
    await server.run('schedule-sessions', 'decide-retries')
    expect(await sessionRow(db, id)).toMatchObject({
      status: 'CANCELLED',
      result: 'FAILURE',
      cause: 'SCHEDULER_TIMEOUT',
    })
    expect(await statuses(db, id)).toBe('CANCELLED: CANCELLED')
    expect((await events(db, id)).slice(-2)).toEqual(['session.cancelled PENDING→CANCELLED', 'session.retry_scheduled'])
    expect(await decisionRow(db, id)).toMatchObject({ phase: 'SCHEDULED' })
  })

  it('a session that is TERMINATING too long ends without its agent, and its retry waits for the agent', async () => {
    const { server, agent, db } = given
    const id = await sessionIn(server, agent, 'RUNNING', {
      batchTimeout: 30,
      retryPolicy: { maxRetries: 1, retryDelay: 1 },
    })
    await advanceClock(db, 31)
    await server.run('enforce-batch-timeouts', 'terminate-sessions')
    expect(await sessionRow(db, id)).toMatchObject({ status: 'TERMINATING', result: 'FAILURE', error: 'task-timeout' })
    await advanceClock(db, 125)
    await server.run('terminate-sessions', 'decide-retries')
    expect(await statuses(db, id)).toBe('ERROR: TERMINATED')
    expect((await history(db, id)).at(-1)).toBe('terminate-sessions TERMINATING→ERROR EXPIRED ×1')
    expect(await misbookedSlots(db)).toEqual([])
    expect(await decisionRow(db, id)).toMatchObject({ phase: 'SCHEDULED', cause: 'KERNEL_NONZERO_EXIT' })
    await advanceClock(db, 5)
    await server.run('dispatch-retries')
    expect(await decisionRow(db, id)).toMatchObject({ phase: 'HELD', holdReason: 'PARENT_ALIVE' })
    await agent.comply()
    await advanceClock(db, 5)
    await server.run('dispatch-retries')
    expect(await decisionRow(db, id)).toMatchObject({ phase: 'DISPATCHED' })
  })
})

describe('a person', () => {
  it('cancels a pending session, which is not retried', async () => {
    const { server, db } = given
    const id = await server.create({ retryPolicy: { maxRetries: 3 } })
    await terminateSession(server.context, { sessionId: id, reason: 'no more' })
    await server.run('decide-retries')
    expect(await statuses(db, id)).toBe('CANCELLED: CANCELLED')
    expect(await sessionRow(db, id)).toMatchObject({ cause: 'USER_CANCELLED', reason: 'no more', result: 'UNDEFINED' })
    expect(await decisionRow(db, id)).toMatchObject({ phase: 'NOT_ELIGIBLE' })
  })

  it('has the grace period that it asked for, which its agent and its program know, and time to end after it', async () => {
    const { server, agent, db } = given
    const { context } = server
    await updateResourceGroup(context, { name: 'default', stopGrace: 10, stopGraceMax: 600, terminateTimeout: 20 })
    const refused = await server.create({ stopGrace: 601 }).catch((error: unknown) => error)
    expect(refused).toMatchObject({
      issues: [{ path: 'stopGrace', message: expect.stringContaining('at most 600 s') }],
    })
    const id = await server.create({ stopGrace: 300.5 })
    const other = await server.create()
    await server.run('schedule-sessions', 'prepare-sessions')
    const { orders: preparations } = await agent.sync()
    const graces = (orders: readonly object[]) =>
      orders.map((order) => ('spec' in order ? (order.spec as { stopGraceMs: number }).stopGraceMs : undefined))
    expect(new Set(graces(preparations))).toEqual(new Set([10_000, 300_500]))
    await agent.comply()
    await server.run('promote-to-prepared', 'start-sessions')
    await agent.comply()
    await server.run('promote-to-running')
    for (const sessionId of [id, other]) await terminateSession(context, { sessionId })
    await server.run('terminate-sessions')
    const { orders } = await agent.sync()
    expect(new Set(orders.map((order) => 'graceMs' in order && order.graceMs))).toEqual(new Set([10_000, 300_500]))
    // The group's limit, which was lowered meanwhile, applies to the next order.
    await updateResourceGroup(context, { name: 'default', stopGraceMax: 100 })
    const { orders: shorter } = await agent.sync()
    expect(new Set(shorter.map((order) => 'graceMs' in order && order.graceMs))).toEqual(new Set([10_000, 100_000]))
    // 20 s for the group's own 10 s, and as much more for each second of grace beyond these.
    await advanceClock(db, 30)
    await server.run('terminate-sessions')
    expect((await sessionRow(db, other)).status).toBe('TERMINATED')
    expect((await sessionRow(db, id)).status).toBe('TERMINATING')
    await advanceClock(db, 90)
    await server.run('terminate-sessions')
    expect((await sessionRow(db, id)).status).toBe('TERMINATED')
  })

  it('ends a running session: its kernel is stopped, and it is not retried', async () => {
    const { server, agent, db } = given
    const id = await sessionIn(server, agent, 'RUNNING', { retryPolicy: { maxRetries: 3 } })
    await terminateSession(server.context, { sessionId: id, force: true })
    await server.run('terminate-sessions')
    const { orders } = await agent.sync()
    expect(orders).toMatchObject([{ want: 'STOP', graceMs: 0 }])
    await agent.comply()
    await server.run('promote-to-terminated', 'decide-retries')
    expect(await sessionRow(db, id)).toMatchObject({
      status: 'TERMINATED',
      result: 'UNDEFINED',
      cause: 'USER_CANCELLED',
    })
    expect(await decisionRow(db, id)).toMatchObject({ phase: 'NOT_ELIGIBLE' })
  })

  it('ends a session that its agent was about to prepare', async () => {
    const { server, agent, db } = given
    const id = await sessionIn(server, agent, 'PREPARING')
    await terminateSession(server.context, { sessionId: id })
    await server.run('terminate-sessions')
    expect((await agent.comply()).orders).toEqual([])
    await server.run('promote-to-terminated')
    expect(await statuses(db, id)).toBe('TERMINATED: TERMINATED')
    expect(await misbookedSlots(db)).toEqual([])
  })
})

it('the time for preparing counts from its beginning, however long of it is pulling', async () => {
  const { server, agent, db } = given
  const id = await sessionIn(server, agent, 'PREPARING')
  await advanceClock(db, 600)
  agent.observe((await kernelRows(db, id))[0]!.id, { status: 'PULLING' })
  await agent.sync()
  await server.run('promote-to-pulling')
  expect(await statuses(db, id)).toBe('PULLING: PULLING')
  await advanceClock(db, 290)
  await server.run('prepare-sessions')
  expect(await statuses(db, id)).toBe('PULLING: PULLING')
  await advanceClock(db, 20)
  await server.run('prepare-sessions')
  expect(await statuses(db, id)).toBe('PENDING: PENDING')
})

it('a batch timeout is a failure with reason task-timeout; a session that ends in time has none', async () => {
  const { server, agent, db } = given
  const slow = await sessionIn(server, agent, 'RUNNING', { batchTimeout: 60, retryPolicy: { maxRetries: 1 } })
  const fast = await server.create({ batchTimeout: 600 })
  await driveAll(server, agent, 'RUNNING')
  await advanceClock(db, 40)
  expect(await server.run('enforce-batch-timeouts')).toEqual([0])
  await advanceClock(db, 21)
  expect(await server.run('enforce-batch-timeouts')).toEqual([1])
  expect(await sessionRow(db, fast)).toMatchObject({ status: 'RUNNING' })
  await server.run('terminate-sessions')
  await agent.comply()
  await server.run('promote-to-terminated', 'decide-retries')
  expect(await sessionRow(db, slow)).toMatchObject({ status: 'ERROR', cause: 'KERNEL_NONZERO_EXIT' })
  expect((await sessionRow(db, slow)).reason).toContain('task-timeout')
})
