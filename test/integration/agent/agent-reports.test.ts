/** Answers of a server to agents: reports that come late or twice, long polls, and reports on chain directories. */
import { v7 as uuidv7 } from 'uuid'
import { describe, expect, it, test } from 'vitest'
import type {
  ChainReport,
  LogPiece,
  ObservedKernel,
  SyncAnswer,
  SyncRequest,
} from '../../../src/domain/agent/protocol.ts'
import { REPORTED_CHAINS_MAX } from '../../../src/domain/limits.ts'
import type { Database } from '../../../src/store/database.ts'
import { observed, fakeAgent, type FakeAgent } from '../../support/agents/fake-agent.ts'
import { kernelRows, sessionRow } from '../../support/database/session-rows.ts'
import { testServer, type TestServer } from '../../support/servers/test-server.ts'
import { failWith, sessionIn } from '../../support/sessions/drive-session.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'

describe('one agent and several servers', () => {
  const given = useScheduling()

  const kernelOf = async (id: string) => (await kernelRows(given.db, id))[0]!

  /** Sends the report with this number from an agent to one server. */
  function tell(server: TestServer, agent: FakeAgent, sequence: number, kernels: ObservedKernel[]) {
    const { id: agentId, instanceId } = agent
    const request = { agentId, instanceId, sequence, observed: kernels, logs: [], waitMs: 0 }
    return server.gateway.sync(request, new AbortController().signal)
  }

  it('an older report that reaches another server after a newer one changes nothing', async () => {
    const { server, agent, db } = given
    const other = testServer(db)
    const id = await sessionIn(server, agent, 'CREATING')
    const { id: kernelId } = await kernelOf(id)
    await tell(server, agent, 101, [observed(kernelId, 1, { status: 'RUNNING', startedAt: 'now' })])
    expect(await kernelOf(id)).toMatchObject({ status: 'RUNNING' })
    // Sent when it had not yet been told to start the kernel.
    expect(await tell(other, agent, 100, [])).toEqual({ orders: [], forget: [] })
    expect(await kernelOf(id)).toMatchObject({ status: 'RUNNING', error: null })
    await tell(other, agent, 102, [])
    expect(await kernelOf(id)).toMatchObject({ status: 'ERROR', error: 'kernel-vanished' })
  })

  it('of two reports that are applied at once, the older never follows the newer', async () => {
    const { server, agent, db } = given
    const id = await sessionIn(server, agent, 'CREATING')
    const { id: kernelId } = await kernelOf(id)
    const slow = testServer(
      beforeBooking(db, () =>
        tell(server, agent, 101, [observed(kernelId, 1, { status: 'RUNNING', startedAt: 'now' })]),
      ),
    )
    await tell(slow, agent, 100, [observed(kernelId, 1, { status: 'EXITED', startedAt: 'then', exitCode: 9 })])
    expect(await kernelOf(id)).toMatchObject({ status: 'RUNNING', exitCode: null })
  })

  it('the numbers restart with another instance of the agent, and those of the previous one no longer count', async () => {
    const { server, agent, db } = given
    const id = await sessionIn(server, agent, 'CREATING')
    const { id: kernelId } = await kernelOf(id)
    await tell(server, agent, 500, [observed(kernelId, 1, { status: 'RUNNING', startedAt: 'now' })])
    const next = fakeAgent(server.gateway, { id: agent.id })
    const late = testServer(beforeBooking(db, () => next.register()))
    await tell(late, agent, 501, [])
    expect(await kernelOf(id)).toMatchObject({ status: 'RUNNING' })
    await next.sync()
    expect(await kernelOf(id)).toMatchObject({ status: 'ERROR', error: 'kernel-vanished' })
  })

  it('an end that another server blocks is read again, and forgotten only once it is applied', async () => {
    const { server, agent, db } = given
    const id = await sessionIn(server, agent, 'CREATING')
    const { id: kernelId } = await kernelOf(id)
    const busy = testServer(
      beforeBooking(db, () =>
        tell(server, agent, 100, [observed(kernelId, 1, { status: 'RUNNING', startedAt: 'now' })]),
      ),
    )
    const answer = await tell(busy, agent, 101, [
      observed(kernelId, 1, { status: 'EXITED', startedAt: 'then', exitCode: 9 }),
    ])
    expect(await kernelOf(id)).toMatchObject({ status: 'ERROR', exitCode: 9 })
    expect(answer.forget).toEqual([{ kernelId, assignment: 1 }])
  })

  it('an end also wakes those who wait for the kernels of a session that a person ends at the same moment', async () => {
    const { server, agent } = given
    await sessionIn(server, agent, 'RUNNING')
    const woken: string[] = []
    for (const topic of ['detect-termination', 'promote-to-terminated'] as const)
      server.hub.on(topic, () => woken.push(topic))
    agent.exitAll(0)
    await agent.sync()
    expect(woken.toSorted()).toEqual(['detect-termination', 'promote-to-terminated'])
  })

  it('a kernel that its agent fenced is AGENT_TRANSIENT, also where it left with 0', async () => {
    const { server, agent, db } = given
    const id = await sessionIn(server, agent, 'RUNNING', { retryPolicy: { maxRetries: 1 } })
    const error = { name: 'agent-fenced', message: 'fenced' }
    agent.observe((await kernelOf(id)).id, { status: 'EXITED', exitCode: 0, error })
    await agent.sync()
    await server.settle()
    expect(await sessionRow(db, id)).toMatchObject({ status: 'ERROR', cause: 'AGENT_TRANSIENT', exitCode: 0 })
  })

  it('each assignment of a kernel has its own log', async () => {
    const { server, agent, db, sql } = given
    const id = await sessionIn(server, agent, 'CREATING')
    const { id: kernelId } = await kernelOf(id)
    const piece = (assignment: number, text: string): LogPiece => ({
      kernelId,
      assignment,
      stream: 'STDOUT',
      offset: 0,
      bytes: text.length,
      text,
      at: '2026-11-21T00:00:00.000Z',
    })
    agent.observe(kernelId, { status: 'FAILED', error: { name: 'executor-failed', message: 'no fork' } })
    await agent.sync([piece(1, 'first')])
    await server.run('start-sessions')
    await sql('UPDATE sessions SET next_try_at = NULL')
    await server.run('start-sessions')
    expect(await kernelOf(id)).toMatchObject({ assignment: 2, status: 'CREATING' })
    await agent.sync([piece(2, 'the second')])
    await agent.sync([piece(1, 'first'), piece(2, 'the second'), piece(3, 'not given yet')])
    expect(await sql('SELECT assignment, text FROM kernel_logs ORDER BY id')).toEqual([
      { assignment: 1, text: 'first' },
      { assignment: 2, text: 'the second' },
    ])
    expect((await agent.register()).logOffsets).toEqual([{ kernelId, assignment: 2, stream: 'STDOUT', offset: 10 }])
    expect(await kernelRows(db, id)).toHaveLength(1)
  })

  /** A database on which something else comes to pass once, just before a report is booked. */
  function beforeBooking(db: Database, meanwhile: () => Promise<unknown>): Database {
    let pending: (() => Promise<unknown>) | null = meanwhile
    return {
      ...db,
      async query(text, values) {
        const run = text.includes('last_sequence <= ') ? pending : null
        if (run !== null) pending = null
        await run?.()
        return db.query(text, values)
      },
    }
  }
})

