import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { bundleUi } from '../../scripts/bundle-ui.ts'
import { readAdminToken, startServer } from '../../src/cli/demo/server-process.ts'
import { launchBrowser } from '../support/browser.ts'
import { eventually } from '../support/eventually.ts'
import { ROOT } from '../guard/source-files.ts'
import type { BenchGround } from './ground.ts'
import { grow, type Past } from './grow.ts'

/** A server with a past, and a browser beside it. */
export interface Setup extends AsyncDisposable {
  ground: BenchGround
  url: string
  token: string
  browser: Browser
}

export async function openSetup(ground: BenchGround, name: string, past: Past): Promise<Setup> {
  const { db, connectionString } = await ground.database()
  ground.progress(`a past of ${past.sessions} sessions, ${past.chainAttempts} in each chain`)
  await grow(db, past)
  await bundleUi(ROOT)
  await using resources = new AsyncDisposableStack()
  const dataDir = join(ground.dir, name)
  const env = { REPRISE_DATABASE_URL: connectionString, REPRISE_LOG_LEVEL: 'warn' }
  const server = await startServer({ dataDir, port: 0, onLog: (line) => ground.progress(line), env })
  resources.defer(async () => void (await server.stop()))
  const browser = await launchBrowser()
  resources.defer(() => browser.close())
  const token = await readAdminToken(dataDir)
  const kept = resources.move()
  return { ground, url: server.url, token, browser, [Symbol.asyncDispose]: () => kept.disposeAsync() }
}

/** From a click until something of the selector is drawn: the next frame after it is there. */
export async function fromClick(page: Page, link: string, drawn: string): Promise<number> {
  return page.evaluate(
    async ([from, to]) => {
      const begun = performance.now()
      document.querySelector<HTMLElement>(from!)!.click()
      while (document.querySelector(to!) === null) await new Promise((resolve) => requestAnimationFrame(resolve))
      return performance.now() - begun
    },
    [link, drawn],
  )
}

export async function create(setup: Setup, name: string, command: string[]): Promise<{ chainId: string }> {
  const { createSession } = await ask(
    setup,
    'mutation ($input: CreateSessionInput!) { createSession(input: $input) { ... on CreateSessionPayload { session { chainId } } } }',
    { input: { name, command } },
  )
  return createSession.session as { chainId: string }
}

export async function ask({ url, token }: Setup, query: string, variables: object): Promise<any> {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify({ query, variables }),
  })
  return ((await response.json()) as { data: any }).data
}

/** A chain whose only attempt printed so many lines, once it has succeeded. */
export async function createLog(setup: Setup, lines: number): Promise<string> {
  const { chainId } = await create(setup, `prints-${lines}`, ['seq', '1', String(lines)])
  await eventually(
    async () => {
      const { chain } = await ask(setup, 'query ($id: UUID!) { chain(id: $id) { state } }', { id: chainId })
      return chain.state === 'SUCCEEDED'
    },
    { withinMs: 120_000 },
  )
  return chainId
}
