import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { bundleUi } from '../../scripts/bundle-ui.ts'
import { openPage } from '../support/browser.ts'
import { ROOT } from '../guard/source-files.ts'
import type { Measurement } from './bench.ts'
import type { BenchGround } from './ground.ts'
import { percentile } from './waiting.ts'
import { create, createLog, fromClick, openSetup, type Setup } from './web-ui-ground.ts'
import { overTime } from './web-ui-over-time.ts'

const CHAIN_ATTEMPTS = 100
/** As on a slow laptop. */
const SLOWER = 4
const PAGE_LOADS = 9
const CLICKS = 9
const EVENTS = 50
const LOG_LINES = 1_000_000

/** What a person waits for in a browser, over a past of many sessions. */
export async function* webUi(ground: BenchGround, size: number): AsyncGenerator<Measurement> {
  yield await coldBuild()
  await using setup = await openSetup(ground, 'long-chains', {
    sessions: size,
    chainAttempts: CHAIN_ATTEMPTS,
    agents: 1,
    pendingRetries: 0,
  })
  const notes = { sessions: size }
  for (const measurement of await pageLoads(setup)) yield { ...measurement, notes }
  yield await chainFromClick(setup)
  yield* await logLines(setup)
  yield await eventToPixels(setup)
  yield* overTime(ground, size)
}

/** Of a copy of the sources, which has no bundle yet, below the packages that they need. */
async function coldBuild(): Promise<Measurement> {
  await mkdir(join(ROOT, '.cache'), { recursive: true })
  const copy = await mkdtemp(join(ROOT, '.cache/bench-'))
  try {
    for (const path of ['src', 'scripts', 'schema.graphql', 'package.json', 'tsconfig.json']) {
      await cp(join(ROOT, path), join(copy, path), { recursive: true })
    }
    const begun = performance.now()
    await bundleUi(copy)
    return { what: 'bundled cold', figure: performance.now() - begun, unit: 'ms', target: { atMost: 3_000 } }
  } finally {
    await rm(copy, { recursive: true, force: true })
  }
}

/** Notes when something of this selector is first on the page, since the page's beginning. */
async function watchFor(page: Page, selector: string): Promise<void> {
  await page.addInitScript((wanted) => {
    const noted = globalThis as unknown as { seenAt?: number }
    new MutationObserver((_, observer) => {
      if (document.querySelector(wanted) === null) return
      noted.seenAt = performance.now()
      observer.disconnect()
    }).observe(document, { childList: true, subtree: true })
  }, selector)
}

async function pageLoads({ ground, url, token, browser }: Setup): Promise<Measurement[]> {
  const paints: number[] = []
  const rows: number[] = []
  const shifts: number[] = []
  for (let load = 0; load < PAGE_LOADS; load++) {
    ground.signal.throwIfAborted()
    ground.progress(`page load ${load + 1} of ${PAGE_LOADS}`)
    await using opened = await openPage(browser, { url, token })
    const { page, context } = opened
    const devtools = await context.newCDPSession(page)
    await devtools.send('Emulation.setCPUThrottlingRate', { rate: SLOWER })
    await watchFor(page, '.chain-row .table-link')
    await page.goto('/chains')
    await page.locator('.chain-row .table-link').first().waitFor()
    const seen = await page.evaluate(async () => {
      const shifted = await new Promise<number>((resolve) => {
        let sum = 0
        new PerformanceObserver((list) => {
          for (const entry of list.getEntries()) sum += (entry as unknown as { value: number }).value
        }).observe({ type: 'layout-shift', buffered: true })
        setTimeout(() => resolve(sum), 1_000)
      })
      const [paint] = performance.getEntriesByName('first-contentful-paint')
      return { paint: paint!.startTime, rows: (globalThis as unknown as { seenAt: number }).seenAt, shifted }
    })
    paints.push(seen.paint)
    rows.push(seen.rows)
    shifts.push(seen.shifted)
  }
  return [
    {
      what: `first contentful paint, CPU/${SLOWER}`,
      figure: percentile(paints, 0.5),
      unit: 'ms',
      target: { atMost: 500 },
    },
    {
      what: `first rows of /chains, CPU/${SLOWER}`,
      figure: percentile(rows, 0.5),
      unit: 'ms',
      target: { atMost: 800 },
    },
    { what: 'layout shift of /chains', figure: percentile(shifts, 0.5), unit: 'score', target: { atMost: 0.02 } },
  ]
}

