/** What attempts used, as clients read it. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { recordStatements } from '../../support/database/record-statements.ts'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'

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
  expect(rest.usage).toEqual({ peak_memory_bytes: 3_000_000_000, cpu_seconds: 4, wall_seconds: 9, source: 'PROCESSES' })
  expect(rest.exit_signal).toEqual({ name: 'SIGKILL', number: 9 })
})

test('of one that never ran, or whose kernels tell nothing: none', async () => {
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
