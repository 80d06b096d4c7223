/** From each status and in each state of its agent, a session ends or waits without slots, in bounded time. */
import { describe, expect, it } from 'vitest'
import { isTerminal, type SessionStatus } from '../../../src/domain/session/lifecycle.ts'
import { driveAll, sessionIn } from '../../support/sessions/drive-session.ts'
import { advanceClock } from '../../support/sessions/advance-clock.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'
import { decisionRow, kernelRows, misbookedSlots, sessionRow, statuses } from '../../support/database/session-rows.ts'

const given = useScheduling()

const STATUSES = ['PENDING', 'PREPARING', 'PULLING', 'PREPARED', 'CREATING', 'RUNNING', 'TERMINATING'] as const
type Live = (typeof STATUSES)[number]

const ROUND_SECONDS = 300
const ROUNDS_MAX = 40

async function sessionAt(status: Live): Promise<string> {
  const { server, agent, db, sql } = given
  if (status === 'PULLING') {
    const id = await sessionIn(server, agent, 'PREPARING')
    agent.observe((await kernelRows(db, id))[0]!.id, { status: 'PULLING' })
    await agent.sync()
    await server.run('promote-to-pulling')
    return id
  }
  if (status !== 'TERMINATING') return sessionIn(server, agent, status)
  const id = await sessionIn(server, agent, 'RUNNING', { batchTimeout: 30 })
  await sql("UPDATE sessions SET times_out_at = reprise_now() - interval '1 s'")
  await server.run('enforce-batch-timeouts', 'terminate-sessions')
  return id
}

interface Plight {
  begin(sessionId: string): Promise<unknown>
  /** The actions of the agent in each round. */
  speaks(): Promise<unknown>
  silent: boolean
  /** The final status of the session, and the reason. */
  ends: (from: Live) => string
}

const nothing = async () => {}

const PLIGHTS: Record<string, Plight> = {
  'its agent lives, and neither obeys nor speaks of it': {
    begin: nothing,
    async speaks() {
      given.agent.kernels.clear()
      await given.agent.sync()
    },
    silent: false,
    ends(from) {
      if (from === 'TERMINATING') return 'ERROR KERNEL_NONZERO_EXIT'
      return from === 'RUNNING' ? 'ERROR AGENT_TRANSIENT' : 'ERROR SCHEDULER_TIMEOUT'
    },
  },
  'its agent is lost': { begin: nothing, speaks: nothing, silent: true, ends: endOnGoneAgent },
  'its agent was terminated': {
    begin: () => given.sql(`UPDATE agents SET status = 'TERMINATED'`),
    speaks: nothing,
    silent: true,
    ends: endOnGoneAgent,
  },
  'it has no kernels': {
    begin: (id) => given.sql('DELETE FROM kernels WHERE session_id = $1', [id]),
    speaks: () => given.agent.sync(),
    silent: false,
    ends: (from) => (from === 'TERMINATING' ? 'ERROR KERNEL_NONZERO_EXIT' : 'ERROR UNKNOWN'),
  },
}

function endOnGoneAgent(from: Live): string {
  if (from === 'TERMINATING') return 'ERROR KERNEL_NONZERO_EXIT'
  return from === 'RUNNING' ? 'ERROR AGENT_TRANSIENT' : 'PENDING'
}

/** Until nothing moves any more; answers with the seconds that it took. */
async function letTimePass(plight: Pick<Plight, 'speaks' | 'silent'>, over: () => Promise<boolean>): Promise<number> {
  for (let round = 1; round <= ROUNDS_MAX; round++) {
    await advanceClock(given.db, ROUND_SECONDS, { silentAgents: plight.silent ? [given.agent.id] : [] })
    await plight.speaks()
    await given.server.settle()
    if (await over()) return round * ROUND_SECONDS
  }
  throw new Error(`no end within ${ROUNDS_MAX * ROUND_SECONDS} s`)
}

async function where(id: string): Promise<string> {
  const { status, cause } = await sessionRow(given.db, id)
  return cause === null ? status : `${status} ${cause}`
}

async function expectNothingHeld(): Promise<void> {
  expect(await given.sql('SELECT id, status FROM kernels WHERE slots_held')).toEqual([])
  expect(await misbookedSlots(given.db)).toEqual([])
}

describe.each(Object.entries(PLIGHTS))('%s', (_, plight) => {
  it.each(STATUSES)('a session that is %s', async (status) => {
    const { agent, db } = given
    const id = await sessionAt(status)
    if (!plight.silent) await agent.sync()
    await plight.begin(id)
    const seconds = await letTimePass(plight, async () => (await where(id)) === plight.ends(status))
    // Four places, each with the time that preparing or creating may take and a fence in between, then the way out.
    expect(seconds).toBeLessThan(4 * (900 + 600 + 135) + 4 * ROUND_SECONDS)
    expect((await kernelRows(db, id)).every((kernel) => kernel.status === 'PENDING' || isTerminal(kernel.status))).toBe(
      true,
    )
    await expectNothingHeld()
  })
})

