import { join } from 'node:path'
import { expect, onTestFailed } from 'vitest'
import { bundleUi } from '../../../scripts/bundle-ui.ts'
import { readAdminToken, startServer } from '../../../src/cli/demo/server-process.ts'
import { ROOT } from '../../guard/source-files.ts'
import type { WatchedPage } from '../browser.ts'
import { testDatabase, type TestDatabase } from '../database/database.ts'
import { eventually } from '../eventually.ts'
import { temporaryDirectory } from '../run/temporary-directory.ts'
import { visit, type VisitOptions } from '../visit.ts'

type PageOptions = Omit<VisitOptions, 'url'> & { width?: number; height?: number }

const TERMINATE = `mutation ($sessionId: UUID!) { terminateSession(input: { sessionId: $sessionId }) { __typename } }`
const CREATE = `mutation ($input: CreateSessionInput!) {
  createSession(input: $input) { ... on CreateSessionPayload { session { sessionId chainId } } ... on Error { message } }
}`

/** A server with the web UI as a process of its own, whose agent runs real processes, on a database of its own. */
export async function startUiServer(purpose: string, env: Record<string, string> = {}) {
  await bundleUi(ROOT)
  const database = await testDatabase()
  const dataDir = await temporaryDirectory(purpose)
  const start = (port: number) =>
    startServer({
      dataDir,
      port,
      onLog: () => undefined,
      env: { REPRISE_DATABASE_URL: database.connectionString, ...env },
    })
  let server = await start(0)
  const { url } = server
  const token = await readAdminToken(dataDir)

  async function query(document: string, variables: object = {}): Promise<any> {
    const response = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify({ query: document, variables }),
    })
    const { data, errors } = (await response.json()) as { data: any; errors?: object[] }
    expect(errors).toBeUndefined()
    return data
  }

  const created: string[] = []
  async function terminateAll(): Promise<void> {
    if (created.length === 0) return
    const { nodes } = await query(
      'query ($ids: [UUID!]) { chains(first: 100, filter: { ids: $ids }) { edges { node { endedAt newestAttempt { sessionId } } } } }',
      { ids: created },
    ).then(({ chains }) => ({ nodes: chains.edges.map(({ node }: any) => node) }))
    const going = nodes.filter(({ endedAt }: any) => endedAt === null)
    for (const { newestAttempt } of going) await query(TERMINATE, newestAttempt)
    await Promise.all(created.map((chainId) => reached(chainId, ['SUCCEEDED', 'FAILED', 'CANCELLED'])))
  }

  const reached = (chainId: string, states: readonly string[], withinMs = 120_000) =>
    eventually(
      async () => {
        const { chain } = await query('query ($id: UUID!) { chain(id: $id) { state } }', { id: chainId })
        return states.includes(chain.state)
      },
      { withinMs, what: `chain ${states.join(' or ')}` },
    )

  return {
    url,
    token,
    database,
    query,
    /** SIGKILL. What its agent runs goes on. */
    kill: () => server.kill(),
    /** Again, where it was. */
    async startAgain(): Promise<void> {
      server = await start(Number(new URL(url).port))
    },
    /** @returns the id of its chain */
    async create(name: string, script: string, retryPolicy: object = {}, input: object = {}): Promise<string> {
      const command = ['sh', '-c', script]
      const { createSession } = await query(CREATE, {
        input: { name, command, retryPolicy: { jitter: 'NONE', ...retryPolicy }, ...input },
      })
      const { chainId } = createSession.session
      created.push(chainId)
      return chainId as string
    },
    reached,
    /** Which the attempts of the chain have as REPRISE_CHAIN_DIR. */
    chainDirectory: (chainId: string) => join(dataDir, 'agent/chains', chainId),
    /** Logged in with the first token, unless another one is given. */
    open: async (options: PageOptions = {}): Promise<WatchedPage> => {
      const { width = 1440, height = 900, ...rest } = options
      const opened = await visit({ url, token, viewport: { width, height }, ...rest })
      return tellIfFailed(opened, database)
    },
    /** Running sessions are terminated. */
    async close(): Promise<void> {
      await terminateAll()
      await server.stop()
      await database.close()
    },
  }
}

const NEWEST_SESSIONS = `SELECT s.name, s.attempt, s.status, s.status_reason, s.exit_code, s.created_at, reprise_now(), d.phase,
    d.due_at, d.hold_reason, d.dispatched_at FROM sessions s LEFT JOIN retry_decisions d ON d.session_id = s.id
  ORDER BY s.id DESC LIMIT 6`

/** The last content of the page and the data of the server, for the report of a failed test. */
function tellIfFailed(opened: WatchedPage, database: TestDatabase): WatchedPage {
  if (expect.getState().currentTestName === undefined) return opened
  const { page, faults } = opened
  let shown = ''
  let address = ''
  onTestFailed(async () => {
    const { rows } = await database.db.query(NEWEST_SESSIONS)
    console.error(`${address} showed:\n${shown}\nfaults: ${JSON.stringify(faults)}`)
    for (const row of rows) console.error(JSON.stringify(row))
  })
  return {
    ...opened,
    async [Symbol.asyncDispose]() {
      address = page.url()
      shown = await page
        .locator('body')
        .innerText({ timeout: 2_000 })
        .catch((error: Error) => error.message)
      await opened[Symbol.asyncDispose]()
    },
  }
}

export type UiServer = Awaited<ReturnType<typeof startUiServer>>
