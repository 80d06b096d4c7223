/** Ends that are reported after the server has ended their session by a timeout. */
import { describe, expect, it } from 'vitest'
import type { CreateSessionInput } from '../../../src/services/session/create-session-input.ts'
import { fakeAgent, type FakeAgent, type Report } from '../../support/agents/fake-agent.ts'
import { chainRows, decisionRow, kernelRows, sessionRow } from '../../support/database/session-rows.ts'
import { advanceClock } from '../../support/sessions/advance-clock.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'

const given = useScheduling()

const LIMIT_SECONDS = 60
/** The time limit of a session in TERMINATING. */
const TERMINATE_SECONDS = 120
const EXITED = { status: 'EXITED', startedAt: 'then', stopped: false } as const

/** An agent of this version by default. */
async function anAgent({ judgesTime = true } = {}): Promise<FakeAgent> {
  await given.sql(`UPDATE agents SET status = 'DRAINING', drained_at = reprise_now()`)
  const agent = fakeAgent(given.server.gateway, { slots: { cpu: '8' }, says: judgesTime ? { judgesTime } : {} })
  await agent.register()
  return agent
}

async function running(agent: FakeAgent, input: Partial<CreateSessionInput> = {}) {
  const { server, db } = given
  const id = await server.create({
    batchTimeout: LIMIT_SECONDS,
    retryPolicy: { maxRetries: 1, retryDelay: 1, jitter: 'NONE' },
    ...input,
  })
  for (let rounds = 0; rounds < 4; rounds++) {
    await server.settle()
    await agent.comply()
  }
  await server.settle()
  expect(await sessionRow(db, id)).toMatchObject({ status: 'RUNNING' })
  return { id, kernels: (await kernelRows(db, id)).map((kernel) => kernel.id) }
}

/** The limit passes while the agent says nothing. */
async function timesOut(id: string): Promise<void> {
  await advanceClock(given.db, LIMIT_SECONDS + 1)
  await given.server.run('enforce-batch-timeouts', 'terminate-sessions', 'promote-to-terminated')
  expect(await sessionRow(given.db, id)).toMatchObject({ status: 'TERMINATING', error: 'task-timeout' })
}

async function reports(agent: FakeAgent, kernelId: string, report: Report): Promise<void> {
  agent.observe(kernelId, report)
  await agent.sync()
  await given.server.settle()
}

/** Any child would be there then. */
async function attempts(id: string): Promise<number> {
  await advanceClock(given.db, 3)
  await given.server.settle()
  return (await chainRows(given.db, id)).length
}

const SUCCEEDED = { status: 'TERMINATED', result: 'SUCCESS', exitCode: 0, error: null, reason: null }
const TIMED_OUT = { status: 'ERROR', result: 'FAILURE', exitCode: null, error: 'task-timeout' }

