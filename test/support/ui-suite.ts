import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bundleUi } from '../../scripts/bundle-ui.ts'
import { readUiFiles } from '../../src/http/ui-files.ts'
import { ROOT } from '../guard/source-files.ts'
import { whyNoBrowser, type WatchedPage } from './browser.ts'
import type { TestDatabase } from './database/database.ts'
import { startGraphQLServer, type TestServer } from './servers/graphql-server.ts'
import { startUiServer, type PageOptions, type UiServer, type UiView } from './servers/ui-server.ts'
import { visit } from './visit.ts'

/** Suites of the web UI: their server, and the tests that most pages have in common. */

const missing = whyNoBrowser()

function describeInBrowser(name: string, body: () => void): void {
  // oxlint-disable-next-line vitest/valid-title -- the name is a string
  describe.skipIf(missing !== null)(name, () => {
    body()
  })
}

/** Settings of the shared server: its agent serves programs, and webhooks may go to this machine. */
const SHARED = { REPRISE_AGENT_ADDRESS: '127.0.0.1', REPRISE_WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8' }

const onWorker = test.extend<{ $worker: { shared: UiServer } }>({
  shared: [
    async ({}, use) => {
      const server = await startUiServer('shared-ui', SHARED)
      await use(server)
      await server.close()
    },
    { scope: 'worker' },
  ],
})

/** A server as a suite sees it; its properties are set when its hooks run. */
type SuiteUi = UiView & { cluster: UiView }

/**
 * Tests on the server that all files of this worker share, in a new project, as its administrator. `wholeServer`: in
 * the default project, as an administrator of the cluster; other suites' work is seen, too.
 */
export function describeUi(
  name: string,
  { wholeServer = false }: { wholeServer?: boolean },
  body: (ui: SuiteUi) => void,
): void {
  describeInBrowser(name, () => {
    const ui = {} as SuiteUi
    onWorker.beforeAll(async ({ shared }) => {
      Object.assign(ui, wholeServer ? { ...shared, cluster: shared } : await shared.inNewProject())
    })
    afterAll(async () => {
      await ui.endAll?.()
      await ui.cluster?.endAll()
    })
    body(ui)
  })
}

/** Tests on a server that no other suite uses: they stop it, change its cluster or its environment, or count everything. */
export function describeOwnUi(
  name: string,
  purpose: string,
  body: (ui: UiServer) => void,
  env: () => Promise<Record<string, string>> = async () => ({}),
): void {
  describeInBrowser(name, () => {
    const ui = {} as UiServer
    beforeAll(async () => {
      Object.assign(ui, await startUiServer(purpose, await env()))
    })
    afterAll(() => ui.close?.())
    body(ui)
  })
}

type PageServer = TestServer & { open(options?: PageOptions): Promise<WatchedPage> }

/** Tests on the API and the web UI in this process, where nothing runs sessions. */
export function describePages(name: string, body: (server: PageServer) => void): void {
  describeInBrowser(name, () => {
    const server = {} as PageServer
    beforeAll(async () => {
      const started = await startPages()
      const open = ({ width = 1440, height = 900, ...rest }: PageOptions = {}) =>
        visit({ url: started.url, token: started.adminToken, viewport: { width, height }, ...rest })
      Object.assign(server, started, { open })
    })
    afterAll(() => server.close?.())
    body(server)
  })
}

async function startPages(): Promise<TestServer> {
  return startGraphQLServer({ ui: await readUiFiles(await bundleUi(ROOT)) })
}

interface Opener {
  open(options?: PageOptions): Promise<WatchedPage>
}
/** Paths, and what each of them shows once it has loaded. */
type Shown = readonly (readonly [path: string | (() => string), shown: (page: Page) => Promise<unknown>])[]

/** Tests that axe finds no fault in pages, and that they fit their window: light and dark, at each width. */
export function testAppearance(ui: Opener, pages: Shown, widths: readonly number[] = [1440, 900, 360]): void {
  const cases = (['light', 'dark'] as const).flatMap((colorScheme) =>
    widths.map((width) => [colorScheme, width] as const),
  )
  test.each(cases)('axe finds no fault, and the page fits: %s, %i px', async (colorScheme, width) => {
    await using opened = await ui.open({ colorScheme, width })
    const { page } = opened
    for (const [path, shown] of pages) {
      await page.goto(typeof path === 'string' ? path : path())
      await shown(page)
      await expectFit(opened, width)
    }
    expect(opened.faults).toEqual([])
  })
}

/** Axe finds no fault now, nothing is wider than the window, and each row of a table has a column for each cell. */
export async function expectFit({ page, violations }: WatchedPage, width: number): Promise<void> {
  expect(await violations(), page.url()).toEqual([])
  expect(await page.evaluate(brokenRows), page.url()).toEqual([])
  expect(await page.evaluate(() => document.documentElement.scrollWidth), page.url()).toBe(width)
}

/** The classes of rows with more cells than columns, where no areas place the cells. Runs in the page. */
function brokenRows(): string[] {
  return [...document.querySelectorAll<HTMLElement>('[role="row"]')]
    .filter((row) => {
      const { display, gridTemplateAreas, gridTemplateRows } = getComputedStyle(row)
      // Narrow windows hide the titles of columns from view.
      const isHidden = row.parentElement!.clientHeight <= 1
      return !isHidden && display === 'grid' && gridTemplateAreas === 'none' && gridTemplateRows.split(' ').length > 1
    })
    .map(({ className }) => className)
}

/** Tests that an error takes the place of what cannot be read, and that "Try again" brings it back. */
export function testUnreadable(
  ui: Opener & { database: TestDatabase },
  { table, path, shown }: { table: string; path: string; shown: (page: Page) => Promise<unknown> },
): void {
  test('an error takes the place of what cannot be read, and the page tries again', async () => {
    await using opened = await ui.open()
    const { page } = opened
    const { db } = ui.database
    await db.query(`ALTER TABLE ${table} RENAME TO mislaid`)
    try {
      await page.goto(path)
      await page.getByRole('alert').getByText('INTERNAL').waitFor()
      expect(await opened.violations()).toEqual([])
    } finally {
      await db.query(`ALTER TABLE mislaid RENAME TO ${table}`)
    }
    await page.getByRole('button', { name: 'Try again' }).click()
    await shown(page)
  })
}

export const rowOf = (page: Page, name: string | RegExp) => page.getByRole('row').filter({ hasText: name })
