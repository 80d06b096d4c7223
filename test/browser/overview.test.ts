import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { whyNoBrowser } from '../support/browser.ts'
import { startUiServer, type UiServer } from '../support/servers/ui-server.ts'

/** The overview, of sessions that a real agent ran: some failed, one was saved by its retry, one is held by a switch. */

const missing = whyNoBrowser()
const LONG = `a-name-${'that-a-workflow-engine-made-'.repeat(6)}end`

describe.skipIf(missing !== null)('the overview', () => {
  let ui: UiServer
  let running: string

  beforeAll(async () => {
    ui = await startUiServer('overview-page')
  })
  afterAll(async () => {
    await ui?.close()
  })

  const create = (name: string, script: string, retries: number, more: { policy?: object; input?: object } = {}) =>
    ui.create(name, script, { maxRetries: retries, retryDelay: 0.1, ...more.policy }, more.input)
  const reached = (chainId: string, state: string) => ui.reached(chainId, [state])

  const open = (options: Parameters<UiServer['open']>[0] = {}) => ui.open(options)
  const tile = (page: Page, name: string) => page.locator('.tile').filter({ hasText: name })
  const value = (page: Page, name: string) => tile(page, name).locator('.tile-value')
  const panel = (page: Page, name: string) => page.getByRole('region', { name })

  test('without any chain says so in each part, and is where the address without a path leads', async () => {
    await using opened = await open()
    const { page } = opened
    await page.goto('/')
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    await panel(page, 'Failures by cause').getByText('No attempt has failed in the last 24 hours.').waitFor()
    await panel(page, 'Next retries').getByText('No retry waits.').waitFor()
    await panel(page, 'Latest').getByText('There is no chain yet.').waitFor()
    expect(await value(page, 'Running').innerText()).toBe('0')
    expect(await value(page, 'Retries succeed').innerText()).toBe('–')
    await panel(page, 'Agents').getByText('1 alive').waitFor()
    expect(await opened.violations()).toEqual([])
    expect(opened.faults).toEqual([])
  })

  test('counts by itself what becomes of chains, and each figure leads to the list of what it counts', async () => {
    await using opened = await open()
    const { page } = opened
    await page.goto('/')
    await panel(page, 'Latest').getByText('There is no chain yet.').waitFor()
    await ui.query('mutation { createProject(input: { name: "stopped" }) { __typename } }')
    await ui.query(
      'mutation { setRetrySwitch(input: { scope: PROJECT, name: "stopped", disabled: true }) { __typename } }',
    )
    const waits = { policy: { retryDelay: 900 } }
    await Promise.all([
      create('saved', 'test $REPRISE_ATTEMPT -ge 2', 2).then((id) => reached(id, 'SUCCEEDED')),
      create('lost-for-good', 'exit 7', 0).then((id) => reached(id, 'FAILED')),
      create('comes-later', 'exit 3', 3, waits).then((id) => reached(id, 'WAITING_RETRY')),
      create('stuck', 'exit 3', 3, { input: { project: 'stopped' } }).then((id) => reached(id, 'HELD')),
      create('runs', 'sleep 600', 0).then((id) => (running = id)),
    ])
    // All of it comes without a reload: the counts within two seconds, the latest chains by their events.
    await panel(page, 'Latest').getByRole('link', { name: 'lost-for-good' }).waitFor()
    for (const name of ['Running', 'Waiting', 'Held', 'Failed for good', 'Saved by retries']) {
      await value(page, name).getByText('1', { exact: true }).waitFor()
    }
    const next = panel(page, 'Next retries').getByRole('link', { name: /comes-later/ })
    expect(await next.innerText()).toMatch(/1[45]:\d\d/)
    const due = panel(page, 'Next retries').getByRole('img', { name: /^Due in the next hour, each 5 minutes: / })
    expect(await due.getAttribute('aria-label')).toMatch(/: 0, 0, (1, 0|0, 1)(, 0){8}$/)
    await panel(page, 'Failed for good').getByRole('link', { name: 'lost-for-good' }).waitFor()
    const switches = page.getByRole('list', { name: 'Switches in force' })
    expect(await switches.innerText()).toContain('Retries of project stopped are switched off')

    // The statistics are read less often than the rest: not at all yet with what has failed since.
    await page.reload()
    await value(page, 'Retries succeed')
      .getByText(/100\s%/)
      .waitFor()
    const causes = panel(page, 'Failures by cause')
    await causes.getByRole('link', { name: /4 failed attempts: exit code 4/ }).waitFor()
    await causes.getByText('As a table').click()
    expect(await causes.getByRole('row').last().innerText()).toMatch(/00.*\t4$/)

    for (const [name, path, row] of [
      ['Running', '/chains?state=running', 'runs'],
      ['Waiting', '/retries?phase=waiting', 'comes-later'],
      ['Held', '/retries?phase=held', 'stuck'],
      ['Failed for good', '/chains?state=failed&since=24h', 'lost-for-good'],
      ['Saved by retries', '/chains?state=succeeded&attempts=2&since=24h', 'saved'],
    ] as const) {
      await page.goto('/')
      await tile(page, name).click()
      await page.getByRole('row').filter({ hasText: row }).waitFor()
      const { pathname, search } = new URL(page.url())
      const sorted = (text: string) => [...new URLSearchParams(text)].map(String).toSorted().join(' ')
      expect([pathname, sorted(search)]).toEqual([path.split('?')[0], sorted(path.split('?')[1]!)])
      // As many as the tile said.
      expect(await page.getByRole('row').count()).toBe(2)
    }
    expect(opened.faults).toEqual([])
    await ui.query('mutation ($id: UUID!) { terminateSession(input: { sessionId: $id }) { __typename } }', {
      id: running,
    })
    await reached(running, 'CANCELLED')
  })

  test('is worked with by keys: bars by arrows, each leading to the chains of its time', async () => {
    await using opened = await open()
    const { page } = opened
    await page.goto('/policy')
    await page.getByRole('heading', { name: 'Try a policy' }).waitFor()
    for (const key of ['g', 'o']) await page.keyboard.press(key)
    await page.waitForURL((url) => url.pathname === '/')
    const bars = page.locator('.cause-bar')
    await bars.first().waitFor()
    await page.getByLabel('Time').selectOption('last 31 days')
    await page.waitForURL(/range=31d/)
    await bars.first().waitFor()
    const [entered] = await page.locator('.cause-bar[tabindex="0"]').all()
    await entered!.focus()
    await page.locator('.cause-tip').getByText('exit code').waitFor()
    await page.keyboard.press('ArrowRight')
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/chains\?/)
    const { searchParams } = new URL(page.url())
    expect(Date.parse(searchParams.get('to')!) - Date.parse(searchParams.get('from')!)).toBeGreaterThan(0)
    await page.getByRole('row').filter({ hasText: 'comes-later' }).waitFor()
    expect(opened.faults).toEqual([])
  })

  test('is of one project where that is chosen, also for a viewer', async () => {
    const { createToken } = await ui.query(
      `mutation { createToken(input: { name: "reader", role: VIEWER, project: "stopped" }) {
        ... on CreateTokenPayload { secret } ... on Error { message } } }`,
    )
    await using opened = await open({ token: createToken.secret })
    await opened.page.goto('/')
    await value(opened.page, 'Held').getByText('1', { exact: true }).waitFor()
    expect(await value(opened.page, 'Running').innerText()).toBe('0')
    expect(await opened.page.getByRole('list', { name: 'Switches in force' }).innerText()).toMatch(
      /^Retries of project stopped are switched off since .+ by .+\.\s+Switch on…$/,
    )
    await using chosen = await open()
    await chosen.page.goto('/?project=stopped&colour=red')
    await chosen.page.getByText('left out: colour').waitFor()
    await value(chosen.page, 'Held').getByText('1', { exact: true }).waitFor()
    expect(await value(chosen.page, 'Waiting').innerText()).toBe('0')
    await tile(chosen.page, 'Held').click()
    await chosen.page.waitForURL(/project=stopped/)
    expect([...opened.faults, ...chosen.faults]).toEqual([])
  })

  test('a refusal to read takes the place of the figures, and is tried again', async () => {
    await using opened = await open()
    const { page } = opened
    await ui.database.db.query('ALTER TABLE retry_decisions RENAME TO mislaid')
    try {
      await page.goto('/')
      await page.getByRole('alert').getByText('INTERNAL').waitFor()
      expect(await opened.violations()).toEqual([])
    } finally {
      await ui.database.db.query('ALTER TABLE mislaid RENAME TO retry_decisions')
    }
    await page.getByRole('button', { name: 'Try again' }).click()
    await value(page, 'Waiting').getByText('1', { exact: true }).waitFor()
  })

  describe.each(['light', 'dark'] as const)('%s', (colorScheme) => {
    test.each([1440, 900, 360])('has no fault that axe finds, and nothing beside the page, at %i px', async (width) => {
      await reached(await create(LONG, 'exit 3', 3, { policy: { retryDelay: 700 } }), 'WAITING_RETRY')
      await using opened = await open({ colorScheme, width })
      const { page } = opened
      await page.goto('/')
      await panel(page, 'Latest').getByRole('link', { name: LONG }).first().waitFor()
      await page.locator('.cause-bar').first().waitFor()
      expect(await opened.violations()).toEqual([])
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width)
      expect(opened.faults).toEqual([])
    })
  })
})
