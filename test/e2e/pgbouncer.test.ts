import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { createClient } from '../../src/client/node/index.ts'
import { heapFlags, readAdminToken, startServer, type ServerProcess } from '../../src/cli/demo/server-process.ts'
import { cleanEnvironment, commandLine, MAIN } from '../support/programs/command-line.ts'
import { emptyDatabase } from '../support/database/database.ts'
import { whyNotInstalled } from '../support/distribution.ts'
import { privatePgbouncer } from '../support/database/private-pgbouncer.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'

/** A real PgBouncer between real servers and their database, with few connections to share. */

const missing = whyNotInstalled('pgbouncer')
/** Many more than the pooler has connections: each is used by all in turn. */
const AT_ONCE = 60
const CONNECTIONS_MAX = 6

let root: string
let database: Awaited<ReturnType<typeof emptyDatabase>>
let made = 0
const servers: ServerProcess[] = []

beforeAll(async () => {
  root = await temporaryDirectory('pgbouncer')
  database = await emptyDatabase()
  await writeFile(join(root, 'secrets-key'), randomBytes(32).toString('base64'), { mode: 0o600 })
})
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()))
})
afterAll(() => database.drop())

function pooler(mode: 'session' | 'transaction', connectionsMax = CONNECTIONS_MAX) {
  const directory = join(root, `pooler-${made++}`)
  return privatePgbouncer({ directory, connectionString: database.connectionString, mode, connectionsMax })
}

async function run(environment: Record<string, string>) {
  const env = cleanEnvironment({ REPRISE_PORT: '0', REPRISE_DATA_DIR: join(root, `data-${made++}`), ...environment })
  const child = spawn(process.execPath, [...heapFlags(), MAIN, 'serve'], { env, stdio: ['ignore', 'ignore', 'pipe'] })
  const log: Buffer[] = []
  child.stderr.on('data', (chunk: Buffer) => log.push(chunk))
  const [status] = (await once(child, 'close')) as [number | null]
  return { status, log: Buffer.concat(log).toString() }
}

/** In the directory that has the admin token of the database. */
async function startWith(environment: Record<string, string>) {
  const dataDir = join(root, 'data')
  const log: string[] = []
  const env = {
    REPRISE_EXECUTOR: 'noop',
    REPRISE_DATABASE_CONNECTIONS: '10',
    REPRISE_SECRETS_KEY_FILE: join(root, 'secrets-key'),
    ...environment,
  }
  const server = await startServer({ dataDir, port: 0, onLog: (line) => log.push(line), env })
  servers.push(server)
  return { url: server.url, token: await readAdminToken(dataDir), log }
}

/** Statements of every kind at once: each gets its own answer, and sessions run to their ends. */
async function useIt({ url, token, log }: { url: string; token: string; log: readonly string[] }): Promise<void> {
  // On a busy machine a request may be told to come again, which is not what this is about.
  await using client = createClient({ url, token, retry: { http: { total: 50 } } })
  const after = await client.eventCursor()
  const created = await Promise.all(
    Array.from({ length: AT_ONCE }, async (_, n) => {
      const { session } = await client.createSession({
        name: `pooled-${n}`,
        command: ['true'],
        environ: [{ name: 'N', value: `${n}` }],
      })
      return { n, sessionId: session.sessionId }
    }),
  )
  const read = created.flatMap(({ n, sessionId }) => [
    client.session(sessionId).then(({ name }) => expect(name).toBe(`pooled-${n}`)),
    client
      .request<{ sessions: { totalCount: number; edges: { node: { sessionId: string } }[] } }>(
        'query ($name: String!) { sessions(filter: { name: { equals: $name } }) { totalCount edges { node { sessionId } } } }',
        { name: `pooled-${n}` },
      )
      .then(({ sessions }) => expect(sessions.edges.map(({ node }) => node.sessionId)).toContain(sessionId)),
    client.request('{ agents { edges { node { name status slots { slot } } } } }'),
    client.chains().next(),
  ])
  await Promise.all(read)
  // Wake-ups between servers and followed events need LISTEN and the outbox.
  const ended = new Set<string>()
  for await (const event of client.sessionEvents(
    { types: ['TERMINATED'] },
    { after, signal: AbortSignal.timeout(120_000) },
  )) {
    ended.add(event.sessionId)
    if (created.every(({ sessionId }) => ended.has(sessionId))) break
  }
  expect(log.filter((line) => /prepared statement|bind message|no_active_sql/i.test(line))).toEqual([])
}

/** Connections of this server that listen; PgBouncer's own have no such name. */
async function listening(): Promise<number> {
  const client = new pg.Client({ connectionString: database.connectionString })
  await client.connect()
  try {
    const sql = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'reprise-listen'`
    return (await client.query(sql)).rowCount ?? 0
  } finally {
    await client.end()
  }
}

async function doctor({ url, token }: { url: string; token: string }): Promise<string> {
  const { stdout } = await commandLine({ REPRISE_URL: url, REPRISE_TOKEN: token })('doctor', '--json')
  return stdout
}

describe.skipIf(missing)(`PgBouncer${missing ? `: ${missing}` : ''}`, () => {
  test('in transaction mode, with the database itself beside it', async () => {
    await using pooled = await pooler('transaction')
    const server = await startWith({
      REPRISE_DATABASE_URL: pooled.url,
      REPRISE_DATABASE_DIRECT_URL: database.connectionString,
    })
    await useIt(server)
    expect(await listening()).toBe(1)
    expect(await doctor(server)).toContain('through a pooler in transaction mode')
  })

  test('in transaction mode alone is refused with a sentence', async () => {
    await using pooled = await pooler('transaction')
    const { status, log } = await run({ REPRISE_DATABASE_URL: pooled.url })
    expect({ status, log }).toMatchObject({ status: 78, log: expect.stringContaining('pooler in transaction mode') })
    expect(log).toContain('REPRISE_DATABASE_DIRECT_URL')
    const twice = { REPRISE_DATABASE_URL: pooled.url, REPRISE_DATABASE_DIRECT_URL: `${pooled.url}&application_name=x` }
    expect(await run(twice)).toMatchObject({
      status: 78,
      log: expect.stringContaining('REPRISE_DATABASE_DIRECT_URL leads'),
    })
  })

  test('a direct URL of another database is refused', async () => {
    await using pooled = await pooler('transaction')
    const other = await emptyDatabase()
    const env = { REPRISE_DATABASE_URL: pooled.url, REPRISE_DATABASE_DIRECT_URL: other.connectionString }
    expect(await run(env)).toMatchObject({ status: 78, log: expect.stringContaining('must name the database of') })
    await other.drop()
  })

  test('in session mode, for everything', async () => {
    await using pooled = await pooler('session', 40)
    const server = await startWith({ REPRISE_DATABASE_URL: pooled.url })
    await useIt(server)
    expect(await doctor(server)).toContain('through a pooler in session mode')
  })
})
