/** The lifecycle of a session: each handler's moves, events and history. */
import { describe, expect, it } from 'vitest'
import type { SessionStatus } from '../../../src/domain/session/lifecycle.ts'
import { sessionIn, withoutDecisions } from '../../support/sessions/drive-session.ts'
import { advanceClock } from '../../support/sessions/advance-clock.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'
import {
  chainEvents,
  decisionRow,
  events,
  history,
  kernelRows,
  sessionRow,
  statuses,
} from '../../support/database/session-rows.ts'
import type { Report } from '../../support/agents/fake-agent.ts'
import type { ServiceName } from '../../support/servers/test-server.ts'

const given = useScheduling()

it('passes every status, with an event and a line of history for each move', async () => {
  const { server, agent, db } = given
  const id = await sessionIn(server, agent, 'RUNNING')
  agent.exitAll(0)
  await agent.sync()
  await server.run('detect-termination', 'promote-to-terminated', 'decide-retries')
  expect(await sessionRow(db, id)).toMatchObject({ status: 'TERMINATED', result: 'SUCCESS', exitCode: 0 })
  expect(await events(db, id)).toEqual([
    'session.created →PENDING',
    'session.status_changed PENDING→SCHEDULED',
    'session.status_changed SCHEDULED→PREPARING',
    'session.status_changed PREPARING→PREPARED',
    'session.status_changed PREPARED→CREATING',
    'session.status_changed CREATING→RUNNING',
    'session.status_changed RUNNING→TERMINATING',
    'session.terminated TERMINATING→TERMINATED',
  ])
  expect(await history(db, id)).toEqual([
    'schedule-sessions PENDING→SCHEDULED SUCCESS ×1',
    'prepare-sessions SCHEDULED→PREPARING SUCCESS ×1',
    'promote-to-prepared PREPARING→PREPARED SUCCESS ×1',
    'start-sessions PREPARED→CREATING SUCCESS ×1',
    'promote-to-running CREATING→RUNNING SUCCESS ×1',
    'detect-termination RUNNING→TERMINATING SUCCESS ×1',
    'promote-to-terminated TERMINATING→TERMINATED SUCCESS ×1',
  ])
  expect(await decisionRow(db, id)).toMatchObject({ phase: 'SUCCEEDED' })
  expect(await kernelRows(db, id)).toMatchObject([{ status: 'TERMINATED', held: false, gone: true }])
})

it('is decided in the transaction that ends it, or later if that cannot be', async () => {
  const { server, agent, db, sql } = given
  const ended = async (exitCode: number, end: (id: string) => Promise<unknown>) => {
    const id = await sessionIn(server, agent, 'RUNNING', { retryPolicy: { maxRetries: 1 } })
    agent.exitAll(exitCode)
    await agent.sync()
    await end(id)
    return id
  }
  const decided = async (id: string) => (await sql('SELECT retry_decided FROM sessions WHERE id = $1', [id]))[0]
  for (const [exitCode, phase] of [
    [0, 'SUCCEEDED'],
    [3, 'SCHEDULED'],
  ] as const) {
    const id = await ended(exitCode, () => server.run('detect-termination'))
    expect(await decisionRow(db, id)).toMatchObject({ phase })
    expect(await decided(id)).toEqual({ retry_decided: true })
    const later = await ended(exitCode, () => withoutDecisions(server, () => server.run('detect-termination')))
    expect(await sessionRow(db, later)).toMatchObject({ status: exitCode === 0 ? 'TERMINATED' : 'ERROR' })
    expect([await decisionRow(db, later), await decided(later)]).toEqual([undefined, { retry_decided: false }])
    expect(await server.run('decide-retries')).toEqual([1])
    expect(await decisionRow(db, later)).toMatchObject({ phase })
  }
})

/** Furthest first: what drives one on leaves those before it alone. */
const ONE_OF_EACH = ['TERMINATING', 'RUNNING', 'CREATING', 'PREPARED', 'PREPARING', 'PENDING'] as const
type Live = (typeof ONE_OF_EACH)[number]

/** At TERMINATING its main kernel has failed, and the other has not been stopped yet. */
async function sessionAt(status: Live): Promise<string> {
  const { server, agent, db } = given
  if (status !== 'TERMINATING') return sessionIn(server, agent, status, { batchTimeout: 60 })
  const id = await sessionIn(server, agent, 'RUNNING', { clusterSize: 2 })
  agent.observe((await kernelRows(db, id))[0]!.id, { status: 'EXITED', exitCode: 1 })
  await agent.sync()
  await server.run('detect-termination')
  return id
}