describe('a kernel that is reported after its session has timed out', () => {
  it.each([
    ['had succeeded in time', { exitCode: 0, inTime: true }, SUCCEEDED, 1],
    ['had failed in time', { exitCode: 3, inTime: true }, { ...TIMED_OUT, exitCode: 3, error: 'kernel-exited' }, 2],
    ['had succeeded too late', { exitCode: 0, inTime: false }, TIMED_OUT, 2],
    ['was stopped, and ended well', { exitCode: 0, inTime: true, stopped: true }, TIMED_OUT, 2],
    ['is of an agent that cannot know', { exitCode: 0 }, TIMED_OUT, 2],
  ] as const)('%s', async (_, report, expected, children) => {
    const agent = await anAgent()
    const { id, kernels } = await running(agent)
    await timesOut(id)
    await reports(agent, kernels[0]!, { ...EXITED, ...report })
    expect(await sessionRow(given.db, id)).toMatchObject(expected)
    expect(await attempts(id)).toBe(children)
    expect(await decisionRow(given.db, id)).toMatchObject({ phase: children === 1 ? 'SUCCEEDED' : 'DISPATCHED' })
    const row = await sessionRow(given.db, id)
    await reports(agent, kernels[0]!, { ...EXITED, exitCode: 0, inTime: true })
    expect(await sessionRow(given.db, id)).toEqual(row)
  })

  it('is explained in the history where it had succeeded', async () => {
    const agent = await anAgent()
    const { id, kernels } = await running(agent)
    await timesOut(id)
    await reports(agent, kernels[0]!, { ...EXITED, exitCode: 0, inTime: true })
    const history = await given.sql(
      `SELECT phase, result, message FROM scheduling_history WHERE entity_id = $1 ORDER BY id DESC LIMIT 2`,
      [id],
    )
    expect(history).toMatchObject([
      { phase: 'promote-to-terminated', result: 'SUCCESS', message: expect.stringContaining('ended in time') },
      { phase: 'enforce-batch-timeouts', result: 'EXPIRED' },
    ])
  })

  it('counts as in time if it was recorded before the limit, whatever its agent reports', async () => {
    const agent = await anAgent({ judgesTime: false })
    const { id, kernels } = await running(agent)
    agent.observe(kernels[0]!, { ...EXITED, exitCode: 0 })
    await agent.sync()
    // The server was about to notice it, and its clock runs on.
    await timesOutUnseen()
    expect(await sessionRow(given.db, id)).toMatchObject(SUCCEEDED)
  })

  it('is believed about its own time only: its session is over already', async () => {
    const agent = await anAgent()
    const { id, kernels } = await running(agent)
    await advanceClock(given.db, LIMIT_SECONDS + 1, { silentAgents: [agent.id] })
    await given.server.settle()
    expect(await sessionRow(given.db, id)).toMatchObject({ status: 'ERROR' })
    await reports(agent, kernels[0]!, { ...EXITED, exitCode: 0, inTime: true })
    expect(await sessionRow(given.db, id)).toMatchObject({ status: 'ERROR', result: 'FAILURE' })
  })
})

async function timesOutUnseen(): Promise<void> {
  await advanceClock(given.db, LIMIT_SECONDS + 1)
  await given.server.run('enforce-batch-timeouts', 'terminate-sessions', 'promote-to-terminated')
}

it('a program that ran for too long while no server was there has timed out, whichever server notices it first', async () => {
  const agent = await anAgent()
  const { id, kernels } = await running(agent)
  await reports(agent, kernels[0]!, { ...EXITED, exitCode: 0, inTime: false })
  expect(await sessionRow(given.db, id)).toMatchObject(TIMED_OUT)
  expect(await decisionRow(given.db, id)).toMatchObject({ cause: 'KERNEL_NONZERO_EXIT' })
})

