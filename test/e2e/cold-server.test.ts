import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { readAdminToken, startServer, type ServerProcess } from '../../src/cli/demo/server-process.ts'
import { testDatabase, type TestDatabase } from '../support/database/database.ts'
import { watchEventLoop, threadTimeOf } from '../support/servers/event-loop-delay.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'

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
