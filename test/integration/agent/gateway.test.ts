/** Effects of the reports of agents on the server, and the orders that it returns. */
import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { LogPiece, RegisterRequest } from '../../../src/domain/agent/protocol.ts'
import { LOG_CHUNK_BYTES_MAX, OBSERVED_KERNELS_MAX } from '../../../src/domain/limits.ts'
import { sessionIn, sessionTriedAgain } from '../../support/sessions/drive-session.ts'
import { observed, fakeAgent, type Report } from '../../support/agents/fake-agent.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'
import { history, kernelRows, sessionRow, statuses } from '../../support/database/session-rows.ts'

const given = useScheduling()

const kernelOf = async (id: string) => (await kernelRows(given.db, id))[0]!

/** Everything that a lie could change. */
async function world(): Promise<unknown> {
  const tables = ['sessions', 'kernels', 'agent_slots', 'retry_decisions', 'session_events', 'kernel_logs']
  return Promise.all(tables.map((table) => given.sql(`SELECT * FROM ${table} t ORDER BY t`)))
}

describe('an order', () => {
  it('is repeated until the reports agree, and carries all that the agent needs', async () => {
    const { server, agent } = given
    const id = await sessionIn(server, agent, 'PREPARING', {
      command: ['sh', '-c', 'echo hi'],
      environ: [{ name: 'A', value: 'b' }],
      retryPolicy: { maxRetries: 2 },
    })
    const first = await agent.sync()
    expect(await agent.sync()).toEqual(first)
    expect(first.orders).toMatchObject([
      {
        want: 'PREPARE',
        assignment: 1,
        spec: { sessionId: id, role: 'main', index: 1, command: ['sh', '-c', 'echo hi'] },
      },
    ])
    const [order] = first.orders
    const environ = order?.want === 'PREPARE' ? order.spec.environ : []
    expect(Object.fromEntries(environ.map(({ name, value }) => [name, value]))).toEqual({
      A: 'b',
      REPRISE_KERNEL_NAME: 'main1',
      REPRISE_KERNEL_ROLE: 'main',
      REPRISE_KERNEL_INDEX: '1',
      REPRISE_CLUSTER_RANK: '0',
      REPRISE_CLUSTER_MODE: 'SINGLE_NODE',
      REPRISE_CLUSTER_SIZE: '1',
      REPRISE_CLUSTER_HOSTS: 'main1=',
      REPRISE_INDEX: '',
      REPRISE_LAST_PROGRESS: '',
      REPRISE_GROUP_SIZE: '',
      REPRISE_SESSION_ID: id,
      REPRISE_CHAIN_ID: id,
      REPRISE_ATTEMPT: '1',
      REPRISE_MAX_ATTEMPTS: '3',
      REPRISE_RETRY_COUNT: '0',
      REPRISE_RETRY_OF_BUDGET: '0 of 2',
      REPRISE_PARENT_SESSION_ID: '',
      REPRISE_RETRY_CAUSE: '',
    })
    agent.obey(first)
    expect((await agent.sync()).orders).toEqual([])
  })

  it('to start is repeated to an agent that lost its prepared kernel', async () => {
    const { server, agent } = given
    await sessionIn(server, agent, 'CREATING')
    agent.kernels.clear()
    expect((await agent.sync()).orders).toMatchObject([{ want: 'START' }])
  })
})

