import { existsSync, readFileSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type axe from 'axe-core'
import {
  chromium,
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  type ConsoleMessage,
  type Page,
} from 'playwright-core'
import { findChromium } from './browsers.ts'
import { skipReason } from './distribution.ts'
import { logInBrowser } from './servers/browser-login.ts'

const ROOT = join(import.meta.dirname, '../..')
const PACKAGE = join(ROOT, 'node_modules/@sparticuz/chromium')
const FLAGS = ['--no-sandbox', '--disable-gpu', '--font-render-hinting=none', '--force-color-profile=srgb']
const ALLOWED_BY_AXE = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

/** The warning of a subscription that ends before its socket is open. */
const NO_FAULT = /^WebSocket connection to \S+ failed: WebSocket is closed before the connection is established/

/** Why there is no browser for tests; null where there is one. @throws in CI, which skips none */
export function whyNoBrowser(): string | null {
  const { TEST_BROWSER: given, CI: ci } = process.env
  const none =
    given || isPackaged() || findChromium()
      ? null
      : 'no package has Chromium for this machine: install it, or name one by TEST_BROWSER'
  if (none !== null && ci) throw new Error(none)
  if (none !== null) process.stderr.write(`SKIPPED: tests of the web UI, as ${none}\n`)
  return skipReason('browser', none)
}

/** The package has a build for this alone. */
export function isPackaged(): boolean {
  return process.platform === 'linux' && process.arch === 'x64' && existsSync(PACKAGE)
}

/** Launches the browser in TEST_BROWSER, or that of the package, or an installed one. */
export async function launchBrowser(environment: Record<string, string> = {}): Promise<Browser> {
  const env = { ...process.env, ...environment }
  const given = process.env['TEST_BROWSER']
  if (given) return chromium.launch({ executablePath: given, args: FLAGS, env })
  if (!isPackaged()) return chromium.launch({ executablePath: findChromium()!, args: FLAGS, env })
  const directory = await unpack()
  const packaged = {
    ...env,
    LD_LIBRARY_PATH: join(directory, 'al2023/lib'),
    FONTCONFIG_FILE: join(directory, 'fonts.conf'),
  }
  return chromium.launch({ executablePath: join(directory, 'chromium'), args: ['--headless', ...FLAGS], env: packaged })
}

/**
 * The package unpacks where all programs of the machine write, under names that are always the same, and takes what it
 * finds there; and its fonts are found in one place only. So all of it is unpacked once below this checkout.
 */
async function unpack(): Promise<string> {
  const { version } = JSON.parse(await readFile(join(PACKAGE, 'package.json'), 'utf8')) as { version: string }
  const directory = join(ROOT, '.cache', `chromium-${version}`)
  if (existsSync(directory)) return directory
  await mkdir(join(ROOT, '.cache'), { recursive: true })
  const draft = await mkdtemp(`${directory}-draft-`)
  const { TMPDIR: before } = process.env
  try {
    const { inflate } = await import('@sparticuz/chromium')
    process.env['TMPDIR'] = draft
    await Promise.all(
      ['chromium.br', 'al2023.tar.br', 'fonts.tar.br'].map((name) => inflate(join(PACKAGE, 'bin', name))),
    )
    const place = directory.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
    await writeFile(
      join(draft, 'fonts.conf'),
      `<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig><dir>${place}/fonts/fonts</dir><cachedir>${place}/font-cache</cachedir></fontconfig>\n`,
    )
    await chmod(draft, 0o755)
    await rename(draft, directory).catch((error: NodeJS.ErrnoException) => {
      // Another process was first, with the same result.
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error
    })
  } finally {
    if (before === undefined) delete process.env['TMPDIR']
    else process.env['TMPDIR'] = before
    await rm(draft, { recursive: true, force: true })
  }
  return directory
}

/** Default options of pages. */
export const USUAL = {
  viewport: { width: 1440, height: 900 },
  colorScheme: 'light',
  reducedMotion: 'reduce',
  locale: 'en-GB',
  timezoneId: 'UTC',
} as const satisfies BrowserContextOptions

/** A browser's page on a server, which notes whatever goes wrong in it. */
export interface WatchedPage extends AsyncDisposable {
  page: Page
  context: BrowserContext
  /** Errors of scripts, of the console, and of the policy of what the page may load. */
  faults: string[]
  /** Returns the faults that axe finds, one line each. */
  violations(): Promise<string[]>
}

export interface PageOptions extends BrowserContextOptions {
  url: string
  /** The token that the page is logged in with. */
  token?: string
}

/** In a context that no other page has, so that nothing is cached: it loads and compiles all that it needs. */
export async function openPage(browser: Browser, options: PageOptions): Promise<WatchedPage> {
  const { url, token, ...contextOptions } = options
  const login = token === undefined ? undefined : await newLogin(url, token)
  const storageState = login && {
    cookies: [{ ...login.cookie, path: '/', expires: -1 }],
    origins: [{ origin: new URL(url).origin, localStorage: [{ name: KEPT_KEY, value: login.key }] }],
  }
  const context = await newContext(browser, {
    ...USUAL,
    baseURL: url,
    ...(storageState && { storageState }),
    ...contextOptions,
  })
  return watch(await context.newPage(), () => context.close())
}

/** Waits for elements only end what hangs: this is twenty times what most of them take on a busy machine. */
const WAITS_MS = 120_000

export async function newContext(browser: Browser, options: BrowserContextOptions): Promise<BrowserContext> {
  const context = await browser.newContext(options)
  context.setDefaultTimeout(WAITS_MS)
  return context
}

/** Notes from now on what goes wrong in the page; `close` is called when it is not used any more. */
export function watch(page: Page, close: () => Promise<void>): WatchedPage {
  const faults: string[] = []
  const onError = (error: Error) => void faults.push(`threw ${error.message}`)
  const onConsole = (message: ConsoleMessage) => {
    if (NO_FAULT.test(message.text())) return
    if (message.type() === 'error' || message.type() === 'warning') faults.push(message.text())
  }
  page.on('pageerror', onError)
  page.on('console', onConsole)
  return {
    page,
    context: page.context(),
    faults,
    violations: () => violationsOn(page),
    [Symbol.asyncDispose]: () => {
      page.off('pageerror', onError)
      page.off('console', onConsole)
      return close()
    },
  }
}

/** The shorter of its two scripts: each document has to parse it. */
let axeSource: string | undefined
const readAxe = () => readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8')

async function violationsOn(page: Page): Promise<string[]> {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate((axeSource ??= readAxe()))
  return page.evaluate(async (values) => {
    const { violations } = await (globalThis as unknown as { axe: typeof axe }).axe.run({
      runOnly: { type: 'tag', values },
      // All rules are applied; only details of the elements that pass are left out, which take twice as long.
      resultTypes: ['violations'],
    })
    return violations.flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
    )
  }, ALLOWED_BY_AXE)
}