describe('a kernel of a session that has ended', () => {
  const end = (id: string) =>
    given.sql(`UPDATE sessions SET status = 'ERROR', result = 'FAILURE', terminated_at = reprise_now() WHERE id = $1`, [
      id,
    ])
  const withAgents = STATUSES.filter((status): status is Exclude<Live, 'PENDING'> => status !== 'PENDING')

  it.each(withAgents)('in status %s is stopped by its agent', async (status) => {
    const { agent, db } = given
    const id = await sessionAt(status)
    await agent.sync()
    await end(id)
    const speaks = async () => agent.obey(await agent.sync())
    const over = async () => (await kernelRows(db, id)).every((kernel) => isTerminal(kernel.status) && kernel.gone)
    expect(await letTimePass({ speaks, silent: false }, over)).toBeLessThan(1_201)
    await expectNothingHeld()
  })

  it.each(withAgents)('in status %s is over when its agent does not answer', async (status) => {
    const { db } = given
    const id = await sessionAt(status)
    await end(id)
    const over = async () => (await kernelRows(db, id)).every((kernel) => isTerminal(kernel.status))
    expect(await letTimePass({ speaks: nothing, silent: true }, over)).toBeLessThan(1_201)
    await expectNothingHeld()
  })
})

it('a TERMINATING session whose agent continues to run it ends in time, and is retried when the kernel is gone', async () => {
  const { server, agent, db, sql } = given
  const id = await sessionIn(server, agent, 'RUNNING', {
    batchTimeout: 30,
    retryPolicy: { maxRetries: 1, retryDelay: 1, jitter: 'NONE' },
  })
  const [kernel] = await kernelRows(db, id)
  await sql("UPDATE sessions SET times_out_at = reprise_now() - interval '1 s'")
  await server.settle()
  const { orders } = await agent.sync()
  expect(orders).toMatchObject([{ want: 'STOP' }])
  await advanceClock(db, 100)
  await agent.sync()
  await server.settle()
  expect(await statuses(db, id)).toBe('TERMINATING: TERMINATING')
  await advanceClock(db, 21)
  await agent.sync()
  await server.settle()
  expect(await statuses(db, id)).toBe('ERROR: TERMINATED')
  expect(await kernelRows(db, id)).toMatchObject([{ held: false, gone: false }])
  await expectNothingHeld()
  for (const seconds of [2, 300, 3_600]) {
    await advanceClock(db, seconds)
    agent.observe(kernel!.id, { status: 'RUNNING', startedAt: 'now' })
    const { orders: late, forget } = await agent.sync()
    expect(late).toEqual([{ kernelId: kernel!.id, assignment: 1, want: 'STOP', graceMs: 0 }])
    expect(forget).toEqual([])
    await server.settle()
    expect(await decisionRow(db, id)).toMatchObject({ phase: 'HELD', holdReason: 'PARENT_ALIVE' })
  }
  agent.observe(kernel!.id, { status: 'EXITED', exitCode: 137, startedAt: 'now' })
  await agent.sync()
  await advanceClock(db, 2)
  await server.settle()
  expect(await decisionRow(db, id)).toMatchObject({ phase: 'DISPATCHED' })
})

it('a running session that has lost its main kernel, and whose others have ended well, has failed', async () => {
  const { server, agent, db, sql } = given
  const id = await sessionIn(server, agent, 'RUNNING', { clusterSize: 2 })
  const [main, sub1] = await kernelRows(db, id)
  await sql('DELETE FROM kernels WHERE id = $1', [main!.id])
  agent.kernels.delete(main!.id)
  agent.observe(sub1!.id, { status: 'EXITED', exitCode: 0 })
  await agent.sync()
  await advanceClock(db, 61)
  await server.settle()
  expect(await sessionRow(db, id)).toMatchObject({ status: 'ERROR', error: 'kernels-missing', cause: 'UNKNOWN' })
})

it('a working session is left alone, however long it takes', async () => {
  const { server, agent, db } = given
  const running = await sessionIn(server, agent, 'RUNNING', { clusterSize: 2 })
  const [, sub1] = await kernelRows(db, running)
  agent.observe(sub1!.id, { status: 'EXITED', exitCode: 0 })
  for (let round = 0; round < 5; round++) {
    await advanceClock(db, 3_600)
    await agent.sync()
    expect(await server.run('sweep-leftovers')).toEqual([0])
    await server.settle()
  }
  expect(await statuses(db, running)).toBe('RUNNING: RUNNING TERMINATED')
  agent.exitAll(0)
  await agent.sync()
  // The sweep comes first, and leaves the end to whom it belongs.
  expect(await server.run('sweep-leftovers')).toEqual([0])
  await server.settle()
  expect(await sessionRow(db, running)).toMatchObject({ status: 'TERMINATED', result: 'SUCCESS' })
  const next = await server.create()
  await driveAll(server, agent, 'RUNNING' satisfies SessionStatus)
  expect((await sessionRow(db, next)).status).toBe('RUNNING')
})
