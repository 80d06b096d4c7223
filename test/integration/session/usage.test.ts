/** The usage of kernels: as agents report it, and as clients read it. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it, test } from 'vitest'
import type { KernelUsage } from '../../../src/domain/agent/kernel-report.ts'
import { fakeAgent } from '../../support/agents/fake-agent.ts'
import { recordStatements } from '../../support/database/record-statements.ts'
import { kernelRows } from '../../support/database/session-rows.ts'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'
import { metricValue } from '../../support/servers/metric-value.ts'
import { useScheduling } from '../../support/sessions/scheduling-fixture.ts'

describe('usage that agents report', () => {
  const given = useScheduling()

  async function usageOf(sessionId: string) {
    const rows = await given.sql(
      `SELECT peak_memory_bytes AS "peakMemoryBytes", cpu_seconds AS "cpuSeconds", wall_seconds AS "wallSeconds",
       usage_source AS source FROM kernels WHERE session_id = $1`,
      [sessionId],
    )
    return rows[0]
  }

  /** Starts a session and returns its ids. */
  async function runs() {
    const { server, agent } = given
    const sessionId = await server.create({})
    for (let rounds = 0; rounds < 4; rounds++) {
      await server.settle()
      await agent.comply()
    }
    await server.settle()
    const [kernel] = await kernelRows(given.db, sessionId)
    expect(kernel!.status).toBe('RUNNING')
    return { sessionId, kernelId: kernel!.id }
  }

  const USAGE: KernelUsage = { peakMemoryBytes: 104_857_600, cpuSeconds: 0.5, wallSeconds: 0, source: 'CGROUP' }
  const NOTHING = { peakMemoryBytes: null, cpuSeconds: null, wallSeconds: null, source: null }

  it('is kept with the end, once, and counted by outcome', async () => {
    const { server, agent } = given
    const value = (name: string) => metricValue(server.metrics.registry, name)
    const { sessionId, kernelId } = await runs()
    agent.observe(kernelId, { usage: USAGE })
    await agent.sync()
    expect(await usageOf(sessionId)).toEqual(NOTHING)
    agent.observe(kernelId, { status: 'EXITED', exitCode: 3 })
    await agent.sync()
    agent.observe(kernelId, { status: 'EXITED', exitCode: 3, startedAt: 'then', usage: { ...USAGE, cpuSeconds: 9 } })
    await agent.sync()
    expect(await usageOf(sessionId)).toEqual(USAGE)
    expect(await value('bai_kernel_cpu_seconds_total{outcome="failed"}')).toBe(0.5)
    const well = await runs()
    agent.observe(well.kernelId, { status: 'EXITED', exitCode: 0, usage: { ...USAGE, cpuSeconds: 0.25 } })
    await agent.sync()
    expect(await value('bai_kernel_cpu_seconds_total{outcome="succeeded"}')).toBe(0.25)
    expect(await value('bai_kernel_run_seconds_total{outcome="succeeded"}')).toBe(0)
  })

  it.each([
    ['nothing, as an older agent', undefined, NOTHING],
    ['no object', 'much', NOTHING],
    ['more than there is', { peakMemoryBytes: 1e300, cpuSeconds: 1e300, wallSeconds: Infinity }, NOTHING],
    ['less than nothing', { peakMemoryBytes: -1, cpuSeconds: -1e-9, wallSeconds: Number.NaN }, NOTHING],
    ['half a byte', { peakMemoryBytes: 1.5 }, { ...NOTHING, peakMemoryBytes: 2, source: 'PROCESSES' }],
    ['a source of its own', { ...USAGE, source: 'OATH' }, { ...USAGE, source: 'PROCESSES' }],
  ])('an agent that reports %s', async (_what, usage, expected) => {
    const { server, agent, db } = given
    const { sessionId, kernelId } = await runs()
    agent.observe(kernelId, { status: 'EXITED', exitCode: 0, usage: usage as KernelUsage })
    await agent.sync()
    await server.settle()
    expect(await usageOf(sessionId)).toEqual(expected)
    expect(await kernelRows(db, sessionId)).toMatchObject([{ status: 'TERMINATED', exitCode: 0 }])
  })

  it('no kernel ran for longer than it has been there', async () => {
    const { agent, sql } = given
    const { sessionId, kernelId } = await runs()
    await sql(`UPDATE kernels SET created_at = now() - interval '100 s'`)
    agent.observe(kernelId, { status: 'EXITED', exitCode: 0, usage: { ...USAGE, wallSeconds: 1e8 } })
    await agent.sync()
    const wall = (await usageOf(sessionId))!['wallSeconds'] as number
    expect(wall).toBeGreaterThanOrEqual(100)
    expect(wall).toBeLessThan(10_000)
  })

  it('another agent has no word in it', async () => {
    const { agent, server } = given
    const other = fakeAgent(server.gateway)
    await other.register()
    const { sessionId, kernelId } = await runs()
    const { assignment } = agent.kernels.get(kernelId)!
    other.kernels.set(kernelId, {
      ...agent.kernels.get(kernelId)!,
      assignment,
      status: 'EXITED',
      exitCode: 0,
      usage: USAGE,
    })
    await other.sync()
    expect(await usageOf(sessionId)).toEqual(NOTHING)
  })
})