describe('a session that timed out, and whose kernel is not reported for longer than a stop may take', () => {
  const later = async (seconds: number, silentAgents: string[] = []) => {
    await advanceClock(given.db, seconds, { silentAgents })
    await given.server.run('watch-agents', 'terminate-sessions', 'promote-to-terminated')
  }

  it('waits for an agent that has its end, but not yet all of its output', async () => {
    const agent = await anAgent()
    const { id, kernels } = await running(agent)
    await timesOut(id)
    await later(TERMINATE_SECONDS + 1)
    expect(await sessionRow(given.db, id)).toMatchObject({ status: 'TERMINATING' })
    await reports(agent, kernels[0]!, { status: 'RUNNING', startedAt: 'then', inTime: true })
    await later(TERMINATE_SECONDS + 1)
    expect(await sessionRow(given.db, id)).toMatchObject({ status: 'TERMINATING' })
    await reports(agent, kernels[0]!, { ...EXITED, exitCode: 0, inTime: true })
    expect(await sessionRow(given.db, id)).toMatchObject(SUCCEEDED)
    expect(await attempts(id)).toBe(1)
  })

  it('ends once the agent reports that the program runs for too long', async () => {
    const agent = await anAgent()
    const { id, kernels } = await running(agent)
    await timesOut(id)
    await reports(agent, kernels[0]!, { status: 'RUNNING', startedAt: 'then', inTime: false })
    await later(TERMINATE_SECONDS + 1)
    expect(await sessionRow(given.db, id)).toMatchObject(TIMED_OUT)
    // It may still run: its retry waits until it is gone.
    expect(await attempts(id)).toBe(1)
    await reports(agent, kernels[0]!, { ...EXITED, exitCode: 143, stopped: true, inTime: false })
    expect(await attempts(id)).toBe(2)
  })

  it('ends when the agent is lost', async () => {
    const agent = await anAgent()
    const { id } = await running(agent)
    await timesOut(id)
    await later(41, [agent.id])
    expect(await sessionRow(given.db, id)).toMatchObject(TIMED_OUT)
  })

  it('ends if its agent is of a version that does not report that', async () => {
    const agent = await anAgent({ judgesTime: false })
    const { id } = await running(agent)
    await timesOut(id)
    await later(TERMINATE_SECONDS + 1)
    expect(await sessionRow(given.db, id)).toMatchObject(TIMED_OUT)
  })

  it('ends after an hour if the agent never reports that', async () => {
    const agent = await anAgent()
    const { id } = await running(agent)
    await timesOut(id)
    await later(3_601)
    expect(await sessionRow(given.db, id)).toMatchObject(TIMED_OUT)
  })
})

describe('of several kernels', () => {
  const cluster = { clusterSize: 2 }

  it('the success of the first in time decides, though the other was stopped', async () => {
    const agent = await anAgent()
    const { id, kernels } = await running(agent, cluster)
    await timesOut(id)
    await reports(agent, kernels[1]!, { ...EXITED, exitCode: 143, stopped: true, inTime: false })
    await reports(agent, kernels[0]!, { ...EXITED, exitCode: 0, inTime: true })
    expect(await sessionRow(given.db, id)).toMatchObject(SUCCEEDED)
    expect(await attempts(id)).toBe(1)
  })

  it('another one in time does not decide while the first was stopped', async () => {
    const agent = await anAgent()
    const { id, kernels } = await running(agent, cluster)
    await timesOut(id)
    await reports(agent, kernels[1]!, { ...EXITED, exitCode: 0, inTime: true })
    await reports(agent, kernels[0]!, { ...EXITED, exitCode: 143, stopped: true, inTime: false })
    expect(await sessionRow(given.db, id)).toMatchObject(TIMED_OUT)
  })
})

it('a program that succeeded is not run again, though it seemed to wait in a queue for too long', async () => {
  const { server, db, sql } = given
  await sql(`UPDATE resource_groups SET queue_timeout_ms = 30000`)
  const agent = await anAgent()
  const id = await server.create({ retryPolicy: { maxRetries: 1, retryDelay: 1, jitter: 'NONE' } })
  await server.settle()
  await agent.comply()
  await server.settle()
  const [kernel] = await kernelRows(db, id)
  await reports(agent, kernel!.id, { status: 'PREPARED', waiting: { reason: 'Priority' } })
  expect(await sessionRow(db, id)).toMatchObject({ status: 'CREATING' })
  await advanceClock(db, 31)
  await server.run('start-sessions', 'terminate-sessions', 'promote-to-terminated')
  expect(await sessionRow(db, id)).toMatchObject({ status: 'TERMINATING', error: 'scheduler-timeout' })
  await reports(agent, kernel!.id, { ...EXITED, exitCode: 0 })
  expect(await sessionRow(db, id)).toMatchObject(SUCCEEDED)
  expect(await attempts(id)).toBe(1)
  expect(await sql(`SELECT started_at IS NOT NULL AS began FROM sessions WHERE id = $1`, [id])).toEqual([
    { began: true },
  ])
})