describe('long polls', () => {
  /** A poll that nothing answers outlasts its test. */
  const POLL_MS = 3_600_000

  const given = useScheduling({ syncWaitMaxMs: POLL_MS })

  interface Poll {
    answer: Promise<SyncAnswer>
    abort: AbortController
    /** When the gateway has looked and found nothing: it listens, and the database is idle. */
    waiting(): Promise<void>
  }

  async function poll(request: Partial<SyncRequest> = {}): Promise<Poll> {
    const instanceId = (await given.sql('SELECT instance_id FROM agents WHERE id = $1', [given.agent.id]))[0]![
      'instance_id'
    ] as string
    const abort = new AbortController()
    const full = {
      agentId: given.agent.id,
      instanceId,
      sequence: 100,
      observed: [],
      logs: [],
      waitMs: POLL_MS,
      ...request,
    }
    const answer = given.server.gateway.sync(full, abort.signal)
    return {
      answer,
      abort,
      async waiting() {
        const still = Symbol('still waiting')
        expect(await Promise.race([answer, given.sql('SELECT pg_sleep(0.05)').then(() => still)])).toBe(still)
      },
    }
  }

  it('answers at once when there is something to do', async () => {
    const { server } = given
    const { answer, waiting } = await poll()
    await waiting()
    await sessionIn(server, given.agent, 'PREPARING')
    expect((await answer).orders).toMatchObject([{ want: 'PREPARE' }])
  })

  it('waits on when it was woken for nothing', async () => {
    const { server, agent } = given
    const { answer, abort, waiting } = await poll()
    await waiting()
    server.hub.wakeAgents([agent.id])
    await waiting()
    abort.abort()
    expect(await answer).toEqual({ orders: [], forget: [] })
  })

  it('answers at once when the agent hangs up', async () => {
    const { answer, abort, waiting } = await poll()
    await waiting()
    abort.abort()
    expect(await answer).toEqual({ orders: [], forget: [] })
  })

  it('does not wait where there is an order already, nor for a signal to another agent', async () => {
    const { server, agent } = given
    const other = fakeAgent(server.gateway)
    await other.register({ cpu: '0' })
    const { waiting, abort } = await poll()
    await waiting()
    server.hub.wakeAgents([other.id])
    await waiting()
    abort.abort()
    await sessionIn(server, agent, 'PREPARING')
    const second = await poll()
    expect((await second.answer).orders).toMatchObject([{ want: 'PREPARE' }])
  })

  it('stores the logs of a poll that waits, once', async () => {
    const { server, agent, sql } = given
    const id = await sessionIn(server, agent, 'RUNNING')
    const [kernel] = await kernelRows(given.db, id)
    const piece = {
      kernelId: kernel!.id,
      assignment: 1,
      stream: 'STDOUT' as const,
      offset: 0,
      bytes: 2,
      text: 'hi',
      at: '2026-11-21T00:00:00Z',
    }
    const report = observed(kernel!.id, 1, { status: 'RUNNING', startedAt: 'now' })
    const { answer, abort, waiting } = await poll({ logs: [piece], observed: [report] })
    await waiting()
    server.hub.wakeAgents([agent.id])
    await waiting()
    abort.abort()
    await answer
    expect(await sql('SELECT text FROM kernel_logs')).toEqual([{ text: 'hi' }])
  })

  it('gets the error that it was superseded while it waited', async () => {
    const { server, agent } = given
    const { answer, waiting } = await poll()
    await waiting()
    await fakeAgent(server.gateway, { id: agent.id }).register()
    server.hub.wakeAgents([agent.id])
    await expect(answer).rejects.toMatchObject({ code: 'AGENT_SUPERSEDED' })
  })
})

