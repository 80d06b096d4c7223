/** The largest log, read by many at once: what the server holds of it does not grow with its size, nor with slow readers. */
import { createHash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readAdminToken, startServer, type ServerProcess } from '../../src/cli/demo/server-process.ts'
import { LOG_BYTES_PER_KERNEL_MAX } from '../../src/domain/limits.ts'
import { testDatabase, type TestDatabase } from '../support/database/database.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'
import { createFactories } from '../support/sessions/factories.ts'

const LINE_BYTES = 64
const PIECE_LINES = 16
const PIECES = LOG_BYTES_PER_KERNEL_MAX / LINE_BYTES / PIECE_LINES
/** A token may have 16 requests in progress. */
const TOKENS = 2
const READERS_PER_TOKEN = 12
/** If each reader's log were in memory once. */
const ALL_LOGS_BYTES = TOKENS * READERS_PER_TOKEN * LOG_BYTES_PER_KERNEL_MAX

let database: TestDatabase
let server: ServerProcess
let admin: string
let tokens: string[]
let kernelId: string

beforeAll(async () => {
  database = await testDatabase()
  const { session, token } = createFactories(database.db)
  kernelId = (await session({ status: 'RUNNING' })).kernelIds[0]!
  await database.db.query(
    `INSERT INTO kernel_logs (kernel_id, assignment, stream, "offset", bytes, text, at)
     SELECT $1, 1, 'STDOUT', (piece - 1) * $2::int * $3::int, $2::int * $3::int,
       (SELECT string_agg(lpad((piece * $3::int + line)::text, $2::int - 1, 'é0') || E'\\n', '' ORDER BY line)
        FROM generate_series(1, $3::int) AS line), now()
     FROM generate_series(1, $4::int) AS piece`,
    [kernelId, LINE_BYTES, PIECE_LINES, PIECES],
  )
  const dataDir = await temporaryDirectory('large-logs')
  const env = { REPRISE_DATABASE_URL: database.connectionString, REPRISE_ROLES: 'api' }
  server = await startServer({ dataDir, port: 0, onLog: () => {}, env })
  admin = await readAdminToken(dataDir)
  tokens = await Promise.all(Array.from({ length: TOKENS }, () => token({ role: 'ADMIN' })))
})
afterAll(async () => {
  await server?.stop()
  await database?.close()
})

const open = (token: string, headers: Record<string, string> = {}, signal?: AbortSignal) =>
  fetch(`${server.url}/v2/kernels/${kernelId}/log`, {
    headers: { authorization: `Bearer ${token}`, ...headers },
    signal: signal ?? null,
  })

async function digestOf(response: Response): Promise<string> {
  const hash = createHash('sha256')
  for await (const part of response.body!) hash.update(part)
  return hash.digest('hex')
}

async function memory(name: 'VmRSS' | 'VmHWM'): Promise<number> {
  const status = await readFile(`/proc/${server.pid}/status`, 'utf8')
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)![1]) * 1_024
}

/** The most memory that the server has had while this was done, beyond what it had before. */
async function growthWhile(work: () => Promise<void>): Promise<number> {
  const before = await memory('VmRSS')
  // Begins to look for the most anew.
  await writeFile(`/proc/${server.pid}/clear_refs`, '5')
  await work()
  return (await memory('VmHWM')) - before
}

const readers = <Result>(read: (token: string) => Promise<Result>) =>
  Promise.all(tokens.flatMap((token) => Array.from({ length: READERS_PER_TOKEN }, () => read(token))))

test('by readers that are fast, compressed or not', async () => {
  const expected = await digestOf(await open(admin))
  const growth = await growthWhile(async () => {
    let n = 0
    const digests = await readers(async (token) =>
      digestOf(await open(token, { 'accept-encoding': n++ % 2 === 0 ? 'identity' : 'gzip' })),
    )
    expect(new Set(digests)).toEqual(new Set([expected]))
  })
  expect(growth).toBeLessThan(ALL_LOGS_BYTES / 2)
})

test('by readers that take the beginning and then wait', async () => {
  await digestOf(await open(admin))
  const leave = new AbortController()
  const growth = await growthWhile(async () => {
    const bodies = await readers(async (token) => {
      const { body } = await open(token, { 'accept-encoding': 'identity' }, leave.signal)
      const reader = body!.getReader()
      expect((await reader.read()).value!.length).toBeGreaterThan(0)
      return reader
    })
    // What another is told meanwhile is read whole: those that wait hold up nobody.
    await digestOf(await open(admin))
    leave.abort()
    await Promise.allSettled(bodies.map((reader) => reader.cancel()))
  })
  expect(growth).toBeLessThan(ALL_LOGS_BYTES / 4)
})
