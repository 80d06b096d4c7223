import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Locator, Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { endLogin } from '../support/browser.ts'
import { eventually } from '../support/eventually.ts'
import { describeOwnUi, rowOf } from '../support/ui-suite.ts'
import { visit } from '../support/visit.ts'

/** Whole ways through the web UI, and what happens to an open page when its server or its token goes. */

/** Least size of a pointer target (WCAG 2.5.8). */
const TARGET_PX = 24

/** The first attempt fails once it is let, the second one goes on. Each line has its own number in it. */
const FOLLOWED = `i=0
  while :; do
    i=$((i+1)); echo "tick $i"; sleep 0.1
    [ $REPRISE_ATTEMPT = 1 ] && [ -e "$REPRISE_CHAIN_DIR/fail" ] && exit 3
  done`

describeOwnUi('somebody', 'paths', (ui) => {
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

  /** A token of its own, which can be revoked. */
  async function newToken(): Promise<{ token: string; revoke(): Promise<unknown> }> {
    const { createToken } = await ui.query(
      'mutation { createToken(input: { name: "revoked", role: ADMIN }) { ... on CreateTokenPayload { secret token { tokenId } } ... on Error { message } } }',
    )
    const { secret, token } = createToken
    return {
      token: secret,
      revoke: () =>
        ui.query('mutation ($id: UUID!) { revokeToken(input: { tokenId: $id }) { __typename } }', {
          id: token.tokenId,
        }),
    }
  }

  async function logInAgain(page: Page): Promise<void> {
    await page.getByRole('dialog', { name: 'You are no longer logged in' }).waitFor()
    await page.getByLabel('Token').fill(ui.token)
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  }

  /** Marks the page; a reload removes the mark. */
  const mark = (page: Page) => page.evaluate(() => void Object.assign(globalThis, { isMarked: true }))
  const isMarked = (page: Page) => page.evaluate(() => 'isMarked' in globalThis)

  test('GraphiQL loads under its own policy, and asks with a token', async () => {
    await using opened = await visit({ url: ui.url })
    const { page } = opened
    await page.goto('/graphql')
    await page.locator('.view-line').filter({ hasText: 'authorization' }).click()
    await page.keyboard.press('End')
    for (const _of of '"}') await page.keyboard.press('ArrowLeft')
    await page.keyboard.insertText(ui.token)
    await page.getByRole('button', { name: /^Execute query/ }).click()
    await page
      .locator('.view-line')
      .filter({ hasText: /"totalCount":\s\d/ })
      .waitFor()
    // It introspects once before there is a token.
    expect(opened.faults.filter((fault) => !/status of 401/.test(fault))).toEqual([])
  })

  test('logs in, finds a chain, sees its next attempt come, retries it now, follows its log and terminates it', async () => {
    const chainId = await ui.create('reco-skim', FOLLOWED, { maxRetries: 3, retryDelay: 900 })
    await ui.create('merge-other', 'exit 0')
    await using opened = await visit({ url: ui.url })
    const { page } = opened
    await page.goto('/')
    await page.getByLabel('Token').fill(ui.token)
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.locator('h1').first().waitFor()
    await page
      .getByRole('navigation', { name: 'Pages' })
      .getByRole('link', { name: /^Chains/ })
      .click()
    await rowOf(page, 'merge-other').waitFor()
    await page.getByRole('searchbox').fill('reco')
    await page.keyboard.press('Enter')
    await rowOf(page, 'merge-other').waitFor({ state: 'detached' })
    await rowOf(page, 'reco-skim').getByRole('link').first().click()
    await page.waitForURL(new RegExp(chainId))
    await bar(page, 1).waitFor()
    await writes(page).waitFor()
    await follows(page)

    await fail(chainId)
    await page.getByText('waiting for retry 1 of 3').waitFor()
    await page.getByText('attempt 1 ended: exit code 3').waitFor()
    await page.getByRole('button', { name: 'Retry now' }).click()
    await bar(page, 2).waitFor()
    await page.getByText('attempt 2 in progress').waitFor()
    await writes(page).waitFor()
    await follows(page)

    await page.getByRole('button', { name: 'Terminate' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Terminate' }).click()
    await page.getByRole('option', { name: /^attempt 2, epoch 0, terminated/ }).waitFor()
    await page.getByRole('link', { name: 'Chains' }).first().click()
    await rowOf(page, 'reco-skim').getByText('cancelled').first().waitFor()
    expect(opened.faults.filter((fault) => !fault.includes('401'))).toEqual([])
  })

  test.each(['revoked', 'logged out elsewhere'])(
    'whose token is %s keeps reading, logs in again over the page, and stays there',
    async (how) => {
      const chainId = await ui.create('token-gone', FOLLOWED, { maxRetries: 1, retryDelay: 0.1 })
      const { token, revoke } = await newToken()
      await using opened = await ui.open({ token })
      const { page } = opened
      await page.goto(`/chains/${chainId}`)
      await writes(page).waitFor()
      await follows(page)
      await mark(page)
      if (how === 'revoked') await revoke()
      else await endLogin(page)
      await page.getByRole('dialog', { name: 'You are no longer logged in' }).waitFor()
      await fail(chainId)
      expect(await page.locator('.timeline-svg').isVisible()).toBe(true)
      expect(await newest(page)).toBeGreaterThan(5)
      await logInAgain(page)
      await page.getByText('attempt 2 in progress').waitFor()
      await follows(page)
      await page.keyboard.press('[')
      await page.getByText('attempt 1 ended: exit code 3').waitFor()
      expect(await linesOutOfPlace(page)).toEqual([])
      await page.getByText('Live', { exact: true }).waitFor()
      expect(await isMarked(page)).toBe(true)
    },
  )

  test('whose token is revoked on a page without live data is asked to log in at the next request', async () => {
    const { token, revoke } = await newToken()
    await using opened = await ui.open({ token })
    const { page } = opened
    await page.goto('/policy')
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.getByLabel('Retries', { exact: true }).fill('2')
    await revoke()
    // The server knows a token for a few seconds without asking.
    const dialog = page.getByRole('dialog')
    for (let retries = 10; (await dialog.count()) === 0; retries = 10 + ((retries + 1) % 80)) {
      const answered = page.waitForEvent('requestfinished', (request) => request.url().endsWith('/graphql'))
      await page.getByLabel('Retries', { exact: true }).fill(String(retries))
      await Promise.race([answered, dialog.waitFor()])
    }
    await logInAgain(page)
    await page.getByLabel('Retries', { exact: true }).fill('5')
    await page
      .getByText(/after attempt 5|5 retries/)
      .first()
      .waitFor()
  })

  test('does the same by keys alone', async () => {
    const chainId = await ui.create('by-keys', FOLLOWED, { maxRetries: 3, retryDelay: 900 })
    await using opened = await visit({ url: ui.url })
    const { page } = opened
    const { keyboard } = page
    await page.goto('/chains')
    await page.getByLabel('Token').waitFor()
    await tabTo(page, page.getByLabel('Token'))
    await keyboard.type(ui.token)
    await keyboard.press('Enter')
    await rowOf(page, 'by-keys').waitFor()
    await keyboard.press('/')
    await keyboard.type('by-keys')
    await keyboard.press('Enter')
    await page.waitForURL(/q=by-keys/)
    await tabTo(page, rowOf(page, 'by-keys').getByRole('link').first())
    await keyboard.press('Enter')
    await page.waitForURL(new RegExp(chainId))
    await writes(page).waitFor()
    await fail(chainId)
    await page.getByText('waiting for retry 1 of 3').waitFor()
    await tabTo(page, page.getByRole('button', { name: 'Retry now' }))
    await keyboard.press('Enter')
    await page.getByText('attempt 2 in progress').waitFor()
    await keyboard.press('[')
    await page.getByRole('heading', { name: /^Attempt 1/ }).waitFor()
    await keyboard.press(']')
    await page.getByRole('heading', { name: /^Attempt 2/ }).waitFor()
    await tabTo(page, page.getByRole('log'))
    await keyboard.press('/')
    await keyboard.type('tick 3')
    await page.locator('.log-line mark').first().waitFor()
    await tabTo(page, page.getByRole('button', { name: 'Terminate' }))
    await keyboard.press('Enter')
    await page.getByRole('dialog').waitFor()
    await keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    const focused = () => page.evaluate(() => document.activeElement?.textContent)
    await eventually(async () => (await focused()) === 'Terminate')
    await keyboard.press('Enter')
    await page.getByRole('dialog').waitFor()
    await tabTo(page, page.getByRole('dialog').getByRole('button', { name: 'Terminate' }))
    await keyboard.press('Enter')
    await page.getByRole('option', { name: /^attempt 2, epoch 0, terminated/ }).waitFor()
    expect(opened.faults.filter((fault) => !fault.includes('401'))).toEqual([])
  })

  test('opens chains and pages, and runs actions of the page, by Ctrl-K', async () => {
    const chainId = await ui.create('palette-chain', 'exit 3', { maxRetries: 1, retryDelay: 0.1 })
    await ui.reached(chainId, ['FAILED'])
    await using opened = await ui.open()
    const { page } = opened
    const { keyboard } = page
    const palette = page.getByRole('dialog', { name: 'Go to or do' })
    const field = palette.getByRole('combobox')
    await page.goto('/policy')
    await page.locator('main h1').waitFor()
    await keyboard.press('Control+k')
    await field.waitFor()
    await keyboard.type('palette-ch')
    await palette.getByRole('option', { name: /^palette-chain/ }).waitFor()
    expect(await opened.violations()).toEqual([])
    await keyboard.press('Enter')
    await palette.waitFor({ state: 'detached' })
    await page.waitForURL(new RegExp(chainId))
    await bar(page, 2).waitFor()
    await keyboard.press('Control+k')
    await palette.waitFor()
    await keyboard.type('true time')
    await palette.getByRole('option', { name: /^True time/ }).waitFor()
    await keyboard.press('Enter')
    await palette.waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'True time', pressed: true }).waitFor()
    await keyboard.press('Control+k')
    await palette.waitFor()
    await keyboard.type('no such thing at all')
    await palette.getByText('Nothing matches these words.').waitFor()
    await keyboard.press('Escape')
    await palette.waitFor({ state: 'detached' })
    await keyboard.press('Control+k')
    await palette.waitFor()
    const { promise: typing, resolve: load } = Promise.withResolvers<void>()
    await page.route(/\/usage-page-[^/?]*\.js$/, (route) => typing.then(() => route.continue()))
    await keyboard.type('go to usage')
    await keyboard.press('Enter')
    await palette.waitFor({ state: 'detached' })
    await page.waitForURL(/\/usage$/)
    await keyboard.press('Control+k')
    await palette.waitFor()
    load()
    await page.getByRole('heading', { name: 'Usage', includeHidden: true }).waitFor()
    await page.unrouteAll()
    await keyboard.type('go to sessions')
    await keyboard.press('Enter')
    await palette.waitFor({ state: 'detached' })
    await page.waitForURL(/\/sessions$/)
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Chains' }).click()
    await page.getByRole('heading', { name: 'Chains', exact: true }).waitFor()
    await keyboard.press('Control+k')
    await palette.getByRole('option', { name: 'Clear the selection' }).waitFor()
    const entries = await palette.getByRole('option').allInnerTexts()
    expect(entries).toEqual([...new Set(entries)])
    expect(opened.faults).toEqual([])
  })

  test('shows its own page for an address that does not exist', async () => {
    await using opened = await ui.open()
    const { page } = opened
    const response = await page.goto('/nowhere/at/all')
    expect(response!.status()).toBe(404)
    await page.getByRole('heading', { name: 'Nothing here' }).waitFor()
    expect(await opened.violations()).toEqual([])
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Sessions' }).click()
    await page.waitForURL(/\/sessions$/)
    expect(opened.faults.filter((fault) => !fault.includes('404'))).toEqual([])
  })

  test('can turn off all one-letter keys, including those of the timeline', async () => {
    const chainId = await ui.create('keys-off', 'exit 3', { maxRetries: 1, retryDelay: 0.1 })
    await ui.reached(chainId, ['FAILED'])
    await using opened = await ui.open()
    const { page } = opened
    const { keyboard } = page
    await page.goto(`/chains/${chainId}`)
    await bar(page, 2).waitFor()
    const trueTime = page.getByRole('button', { name: 'True time' })
    await keyboard.press('t')
    await page.getByRole('button', { name: 'True time', pressed: true }).waitFor()
    await keyboard.press('?')
    await page.getByRole('dialog').getByText('the attempt before').waitFor()
    await page.getByLabel('Use these keys').uncheck()
    await page.getByRole('button', { name: 'Close' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    const before = page.url()
    for (const key of ['t', '[', '?', 'g', 'c']) await keyboard.press(key)
    // Keys of the timeline itself stay: they are for whoever is on it.
    await page.getByRole('listbox', { name: 'Attempts' }).focus()
    await keyboard.press('Home')
    await page.locator('.timeline-card').getByText('Attempt 1: exit code 3').waitFor()
    expect(await trueTime.getAttribute('aria-pressed')).toBe('true')
    expect(page.url()).toBe(before)
    expect(opened.faults).toEqual([])
  })

  test.each([
    ['at 200 %', { width: 720, height: 450, deviceScaleFactor: 2 }],
    ['on 360 px', { width: 360, height: 740 }],
  ])(
    '%s reaches every control of every page, and every page fits',
    async (_how, options) => {
      const chainId = await ui.create('reached', 'echo no; exit 3', { maxRetries: 2, retryDelay: 0.1 })
      await ui.reached(chainId, ['FAILED'])
      await using opened = await ui.open(options)
      const { page } = opened
      await page.goto('/chains')
      const rail = page.getByRole('navigation', { name: 'Pages', includeHidden: true })
      await rail.waitFor({ state: 'attached' })
      const paths = await rail.locator('a').evaluateAll((links) => links.map((link) => link.getAttribute('href')!))
      expect(paths.length).toBeGreaterThanOrEqual(3)
      const titles: string[] = []
      for (const path of [...paths, `/chains/${chainId}`, `/chains/${chainId}?tab=decision`]) {
        await page.goto(path)
        await page.locator('h1').first().waitFor()
        await page.waitForLoadState('networkidle')
        titles.push(await page.title())
        expect(await unreachable(page), path).toEqual([])
        expect(await page.evaluate(() => document.documentElement.scrollWidth), path).toBe(options.width)
      }
      expect(titles.filter((title) => !/^.+ · Reprise$/.test(title))).toEqual([])
      expect(new Set(titles).size).toBe(paths.length + 1)
      expect(titles.at(-1)).toBe('failed · reached · Reprise')
      expect(opened.faults).toEqual([])
    },
    300_000,
  )

  /** Presses Tab until it is there. */
  async function tabTo(page: Page, target: Locator): Promise<void> {
    for (let presses = 0; presses < 80; presses++) {
      if (await target.evaluate((element) => element === document.activeElement)) return
      await page.keyboard.press('Tab')
    }
    throw new Error(`80 tabs do not lead to ${String(target)}`)
  }

  /** Returns the elements that take the focus while they are off screen, too small or covered. */
  async function unreachable(page: Page): Promise<string[]> {
    const found: string[] = []
    for (let stops = 0; stops < 60; stops++) {
      await page.keyboard.press('Tab')
      const { name, isReached } = await page.evaluate((leastPx) => {
        const element = document.activeElement!
        const box = element.getBoundingClientRect()
        const [left, right] = [Math.max(0, box.left), Math.min(innerWidth, box.right)]
        const [top, bottom] = [Math.max(0, box.top), Math.min(innerHeight, box.bottom)]
        const at = document.elementFromPoint((left + right) / 2, (top + bottom) / 2)
        const isOnTop = at !== null && (element.contains(at) || at.contains(element))
        const isLarge = right - left >= Math.min(box.width, leastPx) && bottom - top >= Math.min(box.height, leastPx)
        return {
          name: `${element.tagName} ${element.getAttribute('aria-label') ?? element.textContent}`,
          isReached: element === document.body || (isOnTop && isLarge && box.width > 0),
        }
      }, TARGET_PX)
      if (name.startsWith('BODY')) break
      if (!isReached) found.push(name)
    }
    return found
  }

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