describe('reports on chain directories', () => {
  const given = useScheduling()

  let sequence = 1_000

  async function report(agent: FakeAgent, chainIds: string[], bounds: Partial<ChainReport> = {}) {
    const chains = { after: null, upTo: null, ...bounds, chainIds }
    const { id: agentId, instanceId } = agent
    const request = { agentId, instanceId, sequence: ++sequence, observed: [], logs: [], waitMs: 0, chains }
    const { dropChains = [] } = await given.server.gateway.sync(request, new AbortController().signal)
    return dropChains
  }

  /** In the order of their ids; each has failed for good on the agent. */
  async function endedChains(count: number): Promise<string[]> {
    const ids: string[] = []
    while (ids.length < count) {
      ids.push(await sessionIn(given.server, given.agent, 'RUNNING'))
      await failWith(given.server, given.agent, 1)
    }
    return ids.toSorted()
  }

  const remove = (...ids: string[]) => given.sql('DELETE FROM sessions WHERE chain_id = ANY($1)', [ids])

  async function remembered(): Promise<unknown[]> {
    return (await given.sql('SELECT chain_id FROM chain_directories ORDER BY chain_id')).map((row) => row['chain_id'])
  }

  test('a chain is dropped where it ran, was known to have a directory, and has been removed since', async () => {
    const [removed, unreported, kept] = (await endedChains(3)) as [string, string, string]
    expect(await report(given.agent, [removed, kept])).toEqual([])
    await remove(removed, unreported)
    // Restored from a dump, or another database: what is not there may be there again.
    expect(await report(given.agent, [removed, unreported, kept, uuidv7()])).toEqual([removed])
    expect(await report(given.agent, [removed, unreported, kept])).toEqual([removed])
    expect(await report(given.agent, [kept])).toEqual([])
    expect(await remembered()).toEqual([kept])
  })

  test('an agent learns nothing of chains that ran elsewhere', async () => {
    const [chain] = (await endedChains(1)) as [string]
    const other = fakeAgent(given.server.gateway)
    await other.register()
    const answers = [await report(other, [chain])]
    await remove(chain)
    answers.push(await report(other, [chain]))
    expect(answers).toEqual([[], []])
    expect(await remembered()).toEqual([])
  })

  test('a partial report leaves the other chains alone', async () => {
    const [a, b, c, d] = (await endedChains(4)) as [string, string, string, string]
    await report(given.agent, [a, b, c, d])
    await report(given.agent, [], { after: a, upTo: c })
    expect(await remembered()).toEqual([a, d])
    await report(given.agent, [], { upTo: a })
    expect(await remembered()).toEqual([d])
  })

  test.each([
    ['no ids', ['../..']],
    ['too many', Array.from({ length: REPORTED_CHAINS_MAX + 1 }, () => uuidv7())],
  ])('%s are refused', async (_, chainIds) => {
    await expect(report(given.agent, chainIds)).rejects.toMatchObject({ code: 'VALIDATION_FAILED' })
  })
})
