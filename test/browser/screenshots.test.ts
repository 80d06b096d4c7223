import { existsSync } from 'node:fs'
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bundleUi } from '../../scripts/bundle-ui.ts'
import { readAdminToken, startServer, type ServerProcess } from '../../src/cli/demo/server-process.ts'
import { ROOT } from '../guard/source-files.ts'
import { isPackaged, whyNoBrowser, type WatchedPage } from '../support/browser.ts'
import { testDatabase, type TestDatabase } from '../support/database/database.ts'
import { skipReason } from '../support/distribution.ts'
import { SCREENSHOT_TIME, createScreenshotWork, type ScreenshotWork } from '../support/pictures/screenshot-work.ts'
import { differenceOf, reduced } from '../support/pictures/pictures.ts'
import { stopClock } from '../support/pictures/stopped-clock.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'
import { visit } from '../support/visit.ts'

/**
 * Pictures of pages in twelve states, light and dark, of work whose times are always the same; and those of the
 * documentation.
 */

const DIRECTORY = join(ROOT, 'test/browser/screenshots')
const TAKEN = join(ROOT, '.cache/screenshots')
/** The share of pixels that may be others. */
const DIFFERENCE_MAX = 0.001
const DOCUMENTED_BYTES_MAX = 120_000
const RENEW = 'npm run screenshots'
// oxlint-disable-next-line node/no-process-env -- it says what the run is for
const isRenewed = process.env['TEST_SCREENSHOTS'] === 'renew'

interface State {
  path: string
  size?: { width: number; height: number }
  /** Until it shows what is pictured. */
  ready: (page: Page) => Promise<unknown>
  isStranger?: true
}

const NARROW = { width: 360, height: 740 }
const WIDE = { width: 1280, height: 760 }
const line = (text: string) => (page: Page) => page.locator('.log-line', { hasText: text }).first().waitFor()
const drawn = (page: Page) => page.locator('.schedule-chart .sure').first().waitFor()
const row = (name: string) => (page: Page) => page.getByRole('row').filter({ hasText: name }).waitFor()

/** `{name}` is the id of that chain. */
const STATES: Readonly<Record<string, State>> = {
  login: { path: '/login', isStranger: true, ready: (page) => page.getByLabel('Token').waitFor() },
  chains: { path: '/chains', ready: row('reco-skim-17') },
  'chains-none': {
    path: '/chains?state=held&cause=oom',
    ready: (page) => page.getByRole('heading', { name: 'No chain fits' }).waitFor(),
  },
  'chains-narrow': { path: '/chains', size: NARROW, ready: row('reco-skim-17') },
  'chain-waiting': { path: '/chains/{reco-skim-17}', ready: line('track 17 has no hits') },
  'chain-true-time': { path: '/chains/{reco-skim-17}?attempt=1&scale=true', ready: line('step 3 of 9') },
  'chain-why': {
    path: '/chains/{reco-skim-17}?attempt=4&tab=decision',
    ready: async (page) => {
      await page.getByRole('listbox', { name: 'Attempts' }).focus()
      await page.keyboard.press('End')
      await page.locator('.timeline-card').waitFor()
    },
  },
  'chain-exhausted': { path: '/chains/{etl-ads-51}', ready: line('connection refused') },
  'chain-narrow': { path: '/chains/{reco-skim-17}', size: NARROW, ready: line('track 17 has no hits') },
  'chain-unknown': {
    path: '/chains/00000000-0000-7000-8000-000000000000',
    ready: (page) => page.getByRole('heading', { name: 'There is no such chain' }).waitFor(),
  },
  retries: { path: '/retries', ready: row('merge-risk-9') },
  policy: { path: '/policy?retries=6&delay=30s&backoff=exponential&jitter=random', ready: drawn },
}

const DOCUMENTED = { 'web-ui-chains.png': STATES['chains']!, 'web-ui-chain.png': STATES['chain-waiting']! }

const missing = whyNoBrowser() ?? skipReason('browser', isPackaged() ? null : 'other browsers draw other letters')

describe.skipIf(missing !== null)('screenshots', () => {
  let database: TestDatabase
  let work: ScreenshotWork
  let server: ServerProcess
  let token: string
  /** Reads pictures. */
  let blank: WatchedPage

  beforeAll(async () => {
    await bundleUi(ROOT)
    database = await testDatabase()
    await stopClock(database, SCREENSHOT_TIME)
    work = await createScreenshotWork(database.connectionString)
    const dataDir = await temporaryDirectory('screenshots')
    const clock = pathToFileURL(join(ROOT, 'test/support/programs/stopped-clock-program.ts'))
    server = await startServer({
      dataDir,
      port: 0,
      onLog: () => undefined,
      env: {
        REPRISE_DATABASE_URL: database.connectionString,
        REPRISE_ROLES: 'api',
        NODE_OPTIONS: `--import=${String(clock)}`,
        SCREENSHOT_TIME: SCREENSHOT_TIME.toISOString(),
      },
    })
    token = await readAdminToken(dataDir)
    blank = await visit({ url: server.url, isNew: true })
  })
  afterAll(async () => {
    await server?.stop()
    await work?.close()
    await database?.close()
  })

  async function take(state: State, options: BrowserContextOptions, isWhole = false): Promise<Buffer> {
    const viewport = state.size ?? WIDE
    await using opened = await visit({
      url: server.url,
      isNew: true,
      viewport,
      ...options,
      ...(!state.isStranger && { token }),
    })
    const { page } = opened
    await page.clock.setFixedTime(SCREENSHOT_TIME)
    const path = state.path.replace(/\{(.+)\}/, (_, name: string) => work.chains.get(name)!)
    await page.goto(path)
    await state.ready(page)
    await page.locator('.skeleton').first().waitFor({ state: 'detached' })
    await page.waitForLoadState('networkidle')
    await page.evaluate(() => document.fonts.ready)
    if (isWhole) await page.getByText('Live', { exact: true }).waitFor()
    // An id begins with a time that is never earlier than that of the process's last one.
    await page.evaluate(() => {
      for (const id of document.querySelectorAll('.copy-id')) id.textContent = 'id 019cfbe2…'
    })
    return await reduced(blank.page, await (isWhole ? page : page.locator('main')).screenshot())
  }

  describe.each(['light', 'dark'] as const)('%s', (colorScheme) => {
    test.each(Object.entries(STATES))('%s', async (name, state) => {
      const picture = await take(state, { colorScheme })
      const path = join(DIRECTORY, `${name}-${colorScheme}.png`)
      const difference = existsSync(path) ? await differenceOf(blank.page, await readFile(path), picture) : 1
      if (difference <= DIFFERENCE_MAX) return
      if (isRenewed) return keep(path, picture)
      const taken = join(TAKEN, `${name}-${colorScheme}.png`)
      await keep(taken, picture)
      const share = `${(difference * 100).toFixed(2)} % of its pixels are others`
      expect.fail(`${name}, ${colorScheme}: ${share}; compare ${path} with ${taken}, and renew it by \`${RENEW}\``)
    })
  })

  test.each(Object.entries(DOCUMENTED))('%s is in the documentation, and small', async (name, state) => {
    const path = join(ROOT, 'docs/pictures', name)
    if (isRenewed) await keep(path, await take(state, { colorScheme: 'light' }, true))
    expect((await stat(path)).size).toBeLessThanOrEqual(DOCUMENTED_BYTES_MAX)
    for (const page of ['README.md', 'docs/web-ui.md']) {
      expect(await readFile(join(ROOT, page), 'utf8')).toContain(`pictures/${name}`)
    }
  })
})

async function keep(path: string, picture: Buffer): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, picture)
}