/** Gives the page, and all others of its context, the session of somebody who has logged in with this token. */
export async function logIn(page: Page, url: string, token: string): Promise<void> {
  const { cookie, key } = await newLogin(url, token)
  await page.context().addCookies([{ ...cookie, path: '/' }])
  // Small, and of the origin whose storage has the key.
  const place = new URL('/healthz', url).href
  if (page.url() !== place) await page.goto(place)
  await page.evaluate(([name, value]) => localStorage.setItem(name!, value!), [KEPT_KEY, key])
}

/** Ends the login on the server; the page is not told. */
export async function endLogin(page: Page): Promise<void> {
  const key = await page.evaluate((name) => localStorage.getItem(name), KEPT_KEY)
  const headers = { 'sec-fetch-site': 'same-origin', 'x-reprise-browser-key': key ?? '' }
  const response = await page.request.delete('/ui/session', { headers })
  if (response.status() !== 204) throw new Error(`the login has not ended: ${response.status()}`)
}

/** The key of local storage under which the web UI keeps a login. */
const KEPT_KEY = 'reprise-browser-key'

async function newLogin(url: string, token: string) {
  const { cookie, key } = await logInBrowser(url, `Bearer ${token}`)
  const [name, value] = cookie.split('=', 2)
  const { hostname, protocol } = new URL(url)
  const flags = { httpOnly: true, secure: protocol === 'https:', sameSite: 'Strict' as const }
  return { cookie: { name: name!, value: value!, domain: hostname, ...flags }, key }
}
