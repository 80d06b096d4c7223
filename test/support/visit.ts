import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { inject } from 'vitest'
import {
  launchBrowser,
  logIn,
  newContext,
  openPage,
  USUAL,
  watch,
  type PageOptions,
  type WatchedPage,
} from './browser.ts'

/**
 * Pages of the one browser that all files of a worker share. Tests take turns with one page, since to load the web UI
 * again costs half of what it costs in a new context, which has nothing cached and nothing compiled, and needs a process
 * of its own. Between two tests it is left as nobody ever used it: no document, no cookies, nothing stored.
 */

let launched: Promise<Browser> | undefined

/** Launched when it is first needed. It ends with this process: with the pipe over which it is told what to do. */
async function sharedBrowser(): Promise<Browser> {
  const running = await launched
  if (running?.isConnected()) return running
  // The run's watchdog finds by its environment what a run has left.
  launched = launchBrowser({ TEST_RUN: inject('runDirectory') })
  return launched
}

/** A small page of the same origin as the web UI, so that the browser keeps the process. */
const PLACE_BETWEEN = '/healthz'

interface Kept {
  page: Page
  url: string
}

/** The page that nobody uses at the moment. */
let kept: Kept | undefined

export interface VisitOptions extends PageOptions {
  /** In a context of its own: where a test adds what stays with a page (functions, a clock), or counts what it loads. */
  isNew?: boolean
}

/** A page that is to be disposed of. Closed and given back where it has the usual options but for size and colours. */
export async function visit({ isNew = false, ...options }: VisitOptions): Promise<WatchedPage> {
  const browser = await sharedBrowser()
  const { url, token, viewport = USUAL.viewport, colorScheme = USUAL.colorScheme, ...others } = options
  if (isNew || viewport === null || Object.keys(others).length > 0) return openPage(browser, options)
  const { page } = await take(browser, url)
  await page.setViewportSize(viewport)
  await page.emulateMedia({ colorScheme, reducedMotion: USUAL.reducedMotion })
  if (token !== undefined) await logIn(page, url, token)
  return watch(page, () => giveBack({ page, url }))
}

async function take(browser: Browser, url: string): Promise<Kept> {
  const { page, url: of } = kept ?? {}
  kept = undefined
  if (page?.isClosed() === false) {
    if (of === url) return { page, url }
    await page.context().close()
  }
  const options: BrowserContextOptions = { ...USUAL, baseURL: url }
  const context = await newContext(browser, options)
  return { page: await context.newPage(), url }
}

async function giveBack({ page, url }: Kept): Promise<void> {
  const context = page.context()
  try {
    if (kept !== undefined) return await context.close()
    for (const other of context.pages()) if (other !== page) await other.close()
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    await page.goto(PLACE_BETWEEN)
    await page.evaluate(() => {
      localStorage.clear()
      sessionStorage.clear()
    })
    await page.mouse.move(-1, -1)
    await context.clearCookies()
    kept = { page, url }
  } catch {
    // Its server has ended, or it has crashed.
    await context.close()
  }
}
