import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { readAdminToken, type ServerProcess, startServer } from '../../src/cli/demo/server-process.ts'
import { createFactories } from '../support/sessions/factories.ts'
import { createClient } from '../../src/client/node/index.ts'
import { testDatabase, type TestDatabase } from '../support/database/database.ts'
import { threadTimeOf, watchEventLoop } from '../support/servers/event-loop-delay.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'
import { createHash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { LOG_BYTES_PER_KERNEL_MAX } from '../../src/domain/limits.ts'

describe('large answers', () => {
  /** The largest answers that a request may ask for: they keep nobody waiting, and have an end. */

  const ATTEMPTS = 100

  let database: TestDatabase
  let server: ServerProcess
  let token: string

  beforeAll(async () => {
    database = await testDatabase()
    await createFactories(database.db).chain(ATTEMPTS, { status: 'ERROR', phase: 'EXHAUSTED' })
    const dataDir = await temporaryDirectory('large-answers')
    const env = { REPRISE_DATABASE_URL: database.connectionString, REPRISE_ROLES: 'api' }
    server = await startServer({ dataDir, port: 0, onLog: () => {}, env })
    token = await readAdminToken(dataDir)
  })
  afterAll(async () => {
    await server?.stop()
    await database?.close()
  })

  async function ask(query: string) {
    const loop = watchEventLoop(server.url, threadTimeOf(server.pid))
    await loop.begin()
    const response = await fetch(`${server.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify({ query }),
    })
    const text = await response.text()
    await loop.stop()
    return { loop, text, answer: JSON.parse(text) }
  }

  /** Returns this number of fields of a session. */
  const fields = (count: number) => Array.from({ length: count }, (_, n) => `f${n}: statusReason`).join(' ')

  test('of a page of sessions with many fields', async () => {
    const { loop, answer } = await ask(`{ sessions(first: 100) { edges { node { ${fields(190)} } } } }`)
    expect(answer.data.sessions.edges).toHaveLength(ATTEMPTS)
    loop.expectFree()
  })

  test('of whole chains', async () => {
    const { loop, answer } = await ask(`{ sessions(first: 100) { edges { node { retryChain { ${fields(15)} } } } } }`)
    const lengths = answer.data.sessions.edges.map(({ node }: any) => node.retryChain.length)
    expect(lengths).toEqual(Array(ATTEMPTS).fill(ATTEMPTS))
    loop.expectFree()
  })

  test('with more fields than allowed are refused, whatever their price', async () => {
    const { loop, answer } = await ask(`{ sessions(first: 100) { edges { node { retryChain { ${fields(90)} } } } } }`)
    expect(answer.errors[0]).toMatchObject({
      message: expect.stringContaining('more than 200000 fields') as string,
      extensions: { code: 'VALIDATION_FAILED' },
    })
    loop.expectFree()
  })

  describe('of sessions with as many variables as they may have', () => {
    const VARIABLES = Array.from({ length: 8 }, (_, n) => ({ name: `V${n}`, value: 'x'.repeat(125_000) }))

    beforeAll(async () => {
      await using client = createClient({ url: server.url, token })
      const sessions = Array.from({ length: 100 }, (_, n) => ({
        name: `large-${n}`,
        command: ['true'],
        environ: VARIABLES,
      }))
      // As many as one request may bring.
      for (let from = 0; from < sessions.length; from += 7) await client.createSessions(sessions.slice(from, from + 7))
    })

    const page = (first: number) =>
      `{ sessions(first: ${first}, filter: { name: { startsWith: "large-" } }) { edges { node { environ { name value } } } } }`
    const TOO_LARGE = 'The answer is too large: more than 16 MiB. Ask for fewer items, or for less of each.'

    test('a page within the bound is answered', async () => {
      const { loop, answer } = await ask(page(15))
      expect(answer.data.sessions.edges).toHaveLength(15)
      expect(answer.data.sessions.edges[14].node.environ).toEqual(VARIABLES)
      loop.expectFree()
    })

    test.each([
      ['a page', page(100)],
      ['many pages', `{ ${Array.from({ length: 10 }, (_, n) => `p${n}: ${page(10).slice(1, -1)}`).join(' ')} }`],
    ])('%s beyond it is refused', async (_name, query) => {
      const { loop, answer } = await ask(query)
      expect(answer.errors[0]).toMatchObject({ message: TOO_LARGE, extensions: { code: 'VALIDATION_FAILED' } })
      loop.expectFree()
    })

    test('and so is one of REST', async () => {
      const loop = watchEventLoop(server.url, threadTimeOf(server.pid))
      await loop.begin()
      const response = await fetch(`${server.url}/v2/sessions?limit=100`, {
        headers: { authorization: `Bearer ${token}` },
      })
      expect(await response.json()).toMatchObject({ code: 'VALIDATION_FAILED', detail: TOO_LARGE })
      await loop.stop()
      loop.expectFree()
    })
  })
})

describe('large logs', () => {
  /** The largest log, read by many at once: what the server holds of it does not grow with its size, nor with slow readers. */

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
})

describe('cold server', () => {
  /** The first requests that a server gets: nothing that they run has been compiled. */

  let database: TestDatabase

  beforeAll(async () => {
    database = await testDatabase()
  })
  // Each server makes a key of its own.
  beforeEach(() => database.fresh())
  afterAll(() => database?.close())

  const CREATE = 'mutation ($i: CreateSessionsInput!) { createSessions(input: $i) { __typename } }'

  async function startCold(): Promise<{ server: ServerProcess; token: string }> {
    const dataDir = await temporaryDirectory('cold-server')
    const env = { REPRISE_DATABASE_URL: database.connectionString, REPRISE_ROLES: 'api' }
    const server = await startServer({ dataDir, port: 0, onLog: () => {}, env })
    return { server, token: await readAdminToken(dataDir) }
  }

  const sessions = (count: number, bytes: number, values: number) => ({
    sessions: Array.from({ length: count }, (_, n) => ({
      name: `cold-${n}`,
      command: ['true', ...Array<string>(values).fill('x')],
      environ: [{ name: 'A', value: 'x'.repeat(bytes) }],
    })),
  })

  test.each([
    ['bytes', sessions(1_000, 7_500, 0)],
    ['values', sessions(1_000, 0, 85)],
  ])('the first request may be the largest: %s', async (_what, i) => {
    const { server, token } = await startCold()
    const loop = watchEventLoop(server.url, threadTimeOf(server.pid))
    const body = JSON.stringify({ query: CREATE, variables: { i } })
    try {
      await loop.begin()
      const response = await fetch(`${server.url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
        body,
      })
      expect(await response.json()).toEqual({ data: { createSessions: { __typename: 'CreateSessionsPayload' } } })
      loop.expectFree()
    } finally {
      await loop.stop()
      await server.stop()
    }
  })
})