describe('a report that cannot be', () => {
  const lies: Record<string, (kernelId: string) => [string, number, Report]> = {
    'of a kernel that nobody knows': () => [randomUUID(), 1, { status: 'RUNNING', startedAt: 'now' }],
    'of an older assignment': (id) => [id, 0, { status: 'EXITED', exitCode: 0, startedAt: 'then' }],
    'of an assignment to come': (id) => [id, 2, { status: 'FAILED' }],
  }
  it.each(Object.entries(lies))('%s changes nothing, and the agent is ordered to forget it', async (_, lie) => {
    const { server, agent } = given
    const id = await sessionIn(server, agent, 'CREATING')
    const [kernelId, assignment, report] = lie((await kernelOf(id)).id)
    const before = await world()
    agent.kernels.set(kernelId, observed(kernelId, assignment, report))
    const { forget } = await agent.sync()
    expect(forget).toEqual([{ kernelId, assignment }])
    expect(await world()).toEqual(before)
  })

  it('from an agent that the kernel was not given to changes nothing', async () => {
    const { server, agent, db } = given
    const id = await sessionIn(server, agent, 'RUNNING')
    const liar = fakeAgent(server.gateway)
    await liar.register()
    liar.observe((await kernelOf(id)).id, { status: 'EXITED', exitCode: 0, startedAt: 'now' })
    const before = await world()
    expect((await liar.sync()).forget).toHaveLength(1)
    expect(await world()).toEqual(before)
    expect(await statuses(db, id)).toBe('RUNNING: RUNNING')
  })

  it.each([
    ['SCHEDULED', { status: 'RUNNING', startedAt: 'now' }],
    ['PREPARING', { status: 'RUNNING', startedAt: 'now' }],
    ['PREPARED', { status: 'PULLING' }],
    ['CREATING', { status: 'PULLING' }],
    ['RUNNING', { status: 'PREPARED' }],
    ['RUNNING', { status: 'PULLING' }],
  ] as const)('of a kernel recorded as %s that reports %o changes nothing', async (status, report) => {
    const { server, agent } = given
    const id = status === 'SCHEDULED' ? await sessionTriedAgain(server, agent) : await sessionIn(server, agent, status)
    const { id: kernelId, assignment } = await kernelOf(id)
    const before = await world()
    agent.kernels.set(kernelId, observed(kernelId, assignment, report))
    await agent.sync()
    expect(await world()).toEqual(before)
  })

  it('of success before the order to start is no success', async () => {
    const { server, agent, db } = given
    const id = await sessionIn(server, agent, 'PREPARED')
    agent.observe((await kernelOf(id)).id, { status: 'EXITED', exitCode: 0, startedAt: 'now' })
    await agent.sync()
    expect(await kernelOf(id)).toMatchObject({ status: 'PREPARED', error: 'kernel-vanished', exitCode: null })
    await server.run('start-sessions', 'promote-to-running', 'detect-termination')
    expect((await sessionRow(db, id)).status).toBe('PREPARED')
  })

  it.each([{ status: 'FAILED' }, { status: 'EXITED', exitCode: null, startedAt: null }] as const)(
    'of a running kernel, %o, is an end all the same: nothing of it runs',
    async (report) => {
      const { server, agent } = given
      const id = await sessionIn(server, agent, 'RUNNING')
      agent.observe((await kernelOf(id)).id, report)
      await agent.sync()
      expect(await kernelOf(id)).toMatchObject({ status: 'ERROR', error: 'kernel-vanished', gone: true, held: false })
    },
  )
})

describe('a kernel that has ended', () => {
  it('keeps its end, and a late report is recorded as stale once', async () => {
    const { server, agent, db } = given
    const id = await sessionIn(server, agent, 'RUNNING')
    const { id: kernelId } = await kernelOf(id)
    agent.exitAll(3)
    expect((await agent.sync()).forget).toEqual([{ kernelId, assignment: 1 }])
    await server.run('detect-termination', 'promote-to-terminated')
    const before = await world()
    const late: Report[] = [
      { status: 'EXITED', exitCode: 3 },
      { status: 'RUNNING' },
      { status: 'EXITED', exitCode: 0 },
      { status: 'FAILED' },
    ]
    for (const report of late) {
      agent.observe(kernelId, { startedAt: 'now', ...report })
      expect((await agent.sync()).forget).toEqual([{ kernelId, assignment: 1 }])
    }
    expect(await world()).toEqual(before)
    expect(await history(db, kernelId)).toEqual(['agent-sync → SKIPPED ×1'])
  })

  it('keeps its exit code beyond 31 bits, as the same 32 bits', async () => {
    const { server, agent } = given
    const id = await sessionIn(server, agent, 'RUNNING')
    agent.exitAll(0xc0000005)
    await agent.sync()
    expect(await kernelOf(id)).toMatchObject({ status: 'ERROR', exitCode: 0xc0000005 | 0 })
  })

  it('may have an error text that a database column cannot hold', async () => {
    const { server, agent, db } = given
    const id = await sessionIn(server, agent, 'RUNNING')
    const error = { name: 'executor-failed', message: 'bytes \0 and half a pair \ud800' }
    agent.observe((await kernelOf(id)).id, { status: 'EXITED', exitCode: 1, error })
    await agent.sync()
    await server.run('detect-termination')
    expect((await sessionRow(db, id)).reason).toBe('bytes � and half a pair �')
  })
})

