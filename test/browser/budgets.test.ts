import { readdir, stat } from 'node:fs/promises'
import { extname, join } from 'node:path'
import type { Request } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bundleUi } from '../../scripts/bundle-ui.ts'
import { readUiFiles } from '../../src/http/ui-files.ts'
import { UI_PATHS } from '../../src/ui/paths.ts'
import { ROOT } from '../guard/source-files.ts'
import { whyNoBrowser } from '../support/browser.ts'
import { startGraphQLServer, type TestServer } from '../support/servers/graphql-server.ts'
import { visit } from '../support/visit.ts'

/** How much a browser loads of the web UI, compressed as it is served, and what the bundle takes on disk. */

const FIRST_PAGE_SCRIPT_BYTES_MAX = 150_000
const LATER_PAGE_SCRIPT_BYTES_MAX = 30_000
const STYLE_BYTES_MAX = 12_000
const FONT_BYTES_MAX = 90_000
/** Scripts and styles that a page begins with: a browser loads many small ones more slowly than a few. */
const FILES_MAX = 20
const BUNDLE_BYTES_MAX = 2_500_000

const NOBODY = '00000000-0000-7000-8000-000000000000'
const FIRST = '/'
const LATER = Object.keys(UI_PATHS)
  .filter((path) => path !== FIRST && path !== '/login')
  .map((path) => path.replaceAll(/\$\w+/g, NOBODY))

interface Load {
  /** What it took to show the page: bytes by name. */
  files: Map<string, number>
  /** Bodies of requests that were sent again before they were answered. */
  askedTwice: string[]
}

describe('the bundle', () => {
  async function bytesOf(endings: readonly string[]): Promise<number> {
    const directory = await bundleUi(ROOT)
    const names = (await readdir(directory, { recursive: true })).filter((name) => endings.includes(extname(name)))
    expect(names.length).toBeGreaterThan(0)
    const sizes = await Promise.all(names.map(async (name) => (await stat(join(directory, name))).size))
    return sizes.reduce((sum, size) => sum + size, 0)
  }

  test('takes no more on disk than it may, its fonts included', async () => {
    const all = await bytesOf(['.js', '.css', '.woff2', '.svg', '.html', '.json', '.br', '.gz'])
    expect(all).toBeLessThanOrEqual(BUNDLE_BYTES_MAX)
    const fonts = await bytesOf(['.woff2'])
    expect(fonts).toBeGreaterThan(50_000)
    expect(fonts).toBeLessThanOrEqual(FONT_BYTES_MAX)
  })
})

describe.skipIf(whyNoBrowser() !== null)('a browser', () => {
  let server: TestServer
  let first: Map<string, number>
  /** By path: each is loaded once. */
  const loads = new Map<string, Promise<Load>>()

  beforeAll(async () => {
    server = await startGraphQLServer({ ui: await readUiFiles(await bundleUi(ROOT)) })
    first = (await loadOf(FIRST)).files
  })
  afterAll(async () => {
    await server?.close()
  })

  function loadOf(path: string): Promise<Load> {
    const load = loads.get(path) ?? loadAnew(path)
    loads.set(path, load)
    return load
  }

  /** In a browser that has nothing cached. */
  async function loadAnew(path: string): Promise<Load> {
    await using opened = await visit({ url: server.url, token: server.adminToken, isNew: true })
    const { page } = opened
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

  test('loads of the first page no more than it may', () => {
    expect(sum(first, '.js')).toBeGreaterThan(50_000)
    expect(sum(first, '.js')).toBeLessThanOrEqual(FIRST_PAGE_SCRIPT_BYTES_MAX)
    expect(sum(first, '.css')).toBeLessThanOrEqual(STYLE_BYTES_MAX)
    expect(sum(first, '.woff2')).toBeLessThanOrEqual(FONT_BYTES_MAX)
  })

  test.each(LATER)('loads no more than it may for %s', async (path) => {
    const { files: loaded } = await loadOf(path)
    const more = new Map([...loaded].filter(([name]) => !first.has(name)))
    expect(sum(more, '.js')).toBeGreaterThan(0)
    expect(sum(more, '.js')).toBeLessThanOrEqual(LATER_PAGE_SCRIPT_BYTES_MAX)
    expect(sum(loaded, '.css')).toBeLessThanOrEqual(STYLE_BYTES_MAX)
    expect([...loaded.keys()].filter((name) => /\.(js|css)$/.test(name)).length).toBeLessThanOrEqual(FILES_MAX)
  })

  test('is told by each script that a page begins with to compile it as it is loaded', async () => {
    const scripts = [...(await loadOf('/chains')).files.keys()].filter((name) => name.endsWith('.js'))
    const texts = await Promise.all(
      scripts.map(async (name) => (await (await fetch(`${server.url}${name}`)).text()).split('\n', 1)[0]),
    )
    expect(new Set(texts)).toEqual(new Set(['//# allFunctionsCalledOnLoad']))
  })

  test.each([FIRST, ...LATER])('asks for nothing of %s that it is being told already', async (path) => {
    expect((await loadOf(path)).askedTwice).toEqual([])
  })

  test.each([FIRST, ...LATER])('loads the page of %s beside the program, not after it', async (path) => {
    const named = await (await fetch(`${server.url}${path}`)).text()
    const pages = [...(await loadOf(path)).files.keys()].filter((name) => /-(page|section)-[^/]*\.(js|css)$/.test(name))
    expect(pages.length).toBeGreaterThan(0)
    expect(pages.filter((name) => !named.includes(`="${name}"`))).toEqual([])
  })
})