interface Row {
  handler: ServiceName
  from: Live
  /** The statuses that it passes, each with an event and a row of history. */
  passes: readonly SessionStatus[]
  /** The events about the end of its chain. */
  ends?: readonly string[]
  /** The statuses of its kernels afterwards. */
  kernels: string
  before?: (id: string) => Promise<unknown>
}

const agentObeys = () => given.agent.comply()

const observe = (kernel: number, report: Report) => async (id: string) => {
  given.agent.observe((await kernelRows(given.db, id))[kernel]!.id, report)
  await given.agent.sync()
}

const rows: Row[] = [
  { handler: 'schedule-sessions', from: 'PENDING', passes: ['SCHEDULED', 'PREPARING'], kernels: 'PREPARING' },
  {
    handler: 'prepare-sessions',
    from: 'PREPARING',
    passes: [],
    kernels: 'PREPARING',
    before: async (id) => {
      await observe(0, { status: 'FAILED', error: { name: 'code-unavailable', message: 'no answer' } })(id)
      await given.server.run('prepare-sessions')
      expect(await statuses(given.db, id)).toBe('PREPARING: SCHEDULED')
      await given.sql('UPDATE sessions SET next_try_at = NULL WHERE id = $1', [id])
    },
  },
  {
    handler: 'promote-to-prepared',
    from: 'PREPARING',
    passes: ['PREPARED', 'CREATING'],
    kernels: 'CREATING',
    before: agentObeys,
  },
  { handler: 'start-sessions', from: 'PREPARED', passes: ['CREATING'], kernels: 'CREATING' },
  {
    handler: 'promote-to-running',
    from: 'CREATING',
    passes: ['RUNNING'],
    kernels: 'RUNNING',
    before: agentObeys,
  },
  {
    handler: 'promote-to-terminated',
    from: 'TERMINATING',
    passes: ['ERROR'],
    ends: ['failed 0 after 1'],
    kernels: 'ERROR TERMINATED',
    before: observe(1, { status: 'EXITED', exitCode: 0 }),
  },
  {
    handler: 'promote-to-pulling',
    from: 'PREPARING',
    passes: ['PULLING'],
    kernels: 'PULLING',
    before: observe(0, { status: 'PULLING' }),
  },
  {
    handler: 'detect-termination',
    from: 'RUNNING',
    passes: ['TERMINATING', 'ERROR'],
    ends: ['failed 0 after 1'],
    kernels: 'ERROR',
    before: observe(0, { status: 'EXITED', exitCode: 3 }),
  },
  { handler: 'terminate-sessions', from: 'TERMINATING', passes: [], kernels: 'ERROR TERMINATING' },
  {
    handler: 'enforce-batch-timeouts',
    from: 'RUNNING',
    passes: ['TERMINATING'],
    kernels: 'RUNNING',
    before: () => advanceClock(given.db, 61),
  },
]

describe.each(rows)('$handler', ({ handler, from, passes, ends = [], kernels, before }) => {
  it(`moves ${from} to ${passes.at(-1) ?? 'nothing else'}, its kernels to ${kernels}, and no other session`, async () => {
    const { server, db, sql } = given
    const ids = new Map<Live, string>()
    for (const status of ONE_OF_EACH) ids.set(status, await sessionAt(status))
    await before?.(ids.get(from)!)
    const written = async () => [
      (await sql('SELECT count(*) AS n FROM session_events'))[0]!['n'] as number,
      (await sql('SELECT count(*) AS n FROM scheduling_history'))[0]!['n'] as number,
    ]
    const all = async () =>
      Object.fromEntries(await Promise.all([...ids].map(async ([was, id]) => [was, await statuses(db, id)])))
    const [past, [pastEvents, pastHistory]] = [await all(), await written()]

    await server.run(handler)

    const to = passes.at(-1) ?? past[from]!.split(':')[0]!
    expect(await all()).toEqual({ ...past, [from]: `${to}: ${kernels}` })
    const inPlace = handler === 'prepare-sessions' ? 1 : 0
    const added = [passes.length + ends.length, passes.length + inPlace]
    expect(await written()).toEqual([pastEvents! + added[0]!, pastHistory! + added[1]!])
    const arrows = passes.map((status, n) => `${passes[n - 1] ?? past[from]!.split(':')[0]}→${status}`)
    const lines = passes.length === 0 ? [] : (await history(db, ids.get(from)!)).slice(-passes.length)
    expect(lines.map((line) => line.split(' ')[1])).toEqual(arrows)
    if (passes.length > 0) expect(lines[0]).toContain(`${handler} `)
    const last = passes.length === 0 ? [] : (await events(db, ids.get(from)!)).slice(-passes.length)
    expect(last.map((line) => line.split(' ')[1])).toEqual(arrows)
    expect(await chainEvents(db, ids.get(from)!)).toEqual(ends)
    // Once more finds nothing.
    const settled = await all()
    await server.run(handler)
    expect(await all()).toEqual(settled)
  })
})

