import { setTimeout as sleep } from 'node:timers/promises'
import type { BrowserContext, CDPSession, Page } from 'playwright-core'
import { openPage } from '../support/browser.ts'
import type { Measurement } from './bench.ts'
import type { BenchGround } from './ground.ts'
import { ask, openSetup, type Setup } from './web-ui-ground.ts'

const SCROLLED_MS = 10_000
const SCROLLED_PX_PER_FRAME = 60
/** Of 60 in a second, one that is missed. */
const LATE_FRAME_MS = 33.4
const BURST_SESSIONS = 500
/** About as many events as a busy hour has: 18 of each session. */
const BURSTS = 4
const IDLE_MS = 60_000

/** What a page costs that stays open: scrolled, told of many events, and left alone. As many chains as sessions. */
export async function* overTime(ground: BenchGround, chains: number): AsyncGenerator<Measurement> {
  const past = { sessions: chains, chainAttempts: 1, agents: 1, pendingRetries: 0 }
  await using setup = await openSetup(ground, 'short-chains', past)
  const notes = { chains }
  for (const part of [scrolled, left, told])
    for (const measurement of await part(setup)) yield { ...measurement, notes }
}

/** As with a wheel that does not stop. */
async function scrolled({ ground, url, token, browser }: Setup): Promise<Measurement[]> {
  ground.progress('scrolling')
  await using opened = await openPage(browser, { url, token })
  const { page, context } = opened
  await page.goto('/chains')
  await page.locator('.chain-row .table-link').first().waitFor()
  await page.waitForLoadState('networkidle')
  const { frames, blank } = await page.evaluate(
    async ([forMs, step]) => {
      const list = document.querySelector('.chains-table')!
      const { left: x, top, width, height } = list.getBoundingClientRect()
      const taken: number[] = []
      let blanks = 0
      const until = performance.now() + forMs!
      let before = await new Promise<number>((resolve) => requestAnimationFrame(resolve))
      while (before < until) {
        list.scrollTop += step!
        const now = await new Promise<number>((resolve) => requestAnimationFrame(resolve))
        taken.push(now - before)
        before = now
        const seen = document.elementFromPoint(x + width / 2, top + height / 2)
        if (!seen?.closest('.chain-row')) blanks++
      }
      return { frames: taken, blank: blanks }
    },
    [SCROLLED_MS, SCROLLED_PX_PER_FRAME],
  )
  const late = frames.filter((ms) => ms > LATE_FRAME_MS).length
  return [
    { what: 'frames while a list is scrolled', figure: frames.length / (SCROLLED_MS / 1000), unit: '/s' },
    { what: 'frames of it over 33 ms', figure: (100 * late) / frames.length, unit: '%', target: { atMost: 1 } },
    { what: 'blank frames of it', figure: blank, unit: 'frames', target: { atMost: 0 } },
    { what: 'heap after it', figure: await heapOf(page, context), unit: 'MB', target: { atMost: 60 } },
  ]
}

/** The page that asks most, with nobody at it and nothing to tell. */
async function left({ ground, url, token, browser }: Setup): Promise<Measurement[]> {
  ground.progress('an idle page')
  await using opened = await openPage(browser, { url, token })
  const { page, context } = opened
  await page.goto('/')
  await page.locator('.line-name').first().waitFor()
  await page.waitForLoadState('networkidle')
  const devtools = await context.newCDPSession(page)
  await devtools.send('Performance.enable')
  const reads = countReads(page)
  const before = await busySeconds(devtools)
  await sleep(IDLE_MS)
  const busy = (await busySeconds(devtools)) - before
  return [
    {
      what: 'requests of an idle overview',
      figure: reads() / (IDLE_MS / 60_000),
      unit: '/min',
      target: { atMost: 31 },
    },
    { what: 'main thread of it', figure: (100 * busy * 1000) / IDLE_MS, unit: '%' },
  ]
}

/** Of more than a person reads, at the list that shows what comes. */
async function told(setup: Setup): Promise<Measurement[]> {
  const { ground, url, token, browser } = setup
  await using opened = await openPage(browser, { url, token })
  const { page, context } = opened
  await page.addInitScript(() => {
    const noted = globalThis as unknown as { long: number }
    noted.long = 0
    new PerformanceObserver((list) => (noted.long += list.getEntries().length)).observe({ type: 'longtask' })
  })
  await page.goto('/chains')
  await page.locator('.chain-row .table-link').first().waitFor()
  await page.waitForLoadState('networkidle')
  const heaps: number[] = []
  const reads = countReads(page)
  let seconds = 0
  const longBefore = await page.evaluate(() => (globalThis as unknown as { long: number }).long)
  for (let burst = 0; burst < BURSTS; burst++) {
    ground.signal.throwIfAborted()
    ground.progress(`burst ${burst + 1} of ${BURSTS}`)
    const begun = performance.now()
    await createMany(setup, `burst-${burst}`)
    await ended(setup)
    seconds += (performance.now() - begun) / 1000
    heaps.push(await heapOf(page, context))
  }
  const long = (await page.evaluate(() => (globalThis as unknown as { long: number }).long)) - longBefore
  return [
    { what: 'reads of a list of many events', figure: reads() / seconds, unit: '/s', target: { atMost: 2 } },
    { what: 'long tasks meanwhile', figure: long, unit: 'tasks' },
    {
      what: `heap after ${BURSTS} bursts, more than after one`,
      figure: heaps.at(-1)! - heaps[0]!,
      unit: 'MB',
      target: { atMost: 10 },
    },
  ]
}

async function createMany(setup: Setup, name: string): Promise<void> {
  const sessions = Array.from({ length: BURST_SESSIONS }, (_, n) => ({
    name: `${name}-${n}`,
    command: ['true'],
    resourceSlots: [{ slot: 'cpu', amount: '0.1' }],
  }))
  await ask(
    setup,
    'mutation ($sessions: [CreateSessionInput!]!) { createSessions(input: { sessions: $sessions }) { __typename } }',
    { sessions },
  )
}

async function ended(setup: Setup): Promise<void> {
  const query = '{ chains(first: 1, filter: { state: [QUEUED, RUNNING] }) { totalCount } }'
  while ((await ask(setup, query, {})).chains.totalCount > 0) {
    setup.ground.signal.throwIfAborted()
    await sleep(250)
  }
}

/** How many requests to the API it has begun since. */
function countReads(page: Page): () => number {
  let count = 0
  page.on('request', (request) => {
    if (request.url().endsWith('/graphql') && request.method() === 'POST') count++
  })
  return () => count
}

/** Megabytes of scripts that are still reached. */
async function heapOf(page: Page, context: BrowserContext): Promise<number> {
  const devtools = await context.newCDPSession(page)
  await devtools.send('HeapProfiler.collectGarbage')
  const { usedSize } = await devtools.send('Runtime.getHeapUsage')
  await devtools.detach()
  return usedSize / 1024 / 1024
}

async function busySeconds(devtools: CDPSession): Promise<number> {
  const { metrics } = await devtools.send('Performance.getMetrics')
  return metrics.find(({ name }) => name === 'TaskDuration')!.value
}
