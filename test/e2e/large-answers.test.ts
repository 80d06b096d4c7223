import { afterAll, beforeAll, expect, test } from 'vitest'
import { readAdminToken, startServer, type ServerProcess } from '../../src/cli/demo/server-process.ts'
import { createFactories } from '../support/sessions/factories.ts'
import { testDatabase, type TestDatabase } from '../support/database/database.ts'
import { watchLoop, threadTimeOf } from '../support/servers/loop-hold.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'

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
}, 120_000)
afterAll(async () => {
  await server?.stop()
  await database?.close()
})

async function ask(query: string) {
  const loop = watchLoop(server.url, threadTimeOf(server.pid))
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

/** So many fields of a session. */
const fields = (count: number) => Array.from({ length: count }, (_, n) => `f${n}: statusReason`).join(' ')

test('of a page of sessions with many fields', { timeout: 60_000 }, async () => {
  const { loop, answer } = await ask(`{ sessions(first: 100) { edges { node { ${fields(190)} } } } }`)
  expect(answer.data.sessions.edges).toHaveLength(ATTEMPTS)
  loop.expectFree()
})

test('of whole chains', { timeout: 60_000 }, async () => {
  const { loop, answer } = await ask(`{ sessions(first: 100) { edges { node { retryChain { ${fields(15)} } } } } }`)
  const lengths = answer.data.sessions.edges.map(({ node }: any) => node.retryChain.length)
  expect(lengths).toEqual(Array(ATTEMPTS).fill(ATTEMPTS))
  loop.expectFree()
})

test('which has more fields than it may, whatever its price was: it is refused', { timeout: 60_000 }, async () => {
  const { loop, answer } = await ask(`{ sessions(first: 100) { edges { node { retryChain { ${fields(90)} } } } } }`)
  expect(answer.errors[0]).toMatchObject({
    message: expect.stringContaining('more than 200000 fields') as string,
    extensions: { code: 'VALIDATION_FAILED' },
  })
  loop.expectFree()
})
