import { randomUUID } from 'node:crypto'
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

export type PageOptions = Omit<VisitOptions, 'url'> & { width?: number; height?: number }

const TERMINATE = `mutation ($sessionId: UUID!) { terminateSession(input: { sessionId: $sessionId }) { __typename } }`
const CREATE = `mutation ($input: CreateSessionInput!) {
  createSession(input: $input) { ... on CreateSessionPayload { session { sessionId chainId } } ... on Error { message } }
}`

const CREATE_PROJECT = 'mutation ($name: String!) { createProject(input: { name: $name }) { __typename } }'
const SWITCH_OFF = `mutation ($name: String!, $reason: String) {
  setRetrySwitch(input: { scope: PROJECT, name: $name, disabled: true, reason: $reason }) { __typename }
}`
const CREATE_TOKEN = `mutation ($input: CreateTokenInput!) {
  createToken(input: $input) { ... on CreateTokenPayload { secret } ... on Error { message } }
}`

/** A server with the web UI in a separate process, whose agent runs real processes, on its own database. */
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

  const served = {
    url,
    database,
    /** Kills the server by SIGKILL. The programs that its agent runs go on. */
    kill: () => server.kill(),
    /** Starts the server again, on the same port. */
    async startAgain(): Promise<void> {
      server = await start(Number(new URL(url).port))
    },
    /** Directory that the attempts of a chain have as REPRISE_CHAIN_DIR. */
    chainDirectory: (chainId: string) => join(dataDir, 'agent/chains', chainId),
  }
  const whole = viewOf(served, token, 'default')
  return {
    ...whole,
    /** The server as the administrator of a new project sees it: no other test has work there. */
    async inNewProject() {
      const project = `project-${randomUUID()}`
      await whole.query(CREATE_PROJECT, { name: project })
      return { ...viewOf(served, await whole.tokenOf('ADMIN', project), project), cluster: whole }
    },
    /** Terminates what still runs, and stops the server. */
    async close(): Promise<void> {
      await whole.endAll()
      await server.stop()
      await database.close()
    },
  }
}

interface Served {
  url: string
  database: TestDatabase
  kill(): Promise<void>
  startAgain(): Promise<void>
  chainDirectory(chainId: string): string
}

/** The server as the holder of a token sees it, who creates sessions in a project. */
function viewOf(served: Served, token: string, project: string) {
  const { url, database } = served

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

  const reached = (chainId: string, states: readonly string[], withinMs = 120_000) =>
    eventually(
      async () => {
        const { chain } = await query('query ($id: UUID!) { chain(id: $id) { state } }', { id: chainId })
        return states.includes(chain.state)
      },
      { withinMs, what: `chain ${states.join(' or ')}` },
    )

  const created: string[] = []

  return {
    ...served,
    token,
    project,
    query,
    reached,
    /** @returns the id of the chain */
    async create(name: string, script: string, retryPolicy: object = {}, input: object = {}): Promise<string> {
      const command = ['sh', '-c', script]
      const { createSession } = await query(CREATE, {
        input: { name, command, project, retryPolicy: { jitter: 'NONE', ...retryPolicy }, ...input },
      })
      const { chainId } = createSession.session
      created.push(chainId)
      return chainId as string
    },
    /** @returns the secret of a new token for one project */
    async tokenOf(role: string, of = project): Promise<string> {
      const name = `${role.toLowerCase()}-of-${of}`
      const { createToken } = await query(CREATE_TOKEN, { input: { name, role, project: of } })
      return createToken.secret
    },
    /** Creates a project whose retries are switched off. */
    async createStoppedProject(name: string, reason: string | null = null): Promise<void> {
      await query(CREATE_PROJECT, { name })
      const { setRetrySwitch } = await query(SWITCH_OFF, { name, reason })
      expect(setRetrySwitch.__typename).toBe('SetRetrySwitchPayload')
    },
    /** Opens a page that is logged in with this token, unless another one is given. */
    open: async (options: PageOptions = {}): Promise<WatchedPage> => {
      const { width = 1440, height = 900, ...rest } = options
      const opened = await visit({ url, token, viewport: { width, height }, ...rest })
      return tellIfFailed(opened, database)
    },
    /** Terminates the chains created here that still go on, and waits for their end. */
    async endAll(): Promise<void> {
      if (created.length === 0) return
      const { nodes } = await query(
        'query ($ids: [UUID!]) { chains(first: 100, filter: { ids: $ids }) { edges { node { endedAt newestAttempt { sessionId } } } } }',
        { ids: created },
      ).then(({ chains }) => ({ nodes: chains.edges.map(({ node }: any) => node) }))
      const going = nodes.filter(({ endedAt }: any) => endedAt === null)
      for (const { newestAttempt } of going) await query(TERMINATE, newestAttempt)
      await Promise.all(created.map((chainId) => reached(chainId, ['SUCCEEDED', 'FAILED', 'CANCELLED'])))
      created.length = 0
    },
  }
}

const NEWEST_SESSIONS = `SELECT s.name, s.attempt, s.status, s.status_reason, s.exit_code, s.created_at, reprise_now(), d.phase,
    d.due_at, d.hold_reason, d.dispatched_at FROM sessions s LEFT JOIN retry_decisions d ON d.session_id = s.id
  ORDER BY s.id DESC LIMIT 6`

/** Prints, if the test fails, what the page showed last and what the server has. */
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
/** A server as one token sees it. */
export type UiView = ReturnType<typeof viewOf>
