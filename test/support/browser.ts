import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import axe from 'axe-core'
import { chromium, type Browser, type BrowserContext, type BrowserContextOptions, type Page } from 'playwright-core'
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
export async function launchBrowser(): Promise<Browser> {
  const given = process.env['REPRISE_TEST_BROWSER']
  if (given) return chromium.launch({ executablePath: given, args: FLAGS })
  if (!isPackaged()) return chromium.launch({ executablePath: findChromium()!, args: FLAGS })
  const directory = await unpack()
  const env = {
    ...process.env,
    LD_LIBRARY_PATH: join(directory, 'al2023/lib'),
    FONTCONFIG_FILE: join(directory, 'fonts.conf'),
  }
  return chromium.launch({ executablePath: join(directory, 'chromium'), args: ['--headless', ...FLAGS], env })
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

/** A browser's page on a server, which notes whatever goes wrong in it. */
export interface WatchedPage extends AsyncDisposable {
  page: Page
  context: BrowserContext
  /** Errors of scripts, of the console, and of the policy of what the page may load. */
  faults: string[]
  /** What axe finds, as one line each. */
  violations(): Promise<string[]>
}

export async function openPage(
  browser: Browser,
  options: BrowserContextOptions & {
    url: string
    /** With which it is logged in. */
    token?: string
  },
): Promise<WatchedPage> {
  const { url, token, ...contextOptions } = options
  const context = await browser.newContext({
    baseURL: url,
    viewport: { width: 1440, height: 900 },
    locale: 'en-GB',
    timezoneId: 'UTC',
    reducedMotion: 'reduce',
    ...contextOptions,
  })
  if (token !== undefined) await context.addCookies([await cookieFor(url, token)])
  const page = await context.newPage()
  const faults: string[] = []
  page.on('pageerror', (error) => faults.push(`threw ${error.message}`))
  page.on('console', (message) => {
    if (NO_FAULT.test(message.text())) return
    if (message.type() === 'error' || message.type() === 'warning') faults.push(message.text())
  })
  return {
    page,
    context,
    faults,
    async violations() {
      await page.evaluate(axe.source)
      const { violations } = await page.evaluate(
        (tags) => (globalThis as unknown as { axe: typeof axe }).axe.run({ runOnly: { type: 'tag', values: tags } }),
        ALLOWED_BY_AXE,
      )
      return violations.flatMap(({ id, nodes }) =>
        nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
      )
    },
    [Symbol.asyncDispose]: () => context.close(),
  }
}

async function cookieFor(url: string, token: string): Promise<{ name: string; value: string; url: string }> {
  const response = await fetch(`${url}/ui/session`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
  })
  const [, value] = /^reprise_session=([^;]+)/.exec(response.headers.getSetCookie()[0] ?? '') ?? []
  if (value === undefined) throw new Error(`no session for the token: ${response.status}`)
  return { name: 'reprise_session', value, url }
}
