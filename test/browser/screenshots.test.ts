import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { dirname, extname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { BrowserContextOptions, Page, Request } from 'playwright-core'
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
import { GRAPHIQL_DIRECTORY } from '../../src/http/graphiql-files.ts'
import { UI_PATHS } from '../../src/ui/paths.ts'
import { describePages, rowOf } from '../support/ui-suite.ts'

/** Limits on what a browser loads of the web UI, compressed as it is served, and on the size of the bundle. */

const FIRST_PAGE_SCRIPT_BYTES_MAX = 150_000
const LATER_PAGE_SCRIPT_BYTES_MAX = 30_000
const STYLE_BYTES_MAX = 12_000
const FONT_BYTES_MAX = 90_000
/** Scripts and styles that a page begins with: a browser loads many small ones more slowly than a few. */
const FILES_MAX = 20
const BUNDLE_BYTES_MAX = 2_860_000
/** GraphiQL lies beside the web UI, which never loads it: each file twice, for both compressions. */
const GRAPHIQL_BYTES_MAX = 4_500_000

const NOBODY = '00000000-0000-7000-8000-000000000000'
const FIRST = '/'
const LATER = Object.keys(UI_PATHS)
  .filter((path) => path !== FIRST && path !== '/login')
  .map((path) => path.replaceAll(/\$\w+/g, NOBODY))

interface Load {
  /** Bytes of the files that the page loaded, by name. */
  files: Map<string, number>
  /** Bodies of requests that were sent again before they were answered. */
  askedTwice: string[]
}

describe('the bundle', () => {
  async function bytesOf(endings: readonly string[], under = ''): Promise<number> {
    const directory = join(await bundleUi(ROOT), under)
    const names = (await readdir(directory, { recursive: true })).filter((name) => endings.includes(extname(name)))
    expect(names.length).toBeGreaterThan(0)
    const sizes = await Promise.all(names.map(async (name) => (await stat(join(directory, name))).size))
    return sizes.reduce((sum, size) => sum + size, 0)
  }

  test('stays within its limit on disk, fonts included', async () => {
    const all = await bytesOf(['.js', '.css', '.woff2', '.svg', '.html', '.json', '.br', '.gz'])
    const graphiql = await bytesOf(['.html', '.br', '.gz'], GRAPHIQL_DIRECTORY)
    expect(graphiql).toBeLessThanOrEqual(GRAPHIQL_BYTES_MAX)
    expect(all - graphiql).toBeLessThanOrEqual(BUNDLE_BYTES_MAX)
    const fonts = await bytesOf(['.woff2'])
    expect(fonts).toBeGreaterThan(50_000)
    expect(fonts).toBeLessThanOrEqual(FONT_BYTES_MAX)
  })
})

describePages('a browser', (server) => {
  let first: Map<string, number>
  /** Loads by path: each page is loaded once. */
  const loads = new Map<string, Promise<Load>>()

  beforeAll(async () => {
    first = (await loadOf(FIRST)).files
  })

  function loadOf(path: string): Promise<Load> {
    const load = loads.get(path) ?? loadAnew(path)
    loads.set(path, load)
    return load
  }

  /** In a browser that has nothing cached. */
  async function loadAnew(path: string): Promise<Load> {
    await using opened = await server.open({ isNew: true })
    const { page } = opened
    // Dialogs are not loaded while the page is idle.
    await page.addInitScript(() => Object.defineProperty(navigator, 'connection', { value: { saveData: true } }))
    const asked: string[] = []
    const askedTwice: string[] = []
    page.on('request', (request) => {
      const body = request.postData()
      if (body === null) return
      if (asked.includes(body)) askedTwice.push(body)
      asked.push(body)
    })
    const told = (request: Request) => {
      const at = asked.indexOf(request.postData() ?? '')
      if (at >= 0) asked.splice(at, 1)
    }
    page.on('requestfinished', told)
    page.on('requestfailed', told)
    await page.goto(path)
    await page.locator('main h1').first().waitFor()
    await page.waitForLoadState('networkidle')
    const files = await page.evaluate(() =>
      (performance.getEntriesByType('resource') as PerformanceResourceTiming[])
        .filter(({ name }) => name.includes('/assets/'))
        .map(({ name, encodedBodySize }): [string, number] => [new URL(name).pathname, encodedBodySize]),
    )
    return { files: new Map(files), askedTwice }
  }

  const sum = (loaded: Map<string, number>, ending: string) =>
    [...loaded].reduce((total, [name, bytes]) => (name.endsWith(ending) ? total + bytes : total), 0)

  test('loads the first page within its limits', () => {
    expect(sum(first, '.js')).toBeGreaterThan(50_000)
    expect(sum(first, '.js')).toBeLessThanOrEqual(FIRST_PAGE_SCRIPT_BYTES_MAX)
    expect(sum(first, '.css')).toBeLessThanOrEqual(STYLE_BYTES_MAX)
    expect(sum(first, '.woff2')).toBeLessThanOrEqual(FONT_BYTES_MAX)
  })

  test.each(LATER)('loads %s within its limits', async (path) => {
    const { files: loaded } = await loadOf(path)
    const more = new Map([...loaded].filter(([name]) => !first.has(name)))
    expect(sum(more, '.js')).toBeGreaterThan(0)
    expect(sum(more, '.js')).toBeLessThanOrEqual(LATER_PAGE_SCRIPT_BYTES_MAX)
    expect(sum(loaded, '.css')).toBeLessThanOrEqual(STYLE_BYTES_MAX)
    expect([...loaded.keys()].filter((name) => /\.(js|css)$/.test(name)).length).toBeLessThanOrEqual(FILES_MAX)
  })

  test('compiles each initial script while it loads, as the script asks', async () => {
    const scripts = [...(await loadOf('/chains')).files.keys()].filter((name) => name.endsWith('.js'))
    const texts = await Promise.all(
      scripts.map(async (name) => (await (await fetch(`${server.url}${name}`)).text()).split('\n', 1)[0]),
    )
    expect(new Set(texts)).toEqual(new Set(['//# allFunctionsCalledOnLoad']))
  })

  test.each([FIRST, ...LATER])('sends no request of %s twice before it is answered', async (path) => {
    expect((await loadOf(path)).askedTwice).toEqual([])
  })

  test.each([FIRST, ...LATER])('loads the page of %s beside the program, not after it', async (path) => {
    const named = await (await fetch(`${server.url}${path}`)).text()
    const pages = [...(await loadOf(path)).files.keys()].filter((name) => /-(page|section)-[^/]*\.(js|css)$/.test(name))
    expect(pages.length).toBeGreaterThan(0)
    expect(pages.filter((name) => !named.includes(`="${name}"`))).toEqual([])
  })
})

/**
 * Pictures of pages in thirteen states, light and dark, of work whose times are always the same; and those of the
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
  /** Waits until the page shows its content. */
  ready: (page: Page) => Promise<unknown>
  isStranger?: true
}

const NARROW = { width: 360, height: 740 }
const WIDE = { width: 1280, height: 760 }
const line = (text: string) => (page: Page) => page.locator('.log-line', { hasText: text }).first().waitFor()
const drawn = (page: Page) => page.locator('.schedule-chart .sure').first().waitFor()
const row = (name: string) => (page: Page) => rowOf(page, name).waitFor()

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
  insights: {
    path: '/insights',
    ready: (page) => page.getByRole('table', { name: 'Insights by cause' }).getByText('out of memory').waitFor(),
  },
  policy: { path: '/policy?retries=6&delay=30s&backoff=exponential&jitter=random', ready: drawn },
}

const DOCUMENTED = {
  'web-ui-chains.png': STATES['chains']!,
  'web-ui-chain.png': STATES['chain-waiting']!,
  'web-ui-insights.png': STATES['insights']!,
}

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
