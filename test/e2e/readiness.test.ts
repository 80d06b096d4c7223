import { once } from 'node:events'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { readAdminToken } from '../../src/cli/demo/server-process.ts'
import { createClient } from '../../src/client/node/index.ts'
import { hold, untilBlocked } from '../support/database/blocked.ts'
import { emptyDatabase, testDatabase } from '../support/database/database.ts'
import { eventually, pause } from '../support/eventually.ts'
import { fixedPort } from '../support/agents/fixed-port.ts'
import { spawnProgram } from '../support/programs/spawned-program.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'
import { MAIN } from '../support/programs/command-line.ts'

/** Answers of a server process before it is ready, and after it was told to stop. */

/** The key in src/store/postgres/migrate.ts. */
const MIGRATION_LOCK_KEY = 7_265_707_270
const WITHIN = { withinMs: 120_000 }

let dataDir: string
let port: number
let url: string

beforeEach(async () => {
  dataDir = await temporaryDirectory('readiness')
  port = await fixedPort()
  url = `http://127.0.0.1:${port}`
})

function start(
  databaseUrl: string,
  options: { environment?: Record<string, string>; spawned?: (pid: number) => Promise<void> } = {},
) {
  const { environment = {}, ...rest } = options
  return spawnProgram({
    args: [MAIN, 'serve'],
    environment: {
      REPRISE_DATABASE_URL: databaseUrl,
      REPRISE_DATA_DIR: dataDir,
      REPRISE_PORT: String(port),
      REPRISE_ROLES: 'api',
      ...environment,
    },
    ready: /^reprise ready (http:\S+)$/,
    ...rest,
  })
}

async function readiness(): Promise<{ status: number; reason?: string }> {
  const response = await fetch(`${url}/readyz`)
  const { reason } = (await response.json()) as { reason?: string }
  return { status: response.status, ...(reason !== undefined && { reason }) }
}

const isReason = (reason: string) => async () => (await readiness().catch(() => null))?.reason === reason

describe('while another server migrates', () => {
  let database: Awaited<ReturnType<typeof emptyDatabase>>
  let holder: pg.Client

  beforeEach(async () => {
    database = await emptyDatabase()
    holder = new pg.Client({ connectionString: database.connectionString })
    await holder.connect()
    await holder.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK_KEY])
  })
  afterEach(async () => {
    await holder.end()
    await database.drop()
  })

  test('a server is healthy but not ready and refuses requests; clients get through once it is ready', async () => {
    let waiting: Promise<unknown> | undefined
    await using client = createClient({
      url,
      token: 'rpr_none',
      retry: { network: { minSeconds: 0.1, maxSeconds: 0.1 } },
    })
    async function whileMigrating(): Promise<void> {
      await eventually(isReason('migrating'), { ...WITHIN, what: 'it migrates' })
      expect(await readiness()).toEqual({ status: 503, reason: 'migrating' })
      expect((await fetch(`${url}/healthz`)).status).toBe(200)
      for (const path of ['/graphql', '/v2/sessions', '/agent/v1/sync', '/metrics']) {
        const answer = await fetch(`${url}${path}`)
        expect(answer.status).toBe(503)
        expect(answer.headers.get('retry-after')).toBe('1')
        expect(answer.headers.get('content-type')).toBe('application/problem+json')
        const body = (await answer.json()) as object
        expect(body).toMatchObject({
          status: 503,
          code: 'SERVER_STARTING',
          request_id: answer.headers.get('x-request-id'),
        })
        // GraphQL clients and agents read names in camelCase; REST has none.
        const [hasErrors, hasCamelCase] = ['errors' in body, 'requestId' in body]
        expect([path, hasErrors, hasCamelCase]).toEqual([path, path !== '/v2/sessions', path !== '/v2/sessions'])
      }
      const socket = new WebSocket(`${url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws')
      const [error] = (await once(socket, 'error')) as [Error]
      expect(error.message).toContain('503')
      waiting = client.request('{ __typename }').catch((thrown: unknown) => thrown)
      const early = await Promise.race([waiting, pause(500).then(() => 'still waiting')])
      expect(early).toBe('still waiting')
      await holder.query('SELECT pg_advisory_unlock($1)', [MIGRATION_LOCK_KEY])
    }
    let checked: Promise<void> | undefined
    const server = await start(database.connectionString, {
      spawned: async () => void (checked = whileMigrating()).catch(() => holder.end()),
    })
    await checked
    expect(server.ready).toBe(url)
    expect(await readiness()).toEqual({ status: 200 })
    expect(await waiting).toEqual({ __typename: 'Query' })
    expect(server.log.findLast((line) => !line.startsWith('{'))).toBe(`reprise ready ${url}`)
    expect(await server.stop()).toBe(0)
  })

  test('a server stops on SIGTERM', async () => {
    const started = start(database.connectionString, {
      async spawned(pid) {
        await eventually(isReason('migrating'), { ...WITHIN, what: 'it migrates' })
        process.kill(pid, 'SIGTERM')
      },
    })
    await expect(started).rejects.toThrow(/ended with 0/)
  })
})

test('a draining server is not ready but serves, then refuses new requests and finishes running ones', async () => {
  const database = await testDatabase()
  const server = await start(database.connectionString, { environment: { REPRISE_DRAIN_SECONDS: '8' } })
  const token = await readAdminToken(dataDir)
  const ask = async (query: string) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    return (await fetch(`${url}/graphql`, { method: 'POST', headers, body: JSON.stringify({ query }) })).json()
  }
  const release = await hold(database, 'LOCK TABLE sessions')
  // What writes, since a read that takes as long as the drain would be given up.
  const underWay = ask('mutation { createSession(input: { name: "late", command: ["true"] }) { __typename } }')
  await untilBlocked(database.db, 1)

  const told = performance.now()
  const stopped = server.stop()
  await eventually(isReason('draining'), { ...WITHIN, what: 'it drains' })
  expect(await readiness()).toEqual({ status: 503, reason: 'draining' })
  expect((await fetch(`${url}/healthz`)).status).toBe(200)
  expect(await ask('{ projects { edges { node { name } } } }')).toMatchObject({ data: expect.anything() })

  const refuses = async () =>
    fetch(`${url}/healthz`, { headers: { connection: 'close' } }).then(
      () => false,
      (error: { cause?: { code?: string } }) => error.cause?.code === 'ECONNREFUSED',
    )
  await eventually(refuses, { ...WITHIN, what: 'it refuses connections' })
  expect(performance.now() - told).toBeGreaterThan(7_900)
  await release()
  expect(await underWay).toEqual({ data: { createSession: { __typename: 'CreateSessionPayload' } } })
  expect(await stopped).toBe(0)
  await database.close()
})