describe('usage that clients read', () => {
  let server: TestServer

  beforeAll(async () => {
    server = await startGraphQLServer()
  })
  afterAll(() => server?.close())
  beforeEach(() => server.db.query('TRUNCATE sessions CASCADE'))

  type Figures = [
    peakMemoryBytes: number | null,
    cpuSeconds: number | null,
    wallSeconds: number | null,
    source: string | null,
  ]

  /** Ended, with kernels that used this. */
  async function session(status: 'TERMINATED' | 'ERROR', exitCode: number, ...kernels: Figures[]): Promise<string> {
    const { id } = await server.factory.session({ status })
    await server.db.query('UPDATE sessions SET exit_code = $2 WHERE id = $1', [id, exitCode])
    await server.db.query('DELETE FROM kernels WHERE session_id = $1', [id])
    for (const [index, figures] of kernels.entries()) {
      await server.db.query(
        `INSERT INTO kernels (id, session_id, role, index, status, exit_code, resource_slots, peak_memory_bytes, cpu_seconds,
         wall_seconds, usage_source) VALUES ($1, $2, $3, $4, 'TERMINATED', $5, '{}', $6, $7, $8, $9)`,
        [randomUUID(), id, index === 0 ? 'main' : 'sub', Math.max(1, index), exitCode, ...figures],
      )
    }
    return id
  }

  const USAGE = 'usage { peakMemoryBytes cpuSeconds wallSeconds source }'

  async function read(id: string) {
    const { data, errors } = await server.query(
      `query ($id: UUID!) { session(id: $id) { ${USAGE} exitSignal { name number } kernels { ${USAGE} exitSignal { name } } } }`,
      { id },
    )
    expect(errors).toBeUndefined()
    const rest = await fetch(`${server.url}/v2/sessions/${id}`, {
      headers: { authorization: `Bearer ${server.adminToken}` },
    })
    return { ...data.session, rest: (await rest.json()) as { usage: unknown; exit_signal: unknown } }
  }

  test('of a session: the largest kernel, the CPU time of all, the longest', async () => {
    const id = await session(
      'ERROR',
      137,
      [3_000_000_000, 1.5, 4, 'CGROUP'],
      [5, 2.5, 9, 'PROCESSES'],
      [null, null, null, null],
    )
    const usage = { peakMemoryBytes: 3_000_000_000, cpuSeconds: 4, wallSeconds: 9, source: 'PROCESSES' }
    const { kernels, rest, ...whole } = await read(id)
    expect(whole).toEqual({ usage, exitSignal: { name: 'SIGKILL', number: 9 } })
    expect(kernels).toEqual([
      {
        usage: { peakMemoryBytes: 3_000_000_000, cpuSeconds: 1.5, wallSeconds: 4, source: 'CGROUP' },
        exitSignal: { name: 'SIGKILL' },
      },
      {
        usage: { peakMemoryBytes: 5, cpuSeconds: 2.5, wallSeconds: 9, source: 'PROCESSES' },
        exitSignal: { name: 'SIGKILL' },
      },
      { usage: null, exitSignal: { name: 'SIGKILL' } },
    ])
    expect(rest.usage).toEqual({
      peak_memory_bytes: 3_000_000_000,
      cpu_seconds: 4,
      wall_seconds: 9,
      source: 'PROCESSES',
    })
    expect(rest.exit_signal).toEqual({ name: 'SIGKILL', number: 9 })
  })

  test('is null for one that never ran, or whose kernels report nothing', async () => {
    const nothing = { usage: null, exitSignal: null }
    for (const id of [await session('ERROR', 1), await session('ERROR', 1, [null, null, null, null])]) {
      expect(await read(id)).toMatchObject({ ...nothing, rest: { usage: null, exit_signal: null } })
    }
  })

  test('one statement, however many sessions', async () => {
    const statements = async () => {
      const { statements: sent } = await recordStatements(async () => {
        const { errors } = await server.query(`{ sessions(first: 50) { edges { node { ${USAGE} } } } }`)
        expect(errors).toBeUndefined()
      })
      return sent.filter((text) => text.includes('usage_source')).length
    }
    await session('ERROR', 1, [1, 1, 1, 'CGROUP'])
    expect(await statements()).toBe(1)
    for (let n = 0; n < 20; n++) await session('ERROR', 1, [1, 1, 1, 'CGROUP'])
    expect(await statements()).toBe(1)
  })

  test('statistics add it up by result', async () => {
    await session('TERMINATED', 0, [10, 1, 2, 'CGROUP'], [20, 1, 3, 'CGROUP'])
    await session('TERMINATED', 0, [30, 0.5, 1, 'CGROUP'])
    await session('ERROR', 1, [40, 7, 8, 'PROCESSES'])
    await session('ERROR', 1, [null, null, null, null])
    await server.db.query(`UPDATE sessions SET terminated_at = now() - interval '1 minute'`)
    const ask = async (filter: string) => {
      const fields = 'usage { result sessions peakMemoryBytes cpuSeconds wallSeconds }'
      const { data, errors } = await server.query(`{ sessionStatistics${filter} { ${fields} } }`)
      expect(errors).toBeUndefined()
      return data.sessionStatistics.usage
    }
    expect(await ask('')).toEqual([
      { result: 'SUCCESS', sessions: 2, peakMemoryBytes: 30, cpuSeconds: 2.5, wallSeconds: 4 },
      { result: 'FAILURE', sessions: 1, peakMemoryBytes: 40, cpuSeconds: 7, wallSeconds: 8 },
    ])
    expect(await ask('(name: "no such")')).toEqual([])
  })
})
