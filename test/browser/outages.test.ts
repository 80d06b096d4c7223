import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { describeOwnUi, rowOf } from '../support/ui-suite.ts'

/** What an open page does while its server does not answer, and when it is back, maybe with another version. */

/** The first attempt fails once it is let, the second one goes on. Each line has its own number in it. */
const FOLLOWED = `i=0
  while :; do
    i=$((i+1)); echo "tick $i"; sleep 0.1
    [ $REPRISE_ATTEMPT = 1 ] && [ -e "$REPRISE_CHAIN_DIR/fail" ] && exit 3
  done`

describeOwnUi('without its server', 'outages', (ui) => {
  const bar = (page: Page, attempt: number) => page.getByRole('option', { name: new RegExp(`^attempt ${attempt}, `) })
  const fail = (chainId: string) => writeFile(join(ui.chainDirectory(chainId), 'fail'), '')
  const writes = (page: Page) => page.locator('.log-line', { hasText: /^tick \d/ }).first()
  /** The number that the newest line on screen has in its text. */
  const newest = async (page: Page) =>
    Number(
      /\d+/.exec(
        await page
          .locator('.log-line', { hasText: /^tick \d/ })
          .last()
          .innerText(),
      )![0],
    )
  const follows = async (page: Page) => {
    const before = await newest(page)
    await eventually(async () => (await newest(page)) > before + 5)
  }

  /** Marks the page; a reload removes the mark. */
  const mark = (page: Page) => page.evaluate(() => void Object.assign(globalThis, { isMarked: true }))
  const isMarked = (page: Page) => page.evaluate(() => 'isMarked' in globalThis)

  test('keeps the page while the server is down, and then sees what happened meanwhile', async () => {
    const chainId = await ui.create('outlives', FOLLOWED, { maxRetries: 3, retryDelay: 0.1 })
    await using opened = await ui.open()
    const { page } = opened
    await page.goto(`/chains/${chainId}`)
    await writes(page).waitFor()
    await follows(page)
    await mark(page)

    await ui.kill()
    await page.getByText('Reconnecting', { exact: true }).waitFor()
    await page.getByText(/^Not live since \d\d:\d\d:\d\d, reconnecting$/).waitFor()
    const seen = await newest(page)
    expect(seen).toBeGreaterThan(5)
    await bar(page, 1).waitFor()
    // Nobody tells the page of it.
    await fail(chainId)
    await ui.startAgain()

    await page.getByText('Caught up').waitFor()
    await page.getByRole('option', { name: /^attempt 1, epoch 0, exit code 3/ }).waitFor()
    await bar(page, 2).waitFor()
    await page.getByText('attempt 2 in progress').waitFor()
    await page.keyboard.press('[')
    await page.getByText('attempt 1 ended: exit code 3').waitFor()
    await eventually(async () => (await newest(page)) > seen)
    expect(await linesOutOfPlace(page)).toEqual([])
    expect(await isMarked(page)).toBe(true)
    await page.getByText('Live', { exact: true }).waitFor()
    expect(restFaults(opened)).toEqual([])
  })

  /** Nothing is loaded before it is needed. */
  async function openSaving() {
    const opened = await ui.open({ isNew: true })
    await opened.page.addInitScript(() => Object.defineProperty(navigator, 'connection', { value: { saveData: true } }))
    return opened
  }

  const restFaults = ({ faults }: { faults: string[] }) =>
    faults.filter(
      (fault) => !/ERR_CONNECTION_RE(FUSED|SET)|response code: 503|status of (404|503)|load preload assets/.test(fault),
    )

  test('pages and dialogs whose code cannot be loaded are shown once the server is back', async () => {
    const chainId = await ui.create('stays-here', 'sleep 600')
    await using opened = await openSaving()
    const { page } = opened
    await page.goto(`/chains/${chainId}`)
    await page.getByText('attempt 1 in progress').waitFor()
    await mark(page)
    await ui.kill()
    await page.getByText('Reconnecting', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Terminate' }).click()
    const missing = page.getByRole('alert').filter({ hasText: 'The dialog opens as soon as it does.' })
    await missing.waitFor()
    expect(await opened.violations()).toEqual([])
    await bar(page, 1).waitFor()
    await ui.startAgain()
    await page.getByRole('dialog', { name: 'Terminate 1 chain?' }).waitFor()
    await missing.waitFor({ state: 'detached' })
    await page.keyboard.press('Escape')

    await page.getByText('Live', { exact: true }).waitFor()
    await ui.kill()
    await page.getByText('Reconnecting', { exact: true }).waitFor()
    const pages = page.getByRole('navigation', { name: 'Pages' })
    await pages.getByRole('link', { name: /^Policy/ }).click()
    await page.getByRole('heading', { name: 'This page could not be loaded' }).waitFor()
    await page.getByText(/^Not live since \d\d:\d\d:\d\d, reconnecting$/).waitFor()
    expect(await opened.violations()).toEqual([])
    await pages.getByRole('link', { name: /^Chains/ }).waitFor()
    await ui.startAgain()
    await page.getByRole('heading', { name: 'Try a policy' }).waitFor()
    expect(await page.title()).toBe('Try a policy · Reprise')
    expect(await isMarked(page)).toBe(true)
    expect(restFaults(opened)).toEqual([])
  })

  test.each([
    ['its code', /\/policy-page-[^/]*\.js$/],
    ['code that it shares with another page', /\/policy-draft-[^/]*\.js$/],
    ['its styles', /\/policy-page-[^/]*\.css$/],
  ])('a page is loaded although the transfer of %s broke off', async (_what, file) => {
    await using opened = await openSaving()
    const { page } = opened
    await page.goto('/retries')
    await page.getByRole('heading', { name: 'Retries' }).waitFor()
    await page.route(file, (route) => route.abort('connectionreset'), { times: 1 })
    const pages = page.getByRole('navigation', { name: 'Pages' })
    await pages.getByRole('link', { name: /^Policy/ }).click()
    await page.getByRole('heading', { name: 'Try a policy' }).waitFor()
  })

  test('after an upgrade a page of the old version offers to reload', async () => {
    await using opened = await openSaving()
    const { page } = opened
    await page.goto('/retries')
    await page.getByRole('heading', { name: 'Retries' }).waitFor()
    await page.route('**/assets/policy-page-*.js*', (route) => route.fulfill({ status: 404 }))
    await page.route('**/healthz', async (route) => {
      const response = await route.fetch()
      await route.fulfill({ response, headers: { ...response.headers(), 'x-reprise-build': 'of-tomorrow' } })
    })
    await page
      .getByRole('navigation', { name: 'Pages' })
      .getByRole('link', { name: /^Policy/ })
      .click()
    await page.getByRole('heading', { name: 'A new version is available' }).waitFor()
    expect(await opened.violations()).toEqual([])
    await page.unrouteAll()
    await page.getByRole('alert').getByRole('button', { name: 'Reload' }).click()
    await page.getByRole('heading', { name: 'Try a policy' }).waitFor()
    expect(restFaults(opened)).toEqual([])
  })

  test('dialogs are loaded while nothing else happens, and open without the server', async () => {
    const chainId = await ui.create('stays-there', 'sleep 600')
    await using opened = await ui.open({ isNew: true })
    const { page } = opened
    const loading = new Set<string>()
    const loaded = new Set<string>()
    page.on('request', (request) => void loading.add(request.url()))
    page.on('requestfinished', (request) => void (loading.delete(request.url()) && loaded.add(request.url())))
    await page.goto(`/chains/${chainId}`)
    await page.getByText('attempt 1 in progress').waitFor()
    const isLoaded = (name: string) => [...loaded].some((url) => url.includes(`/assets/${name}-`))
    const isLoadingCode = () => [...loading].some((url) => url.includes('/assets/'))
    await eventually(() => isLoaded('confirm') && isLoaded('palette') && !isLoadingCode())
    await ui.kill()
    await page.getByRole('button', { name: 'Terminate' }).click()
    await page.getByRole('dialog', { name: 'Terminate 1 chain?' }).waitFor()
    await ui.startAgain()
    expect(restFaults(opened)).toEqual([])
  })

  test('a page whose server does not answer tells that its state may have changed, and since when', async () => {
    await ui.query('mutation { setRetrySwitch(input: { scope: CLUSTER, disabled: true }) { __typename } }')
    await using opened = await ui.open()
    const { page } = opened
    await page.goto('/settings/switches')
    await rowOf(page, 'everywhere').getByText('off').first().waitFor()
    await page.getByText('Live', { exact: true }).waitFor()
    await ui.kill()
    await page.getByText(/^This page shows the state of \d\d:\d\d:\d\d, which may have changed/).waitFor()
    await page.getByText(/^Not live since \d\d:\d\d:\d\d, reconnecting$/).waitFor()
    await rowOf(page, 'everywhere')
      .getByText(/^at \d\d:\d\d:\d\d; unknown now$/)
      .waitFor()
    expect(await opened.violations()).toEqual([])
    await ui.startAgain()
    await rowOf(page, 'everywhere').getByText('unknown now').waitFor({ state: 'detached' })
    await page.getByText(/^This page shows the state of/).waitFor({ state: 'detached' })
    await page.goto('/policy')
    await page.getByText('Live', { exact: true }).waitFor()
    await ui.kill()
    await page.getByText(/^This page shows the state of/).waitFor()
    await ui.startAgain()
    await page.getByText('Caught up').waitFor()
    await ui.query('mutation { setRetrySwitch(input: { scope: CLUSTER, disabled: false }) { __typename } }')
    expect(restFaults(opened)).toEqual([])
  })

  /** Returns the lines that are missing or doubled, in a log whose lines contain their numbers. */
  function linesOutOfPlace(page: Page): Promise<string[]> {
    return page.locator('.log-line', { hasText: /^tick \d/ }).evaluateAll((lines) =>
      lines.flatMap((line) => {
        const at = line.querySelector('[data-number]')?.getAttribute('data-number')
        const text = line.querySelector('.log-text')!.textContent
        return text === `tick ${at}` ? [] : [`${at}: ${text}`]
      }),
    )
  }
})