async function chainFromClick({ ground, url, token, browser }: Setup): Promise<Measurement> {
  const took: number[] = []
  await using opened = await openPage(browser, { url, token })
  const { page } = opened
  for (let click = 0; click < CLICKS; click++) {
    ground.signal.throwIfAborted()
    await page.goto('/chains?order=name')
    await page.locator('.chain-row .table-link').first().hover()
    await page.waitForLoadState('networkidle')
    took.push(
      await fromClick(page, '.chain-row .table-link', '.timeline [role="option"], [role="listbox"] [role="option"]'),
    )
  }
  return {
    what: `a chain of ${CHAIN_ATTEMPTS} attempts, from click`,
    figure: percentile(took, 0.5),
    unit: 'ms',
    target: { atMost: 150 },
  }
}

async function logLines(setup: Setup): Promise<Measurement[]> {
  const { ground, browser, url, token } = setup
  ground.progress(`a log of ${LOG_LINES} lines`)
  const chainId = await createLog(setup, LOG_LINES)
  const took: number[] = []
  await using opened = await openPage(browser, { url, token })
  const { page } = opened
  for (let click = 0; click < CLICKS; click++) {
    ground.signal.throwIfAborted()
    await page.goto(`/chains/${chainId}?tab=spec`)
    await page.getByRole('tab', { name: 'Logs' }).waitFor()
    await page.waitForLoadState('networkidle')
    took.push(await fromClick(page, '[role="tab"]', '.log-line'))
  }
  const all: number[] = []
  for (let click = 0; click < CLICKS; click++) {
    ground.signal.throwIfAborted()
    await page.goto(`/chains/${chainId}`)
    await page.locator('.log-line').first().waitFor()
    await page.waitForLoadState('networkidle')
    await page.getByRole('log').evaluate((element) => element.scrollTo(0, 0))
    await page.getByRole('button', { name: 'Read all earlier lines' }).waitFor()
    all.push(await untilAllIsRead(page))
  }
  return [
    {
      what: `first lines of a log of ${LOG_LINES}`,
      figure: percentile(took, 0.5),
      unit: 'ms',
      target: { atMost: 200 },
    },
    { what: `all lines of a log of ${LOG_LINES}`, figure: percentile(all, 0.5), unit: 'ms', target: { atMost: 1_000 } },
  ]
}

/** From the click that asks for them: then nothing offers to read more. */
async function untilAllIsRead(page: Page): Promise<number> {
  return page.evaluate(async () => {
    const begun = performance.now()
    document.querySelector<HTMLElement>('.log-earlier button')!.click()
    while (document.querySelector('.log-earlier') !== null) {
      await new Promise((resolve) => requestAnimationFrame(resolve))
    }
    return performance.now() - begun
  })
}

/** From the answer of the server until the new chain, or what says that there is one, is drawn. */
async function eventToPixels(setup: Setup): Promise<Measurement> {
  const { ground, browser, url, token } = setup
  await using opened = await openPage(browser, { url, token })
  const { page } = opened
  await page.goto('/chains')
  await page.locator('.chain-row .table-link').first().waitFor()
  const took: number[] = []
  for (let event = 0; event < EVENTS; event++) {
    ground.signal.throwIfAborted()
    const name = `event-${event}-${Date.now()}`
    await create(setup, name, ['true'])
    const begun = performance.now()
    await page.getByRole('link', { name, exact: true }).waitFor({ timeout: 10_000 })
    took.push(performance.now() - begun)
  }
  return { what: 'event to pixels, p99', figure: percentile(took, 0.99), unit: 'ms', target: { atMost: 1_000 } }
}
