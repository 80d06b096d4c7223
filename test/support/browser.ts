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

const ROOT = join(import.meta.dirname, '../..')
const PACKAGE = join(ROOT, 'node_modules/@sparticuz/chromium')
const FLAGS = ['--no-sandbox', '--disable-gpu', '--font-render-hinting=none', '--force-color-profile=srgb']
const ALLOWED_BY_AXE = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

/** Of a subscription that is no longer wanted before its socket is open. */
const NO_FAULT = /^WebSocket connection to \S+ failed: WebSocket is closed before the connection is established/

/** Why there is no browser for tests; null where there is one. @throws in CI, which skips none */
export function whyNoBrowser(): string | null {
  const { REPRISE_TEST_BROWSER: given, CI: ci } = process.env
  const none =
    given || isPackaged() || findChromium()
      ? null
      : 'no package has Chromium for this machine: install it, or name one by REPRISE_TEST_BROWSER'
  if (none !== null && ci) throw new Error(none)
  if (none !== null) process.stderr.write(`SKIPPED: tests of the web UI, as ${none}\n`)
  return skipReason('browser', none)
}

/** The package has a build for this alone. */
export function isPackaged(): boolean {
  return process.platform === 'linux' && process.arch === 'x64' && existsSync(PACKAGE)
}

/** Named by REPRISE_TEST_BROWSER, or that of the package, or an installed one. */
export async function launchBrowser(environment: Record<string, string> = {}): Promise<Browser> {
  const env = { ...process.env, ...environment }
  const given = process.env['REPRISE_TEST_BROWSER']
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

/** What pages have unless a test says otherwise. */
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
  /** What axe finds, as one line each. */
  violations(): Promise<string[]>
}

export interface PageOptions extends BrowserContextOptions {
  url: string
  /** With which it is logged in. */
  token?: string
}

/** In a context that no other page has, so that nothing is cached: it loads and compiles all that it needs. */
export async function openPage(browser: Browser, options: PageOptions): Promise<WatchedPage> {
  const { url, token, ...contextOptions } = options
  const context = await browser.newContext({ ...USUAL, baseURL: url, ...contextOptions })
  if (token !== undefined) await logIn(context, url, token)
  return watch(await context.newPage(), () => context.close())
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

/** Gives all pages of the context the session of somebody who has logged in with this token. */
export async function logIn(context: BrowserContext, url: string, token: string): Promise<void> {
  const response = await fetch(`${url}/ui/session`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
  })
  const [, value] = /^reprise_session=([^;]+)/.exec(response.headers.getSetCookie()[0] ?? '') ?? []
  if (value === undefined) throw new Error(`no session for the token: ${response.status}`)
  await context.addCookies([{ name: 'reprise_session', value, url }])
}
