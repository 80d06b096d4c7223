import { execFile } from 'node:child_process'
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readAdminToken, startServer, type ServerProcess } from '../../src/cli/demo/server-process.ts'
import { createClient, type Client } from '../../src/client/node/index.ts'
import { openDatabase, type Database } from '../../src/store/database.ts'
import { cleanEnvironment, MAIN, startCommand } from '../support/programs/command-line.ts'
import { blocksOfTest } from '../support/document-blocks.ts'
import { emptyDatabase } from '../support/database/database.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'

/** Secrets from the command line to the kernels of each attempt, and the key that servers share. */

const SECRET = 'open-sesame-4711'

let database: Awaited<ReturnType<typeof emptyDatabase>>
let root: string
let server: ServerProcess
let client: Client
let db: Database
const log: string[] = []

const serve = (name: string, env: Record<string, string> = {}) =>
  startServer({
    dataDir: join(root, name),
    port: 0,
    onLog: (line) => log.push(line),
    env: { REPRISE_DATABASE_URL: database.connectionString, REPRISE_LOG_LEVEL: 'trace', ...env },
  })

beforeAll(async () => {
  database = await emptyDatabase()
  root = await temporaryDirectory('secrets')
  server = await serve('first')
  db = openDatabase({ connectionString: database.connectionString, connectionsMax: 2, onError: () => {} })
  client = createClient({ url: server.url, token: await readAdminToken(join(root, 'first')) })
})
afterAll(async () => {
  await client?.close()
  await server?.stop()
  await db?.close()
  await database?.drop()
})

const reprise = (args: string[], options: { environment?: Record<string, string>; input?: string } = {}) =>
  startCommand(
    args,
    { REPRISE_URL: server.url, REPRISE_DATA_DIR: join(root, 'first'), ...options.environment },
    options.input,
  ).ended

test('a secret reaches the kernels of every attempt, and nothing else', async () => {
  const program = `[ "$TOKEN" = ${SECRET.slice(0, 5)}"${SECRET.slice(5)}" ] && [ "$FILE" = ${SECRET.slice(0, 5)}"-file" ] && [ $REPRISE_ATTEMPT = 2 ]`
  const created = await reprise(
    [
      'create',
      '--retries',
      '1',
      '--retry-delay',
      '0.1',
      '--secret',
      'TOKEN',
      '--secret-file',
      'FILE=-',
      '--',
      'sh',
      '-c',
      program,
    ],
    { environment: { TOKEN: SECRET }, input: `${SECRET.slice(0, 5)}-file\n` },
  )
  expect(created).toMatchObject({ status: 0, stderr: '' })
  const sessionId = created.stdout.trim()
  expect(await client.waitForChain(sessionId)).toMatchObject({
    outcome: 'SUCCEEDED',
    attempts: [{ attempt: 1 }, { attempt: 2 }],
  })
  expect((await reprise(['info', sessionId])).stdout).toMatch(/secrets +TOKEN, FILE/)
  expect(JSON.stringify(await client.session(sessionId))).not.toContain(SECRET)
  expect(log.join('\n')).not.toContain(SECRET)
  const { rows: tables } = await db.query<{ name: string }>(
    `SELECT format('%I', tablename) AS name FROM pg_tables WHERE schemaname = 'public'`,
  )
  expect(tables.length).toBeGreaterThan(25)
  for (const { name } of tables) {
    const { rows } = await db.query(`SELECT FROM ${name} AS r WHERE r::text LIKE $1`, [`%${SECRET}%`])
    expect([name, rows.length]).toEqual([name, 0])
  }
})

test('the example of the documentation works', async () => {
  const [block, ...more] = await blocksOfTest('test/e2e/secrets.test.ts')
  expect(more).toEqual([])
  const npx = `npx() { shift; ${process.execPath} ${MAIN} "$@"; }`
  const environment = { REPRISE_URL: server.url, REPRISE_DATA_DIR: join(root, 'first') }
  const { stderr } = await promisify(execFile)('bash', ['-ec', `${npx}\n${block!.text}`], {
    env: cleanEnvironment(environment),
  })
  expect(stderr).toMatch(/succeeded/i)
})

test('the command line takes no value from its arguments', async () => {
  const { status, stderr } = await reprise(['create', '--secret', `TOKEN=${SECRET}`, '--', 'true'])
  expect(status).toBe(2)
  expect(stderr).toContain('export TOKEN and use --secret TOKEN')
})

test('the first start makes a key that only its owner reads', async () => {
  const path = join(root, 'first', 'secrets-key')
  expect((await stat(path)).mode & 0o777).toBe(0o600)
  expect(Buffer.from(await readFile(path, 'utf8'), 'base64')).toHaveLength(32)
  expect((await readdir(join(root, 'first'))).filter((name) => name.startsWith('secrets-key'))).toEqual(['secrets-key'])
})

test('a server with another key does not start, and one with the same key does', async () => {
  const other = serve('second', { REPRISE_ROLES: 'api' })
  await expect(other).rejects.toThrow(/All servers of a database share one key: copy the file/)
  const missing = serve('third', { REPRISE_ROLES: 'api', REPRISE_SECRETS_KEY_FILE: join(root, 'nowhere') })
  await expect(missing).rejects.toThrow(
    /REPRISE_SECRETS_KEY_FILE names \S+nowhere, which does not exist. Make one with/,
  )
  const shared = { REPRISE_ROLES: 'api', REPRISE_SECRETS_KEY_FILE: join(root, 'first', 'secrets-key') }
  const second = await serve('second', shared)
  expect(await second.stop()).toBe(0)
})

test('webhooks that were there before secrets were encrypted are encrypted by the start', async () => {
  await db.query(
    `INSERT INTO webhooks (id, url, event_types, secret) VALUES (gen_random_uuid(), 'https://example.com', '{none}', $1)`,
    [Buffer.alloc(32, 'plain')],
  )
  const key = { REPRISE_SECRETS_KEY_FILE: join(root, 'first', 'secrets-key') }
  await (await serve('second', { REPRISE_ROLES: 'api', ...key })).stop()
  const { rows } = await db.query<{ secret: Buffer; sealed: boolean }>(
    'SELECT secret, secret_sealed AS sealed FROM webhooks',
  )
  expect(rows).toHaveLength(1)
  expect(rows[0]!.sealed).toBe(true)
  expect(rows[0]!.secret.includes('plain')).toBe(false)
})