describe('who may speak', () => {
  it('an unknown agent is asked to register', async () => {
    const stranger = fakeAgent(given.server.gateway)
    await expect(stranger.sync()).rejects.toMatchObject({ code: 'AGENT_UNKNOWN' })
  })

  it('the last process that registered under an id supersedes those before', async () => {
    const { server, agent, db } = given
    const id = await sessionIn(server, agent, 'RUNNING')
    const successor = fakeAgent(server.gateway, { id: agent.id, slots: { cpu: '64' } })
    await successor.register()
    agent.exitAll(1)
    await expect(agent.sync()).rejects.toMatchObject({ code: 'AGENT_SUPERSEDED' })
    expect(await statuses(db, id)).toBe('RUNNING: RUNNING')
    successor.observe((await kernelOf(id)).id, { status: 'RUNNING', startedAt: 'now' })
    expect(await successor.sync()).toEqual({ orders: [], forget: [] })
    expect(await statuses(db, id)).toBe('RUNNING: RUNNING')
  })

  it('an earlier report is not applied after a later one', async () => {
    const { server, agent, db, sql } = given
    const id = await sessionIn(server, agent, 'RUNNING')
    const [row] = await sql('SELECT instance_id AS "instanceId" FROM agents WHERE id = $1', [agent.id])
    const late = {
      agentId: agent.id,
      instanceId: String(row!['instanceId']),
      sequence: 1,
      observed: [],
      logs: [],
      waitMs: 0,
    }
    const { signal } = new AbortController()
    expect(await server.gateway.sync(late, signal)).toEqual({ orders: [], forget: [] })
    expect(await statuses(db, id)).toBe('RUNNING: RUNNING')
    // The same from a sync that is not late: the kernel has vanished.
    await server.gateway.sync({ ...late, sequence: 1_000 }, signal)
    expect(await statuses(db, id)).toBe('RUNNING: ERROR')
  })

  it('an agent that cannot be stored is refused in words', async () => {
    const { server } = given
    const request: RegisterRequest = {
      agentId: randomUUID(),
      instanceId: randomUUID(),
      name: 'other',
      resourceGroup: 'default',
      address: '',
      version: '',
      slots: {},
      labels: {},
    }
    const { signal } = new AbortController()
    const faults: Partial<RegisterRequest>[] = [
      { name: 'a\0b' },
      { labels: { 'a\0': 'b' } },
      { address: '\ud800' },
      { slots: { cpu: '1e9' } },
      { slots: { cpu: '-1' } },
      { slots: { '\0': '1' } },
      { agentId: 'me' },
    ]
    for (const fault of faults) {
      const registering = server.gateway.register({ ...request, ...fault }, signal)
      await expect(registering, JSON.stringify(fault)).rejects.toMatchObject({ code: 'VALIDATION_FAILED' })
    }
    await expect(server.gateway.register({ ...request, resourceGroup: 'none' }, signal)).rejects.toMatchObject({
      code: 'RESOURCE_GROUP_NOT_FOUND',
    })
  })

  it('an invalid report is refused as a whole, with a message', async () => {
    const { server, agent } = given
    const id = await sessionIn(server, agent, 'CREATING')
    const before = await world()
    const { id: kernelId } = await kernelOf(id)
    const good = observed(kernelId, 1, { status: 'RUNNING', startedAt: 'now' })
    const log = { kernelId, stream: 'STDOUT', offset: 0, bytes: 1, text: 'a', at: '2026-11-21T00:00:00.000Z' }
    const faults: Record<string, unknown>[] = [
      { observed: [{ ...good, status: 'DONE' }] },
      { observed: [{ ...good, kernelId: 'main1' }] },
      { observed: [good, { ...good, assignment: 2 ** 31 }] },
      { observed: [{ ...good, exitCode: 1e300 }] },
      { observed: Array.from({ length: OBSERVED_KERNELS_MAX + 1 }, () => good) },
      { observed: 'all is well' },
      { logs: [{ ...log, text: 'a\0' }] },
      { logs: [{ ...log, text: '\ud800' }] },
      { logs: [{ ...log, offset: -1 }] },
      { logs: [{ ...log, offset: 1e300 }] },
      { logs: [{ ...log, bytes: LOG_CHUNK_BYTES_MAX + 1 }] },
      {
        logs: Array.from({ length: 65 }, (_, n) => ({
          ...log,
          offset: n * LOG_CHUNK_BYTES_MAX,
          bytes: LOG_CHUNK_BYTES_MAX,
        })),
      },
      { waitMs: Number.NaN },
    ]
    for (const fault of faults) {
      const request = {
        agentId: agent.id,
        instanceId: randomUUID(),
        sequence: 1,
        observed: [good],
        logs: [],
        waitMs: 0,
        ...fault,
      }
      const syncing = server.gateway.sync(request, new AbortController().signal)
      await expect(syncing, JSON.stringify(fault).slice(0, 200)).rejects.toMatchObject({ code: 'VALIDATION_FAILED' })
    }
    expect(await world()).toEqual(before)
  })
})

describe('logs', () => {
  it("are stored once by offset, only from the kernel's own agent, and shipping continues where it stopped", async () => {
    const { server, agent, sql } = given
    const id = await sessionIn(server, agent, 'RUNNING')
    const { id: kernelId } = await kernelOf(id)
    const piece = (offset: number, text: string): LogPiece => ({
      kernelId,
      assignment: 1,
      stream: 'STDOUT',
      offset,
      bytes: text.length,
      text,
      at: '2026-11-21T00:00:00.000Z',
    })
    await agent.sync([piece(0, 'one '), piece(4, 'two ')])
    await agent.sync([piece(0, 'one '), piece(4, 'two '), piece(8, 'three')])
    const liar = fakeAgent(server.gateway)
    await liar.register()
    await liar.sync([piece(13, 'lies')])
    const [row] = await sql(`SELECT string_agg(text, '' ORDER BY "offset") AS text FROM kernel_logs`)
    expect(row!['text']).toBe('one two three')
    expect((await agent.register()).logOffsets).toEqual([{ kernelId, assignment: 1, stream: 'STDOUT', offset: 13 }])
  })
})
