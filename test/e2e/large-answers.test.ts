import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readAdminToken, startServer, type ServerProcess } from '../../src/cli/demo/server-process.ts'
import { createFactories } from '../support/sessions/factories.ts'
import { createClient } from '../../src/client/node/index.ts'
import { testDatabase, type TestDatabase } from '../support/database/database.ts'
import { watchEventLoop, threadTimeOf } from '../support/servers/event-loop-delay.ts'
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

/** So many fields of a session. */
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

test('which has more fields than it may, whatever its price was: it is refused', async () => {
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
  const TOO_LARGE = 'The answer is too large: more than 16777216 bytes. Ask for fewer items, or for less of each.'

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
