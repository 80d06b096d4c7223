import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bundleUi } from '../../scripts/bundle-ui.ts'
import { readAdminToken, startServer, type ServerProcess } from '../../src/cli/demo/server-process.ts'
import { ROOT } from '../guard/source-files.ts'
import { launchBrowser, openPage, whyNoBrowser } from '../support/browser.ts'
import { testDatabase, type TestDatabase } from '../support/database/database.ts'
import { eventually } from '../support/eventually.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'

/** The queue of retries, of sessions that a real agent ran and that failed, some of them held by a real switch. */

const missing = whyNoBrowser()
const LONG = `a-name-${'that-a-workflow-engine-made-'.repeat(6)}end`

describe.skipIf(missing !== null)('the queue of retries', () => {
  let database: TestDatabase
  let server: ServerProcess
  let token: string
  let browser: Browser

  beforeAll(async () => {
    await bundleUi(ROOT)
    database = await testDatabase()
    const dataDir = await temporaryDirectory('retries-page')
    server = await startServer({
      dataDir,
      port: 0,
      onLog: () => undefined,
      env: { REPRISE_DATABASE_URL: database.connectionString },
    })
    token = await readAdminToken(dataDir)
    browser = await launchBrowser()
  }, 180_000)
  afterAll(async () => {
    await browser?.close()
    await server?.stop()
    await database?.close()
  }, 60_000)

  async function query(document: string, variables: object = {}): Promise<any> {
    const response = await fetch(`${server.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify({ query: document, variables }),
    })
    const { data, errors } = (await response.json()) as { data: any; errors?: object[] }
    expect(errors).toBeUndefined()
    return data
  }

  async function create(
    name: string,
    input: { project?: string; exit?: number; delay?: number } = {},
  ): Promise<string> {
    const { project = 'default', exit = 3, delay = 900 } = input
    const { createSession } = await query(
      `mutation ($input: CreateSessionInput!) {
        createSession(input: $input) { ... on CreateSessionPayload { session { chainId } } ... on Error { message } }
      }`,
      {
        input: {
          name,
          project,
          command: ['sh', '-c', `exit ${exit}`],
          retryPolicy: { maxRetries: 3, retryDelay: delay, jitter: 'NONE' },
        },
      },
    )
    return createSession.session.chainId
  }

  async function reached(chainId: string, state: string): Promise<void> {
    await eventually(
      async () => {
        const { chain } = await query('query ($id: UUID!) { chain(id: $id) { state } }', { id: chainId })
        return chain.state === state
      },
      { withinMs: 120_000 },
    )
  }

  async function switchOff(name: string): Promise<void> {
    await query(`mutation ($name: String!) { createProject(input: { name: $name }) { __typename } }`, { name })
    const { setRetrySwitch } = await query(
      `mutation ($name: String!) { setRetrySwitch(input: { scope: PROJECT, name: $name, disabled: true }) { __typename } }`,
      { name },
    )
    expect(setRetrySwitch.__typename).toBe('SetRetrySwitchPayload')
  }

  const open = (options: { width?: number; height?: number; colorScheme?: 'light' | 'dark'; token?: string } = {}) => {
    const { width = 1440, height = 900, ...rest } = options
    return openPage(browser, { url: server.url, token, viewport: { width, height }, ...rest })
  }
  const rowOf = (page: Page, name: string) => page.getByRole('row').filter({ hasText: name })

  test('without any retry says what would be here', async () => {
    await using opened = await open()
    const { page } = opened
    await page.goto('/chains')
    await page.getByRole('heading', { name: 'No chains yet' }).waitFor()
    await page.keyboard.press('g')
    await page.keyboard.press('r')
    await page.getByRole('heading', { name: 'No retry waits' }).waitFor()
    expect(new URL(page.url()).pathname).toBe('/retries')
    expect(await opened.violations()).toEqual([])
    expect(opened.faults).toEqual([])
  })

  test('comes by itself, counts down, is retried now and cancelled from its row', async () => {
    await using opened = await open()
    const { page } = opened
    await page.goto('/retries')
    await page.getByRole('heading', { name: 'No retry waits' }).waitFor()
    await create('later', { delay: 900 })
    await create('sooner', { delay: 600, exit: 7 })
    await rowOf(page, 'sooner').waitFor()
    await rowOf(page, 'later').waitFor()
    const names = await page.locator('.retry-link').allInnerTexts()
    expect(names).toEqual(['sooner', 'later'])
    const words = (await rowOf(page, 'sooner').innerText()).replaceAll('\u00a0', ' ')
    expect(words).toContain('exit code 7')
    expect(words).toContain('after 10 m')
    const countdown = rowOf(page, 'sooner').locator('.retry-countdown')
    const first = (await countdown.textContent())!
    expect(first).toMatch(/^(9|10):\d\d$/)
    await eventually(async () => (await countdown.textContent()) !== first)

    await page.getByRole('button', { name: 'Retry now: sooner' }).click()
    await page.getByText('sooner is retried now.').waitFor()
    // Its second attempt fails like the first one.
    await page.mouse.move(5, 400)
    await rowOf(page, 'sooner')
      .filter({ hasText: /3\sof\s4/ })
      .waitFor()

    await page.getByRole('button', { name: 'Cancel retry: later' }).click()
    await page.getByRole('dialog', { name: 'Cancel 1 retry?' }).waitFor()
    expect(await opened.violations()).toEqual([])
    await page.getByRole('button', { name: 'Keep it' }).click()
    await page.getByRole('button', { name: 'Cancel retry: later' }).click()
    await page.getByRole('button', { name: 'Cancel the retry' }).click()
    await page.mouse.move(5, 400)
    await rowOf(page, 'later').waitFor({ state: 'detached' })
    expect(opened.faults).toEqual([])
  }, 120_000)

  test('a row does not move under the pointer, and says when it has left', async () => {
    const chainId = await create('pointed-at', { delay: 1_200 })
    await reached(chainId, 'WAITING_RETRY')
    await using opened = await open()
    const { page } = opened
    await page.goto('/retries')
    await rowOf(page, 'pointed-at').hover()
    const { chain } = await query('query ($id: UUID!) { chain(id: $id) { newestAttempt { sessionId } } }', {
      id: chainId,
    })
    await query('mutation ($id: UUID!) { cancelRetry(input: { sessionId: $id }) { __typename } }', {
      id: chain.newestAttempt.sessionId,
    })
    await rowOf(page, 'pointed-at').getByText('left the queue').waitFor()
    expect(await page.getByRole('button', { name: 'Retry now: pointed-at' }).count()).toBe(0)
    await page.mouse.move(5, 400)
    await rowOf(page, 'pointed-at').waitFor({ state: 'detached' })
    expect(opened.faults).toEqual([])
  })

  test('shows by what retries are held, since when, and who switched them off', async () => {
    await switchOff('stopped')
    const held = await create('held-one', { project: 'stopped', delay: 0.1 })
    const waiting = await create('waiting-one', { exit: 9 })
    await Promise.all([reached(held, 'HELD'), reached(waiting, 'WAITING_RETRY')])
    await using opened = await open()
    const { page } = opened
    await page.goto('/retries')
    await rowOf(page, 'held-one')
      .getByText(/retries are switched off/)
      .waitFor()
    expect(await rowOf(page, 'held-one').innerText()).toMatch(/since \d\d:\d\d:\d\d/)
    const { auditLog } = await query(
      '{ auditLog(first: 1, filter: { action: ["retry.set_switch"] }) { edges { node { actor } } } }',
    )
    const [{ node: entry }] = auditLog.edges
    const line = page.getByRole('list', { name: 'Switches in force' })
    expect(await line.innerText()).toMatch(
      new RegExp(`^Retries of project stopped are switched off since \\d\\d:\\d\\d by ${entry.actor}\\.$`),
    )

    await page.getByRole('button', { name: /^Held/ }).click()
    await rowOf(page, 'waiting-one').waitFor({ state: 'detached' })
    await page.getByLabel('Held by').selectOption('retries are switched off')
    await rowOf(page, 'held-one').waitFor()
    expect(new URL(page.url()).search).toBe('?phase=held&reason=switch')
    await page.getByLabel('Held by').selectOption('rate limit')
    await page.getByRole('heading', { name: 'No retry fits' }).waitFor()
    expect(await opened.violations()).toEqual([])
    await page.getByRole('button', { name: 'reason rate' }).click()
    await rowOf(page, 'held-one').waitFor()
    await page.goto('/retries?project=stopped&colour=red')
    await page.getByText('left out: colour').waitFor()
    await rowOf(page, 'held-one').waitFor()
    expect(await rowOf(page, 'waiting-one').count()).toBe(0)
    await page.goto('/retries?phase=waiting')
    await rowOf(page, 'waiting-one').waitFor()
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/chains\/[0-9a-f-]{36}/)
    expect(opened.faults).toEqual([])
  })

  test('whoever may only read has no buttons, and is not told who did what', async () => {
    const { createToken } = await query(
      `mutation { createToken(input: { name: "reader", role: VIEWER, project: "stopped" }) {
        ... on CreateTokenPayload { secret } ... on Error { message } } }`,
    )
    await using opened = await open({ token: createToken.secret })
    const { page } = opened
    await page.goto('/retries')
    await rowOf(page, 'held-one').waitFor()
    expect(await page.getByRole('button', { name: /^Retry now/ }).count()).toBe(0)
    expect(await page.getByRole('list', { name: 'Switches in force' }).innerText()).toBe(
      'Retries of project stopped are switched off.',
    )
    expect(opened.faults).toEqual([])
  })

  test('a refusal to read takes the place of the queue, and is tried again', async () => {
    await using opened = await open()
    const { page } = opened
    await page.route('**/graphql', async (route) => {
      if (!route.request().postData()?.includes('UiRetries')) return route.continue()
      return route.fulfill({
        status: 200,
        contentType: 'application/json',
        body: JSON.stringify({
          errors: [{ message: 'You may not read retries', extensions: { code: 'FORBIDDEN', requestId: 'r-1' } }],
        }),
      })
    })
    await page.goto('/retries')
    await page.getByRole('alert').getByText('You may not read retries').waitFor()
    expect(await opened.violations()).toEqual([])
    await page.unroute('**/graphql')
    await page.getByRole('button', { name: 'Try again' }).click()
    await rowOf(page, 'held-one').waitFor()
  })

  describe.each(['light', 'dark'] as const)('%s', (colorScheme) => {
    test.each([1440, 900, 360])('has no fault that axe finds, and nothing beside the page, at %i px', async (width) => {
      const chainId = await create(LONG, { delay: 700 })
      await reached(chainId, 'WAITING_RETRY')
      await using opened = await open({ colorScheme, width })
      const { page } = opened
      await page.goto('/retries')
      await rowOf(page, 'held-one').waitFor()
      expect(await opened.violations()).toEqual([])
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width)
      expect(opened.faults).toEqual([])
    })
  })
})