describe('a session of three kernels', () => {
  const kernelsOf = async (id: string) => (await kernelRows(given.db, id)).map((kernel) => kernel.id)

  it('is prepared and runs when the last one is, and ends with the first', async () => {
    const { server, agent, db } = given
    const id = await sessionIn(server, agent, 'PREPARING', { clusterSize: 3 })
    const [main, sub1, sub2] = await kernelsOf(id)
    await agent.sync()
    agent.observe(main!, { status: 'PREPARED' })
    agent.observe(sub1!, { status: 'PREPARED' })
    agent.observe(sub2!, { status: 'PULLING' })
    await agent.sync()
    await server.run('promote-to-prepared')
    expect(await statuses(db, id)).toBe('PREPARING: PREPARED PREPARED PULLING')
    await server.run('promote-to-pulling', 'promote-to-prepared')
    expect(await statuses(db, id)).toBe('PULLING: PREPARED PREPARED PULLING')
    agent.observe(sub2!, { status: 'PREPARED' })
    await agent.sync()
    await server.run('promote-to-prepared')
    agent.observe(main!, { status: 'RUNNING', startedAt: 'now' })
    agent.observe(sub1!, { status: 'RUNNING', startedAt: 'now' })
    await agent.sync()
    await server.run('promote-to-running')
    expect(await statuses(db, id)).toBe('CREATING: RUNNING RUNNING CREATING')
    agent.observe(sub2!, { status: 'RUNNING', startedAt: 'now' })
    await agent.sync()
    await server.run('promote-to-running', 'detect-termination')
    expect(await statuses(db, id)).toBe('RUNNING: RUNNING RUNNING RUNNING')
    agent.observe(main!, { status: 'EXITED', exitCode: 0 })
    await agent.sync()
    await server.run('detect-termination', 'terminate-sessions', 'promote-to-terminated')
    expect(await statuses(db, id)).toBe('TERMINATING: TERMINATED TERMINATING TERMINATING')
    await agent.comply()
    await server.run('promote-to-terminated')
    expect(await sessionRow(db, id)).toMatchObject({ status: 'TERMINATED', result: 'SUCCESS' })
  })

  it('runs on when a sub has ended well; the end of its main kernel decides', async () => {
    const { server, agent, db } = given
    const id = await sessionIn(server, agent, 'RUNNING', { clusterSize: 3 })
    const [main, sub1] = await kernelsOf(id)
    agent.observe(sub1!, { status: 'EXITED', exitCode: 0 })
    await agent.sync()
    await server.run('detect-termination', 'terminate-sessions')
    expect(await statuses(db, id)).toBe('RUNNING: RUNNING TERMINATED RUNNING')
    agent.observe(main!, { status: 'EXITED', exitCode: 0 })
    await agent.sync()
    await server.settle()
    await agent.comply()
    await server.settle()
    expect(await sessionRow(db, id)).toMatchObject({
      status: 'TERMINATED',
      result: 'SUCCESS',
      exitCode: 0,
      reason: null,
    })
  })

  it('succeeds where its main kernel ended well, though a sub failed in the same look', async () => {
    const { server, agent, db } = given
    const id = await sessionIn(server, agent, 'RUNNING', { clusterSize: 2 })
    const [main, sub1] = await kernelsOf(id)
    agent.observe(main!, { status: 'EXITED', exitCode: 0 })
    agent.observe(sub1!, { status: 'EXITED', exitCode: 1 })
    await agent.sync()
    await server.settle()
    expect(await sessionRow(db, id)).toMatchObject({ status: 'TERMINATED', result: 'SUCCESS', exitCode: 0 })
  })

  it('fails with a sub that failed, while its main kernel runs', async () => {
    const { server, agent, db } = given
    const id = await sessionIn(server, agent, 'RUNNING', { clusterSize: 2 })
    const [, sub1] = await kernelsOf(id)
    agent.observe(sub1!, { status: 'EXITED', exitCode: 7 })
    await agent.sync()
    await server.settle()
    await agent.comply()
    await server.settle()
    expect(await sessionRow(db, id)).toMatchObject({ status: 'ERROR', exitCode: 7, error: 'kernel-exited' })
  })

  it.each([
    ['main1 sub1 sub2', [0, 1, 2], 1],
    ['sub2 sub1 main1', [2, 1, 0], 1],
    ['sub2 sub1', [2, 1], 138],
    ['sub1 sub2', [1, 2], 138],
  ])('of %s, failed in this order, main1 decides, else the lowest index', async (_, order, exitCode) => {
    const { server, agent, db } = given
    const id = await sessionIn(server, agent, 'RUNNING', { clusterSize: 3 })
    const kernels = await kernelsOf(id)
    for (const [place, index] of order.entries()) {
      agent.observe(kernels[index]!, { status: 'EXITED', exitCode: index === 0 ? 1 : 137 + index })
      await agent.sync()
      const earlier = `UPDATE kernels SET terminated_at = reprise_now() - interval '1 s' * $2::int WHERE id = $1`
      await given.sql(earlier, [kernels[index], order.length - place])
    }
    await server.run('detect-termination')
    expect(await sessionRow(db, id)).toMatchObject({ result: 'FAILURE', error: 'kernel-exited', exitCode })
  })

  it('tries a kernel that could not start once more, and leaves the others running', async () => {
    const { server, agent, db } = given
    const id = await sessionIn(server, agent, 'CREATING', { clusterSize: 3 })
    const [main, sub1, sub2] = await kernelsOf(id)
    agent.observe(main!, { status: 'RUNNING', startedAt: 'now' })
    agent.observe(sub1!, { status: 'FAILED', error: { name: 'executor-failed', message: 'no fork' } })
    await agent.sync()
    await server.run('promote-to-running', 'start-sessions')
    expect(await statuses(db, id)).toBe('CREATING: RUNNING PREPARED CREATING')
    await advanceClock(db, 1)
    await server.run('start-sessions')
    expect(await statuses(db, id)).toBe('CREATING: RUNNING CREATING CREATING')
    expect((await kernelRows(db, id)).map(({ assignment }) => assignment)).toEqual([1, 2, 1])
    const answer = await agent.sync()
    expect(answer.forget).toEqual([{ kernelId: sub1, assignment: 1 }])
    await agent.comply()
    await server.run('promote-to-running')
    expect(await statuses(db, id)).toBe('RUNNING: RUNNING RUNNING RUNNING')
    expect(agent.kernels.get(sub2!)).toMatchObject({ status: 'RUNNING' })
  })

  it('prepares a kernel once more, and leaves those that are prepared', async () => {
    const { server, agent, db } = given
    const id = await sessionIn(server, agent, 'PREPARING', { clusterSize: 3 })
    const [main, sub1] = await kernelsOf(id)
    agent.observe(main!, { status: 'PREPARED' })
    agent.observe(sub1!, { status: 'FAILED', error: { name: 'code-unavailable', message: 'no answer' } })
    await agent.sync()
    await server.run('promote-to-prepared', 'prepare-sessions')
    await advanceClock(db, 1)
    await server.run('prepare-sessions')
    expect(await statuses(db, id)).toBe('PREPARING: PREPARED PREPARING PREPARING')
  })

  it('does not take back a session that already runs: the promotion fails', async () => {
    const { server, agent, db, sql } = given
    await sql('UPDATE resource_groups SET tries_max = 1')
    const id = await sessionIn(server, agent, 'CREATING', { clusterSize: 2 })
    const [main, sub1] = await kernelsOf(id)
    agent.observe(main!, { status: 'RUNNING', startedAt: 'now' })
    agent.observe(sub1!, { status: 'FAILED', error: { name: 'executor-failed', message: 'no fork' } })
    await agent.sync()
    await server.run('start-sessions', 'terminate-sessions')
    expect(await statuses(db, id)).toBe('TERMINATING: TERMINATING TERMINATING')
    expect(await sessionRow(db, id)).toMatchObject({ result: 'FAILURE', error: 'executor-failed' })
  })
})

it.each([
  ['PREPARING', 'prepare-sessions'],
  ['PREPARED', 'start-sessions'],
  ['CREATING', 'start-sessions'],
] as const)(
  'a kernel that ended before its session ran (%s) is a failure for %s, no promotion',
  async (status, handler) => {
    const { server, agent, db, sql } = given
    const id = await sessionIn(server, agent, status)
    await sql(`UPDATE kernels SET status = 'CANCELLED', terminated_at = reprise_now() WHERE session_id = $1`, [id])
    await server.run('promote-to-prepared', 'promote-to-running', 'detect-termination')
    expect(await statuses(db, id)).toBe(`${status}: CANCELLED`)
    await server.run(handler)
    expect(await history(db, id)).toContain(`${handler} ${status}→${status} NEED_RETRY ×1`)
  },
)
