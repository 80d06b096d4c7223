import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { whyNoBrowser } from '../support/browser.ts'
import { startUiServer, type UiServer } from '../support/servers/ui-server.ts'

/** Failures of sessions that a real agent ran: with two exit codes, and for want of an image. */

const missing = whyNoBrowser()
const LONG = `a-name-${'that-a-workflow-engine-made-'.repeat(6)}end`

describe.skipIf(missing !== null)('the page of failures', () => {
  let ui: UiServer

  beforeAll(async () => {
    ui = await startUiServer('failures-page')
  })
  afterAll(async () => {
    await ui?.close()
  })

  const create = (name: string, input: { exit?: number; retries?: number; image?: string; team?: string }) => {
    const { exit = 0, retries = 0, image, team = 'cms' } = input
    return ui.create(
      name,
      `test $REPRISE_ATTEMPT -ge 2 || exit ${exit}`,
      { maxRetries: retries, retryDelay: 0.1 },
      { labels: [{ key: 'team', value: team }], ...(image !== undefined && { image }) },
    )
  }
  const reached = (chainId: string, state: string) => ui.reached(chainId, [state])
  const open = (options: Parameters<UiServer['open']>[0] = {}) => ui.open(options)
  const group = (page: Page, name: string | RegExp) =>
    page
      .getByRole('table', { name: /^Failed attempts by/ })
      .getByRole('row')
      .filter({ hasText: name })

  test('without any failure says so', async () => {
    await using opened = await open()
    const { page } = opened
    await page.goto('/failures')
    await page.getByText('No attempt has failed in the last 24 hours.').first().waitFor()
    expect(await opened.violations()).toEqual([])
    expect(opened.faults).toEqual([])
  })

  test('are counted by cause, and each number leads to the chains that it counts', async () => {
    await Promise.all([
      create('broken', { exit: 7 }).then((id) => reached(id, 'FAILED')),
      create('broken', { exit: 7, team: 'nlp' }).then((id) => reached(id, 'FAILED')),
      create('saved', { exit: 9, retries: 2 }).then((id) => reached(id, 'SUCCEEDED')),
      create('without-image', { image: 'no-such-image' }).then((id) => reached(id, 'FAILED')),
    ])
    await using opened = await open()
    const { page } = opened
    await page.goto('/chains')
    await page.getByRole('row').filter({ hasText: 'broken' }).first().waitFor()
    for (const key of ['g', 'f']) await page.keyboard.press(key)
    await page.getByRole('heading', { name: 'Failures' }).waitFor()
    await page.getByText(/^4 of 5 attempts that ended failed/).waitFor()
    const cells = async (name: string | RegExp) =>
      (await group(page, name).getByRole('cell').allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' ').trim())
    expect((await cells('exit code')).slice(1, -1)).toEqual(['3', '3', '2', '100 % of 1'])
    expect((await cells('image not pulled')).slice(1, -1)).toEqual(['1', '1', '1', '–'])

    const rows = async () => {
      await page.waitForURL((url) => url.pathname === '/chains')
      await page.getByRole('table', { name: 'Chains' }).locator('.table-link').first().waitFor()
      return (await page.locator('.table-link').allInnerTexts()).toSorted()
    }
    await group(page, 'exit code').getByRole('link', { name: '3 chains', exact: true }).click()
    // Also the one that has succeeded since.
    expect(await rows()).toEqual(['broken', 'broken', 'saved'])
    expect(await page.getByRole('button', { name: 'Remove an attempt failed: exit code' }).isVisible()).toBe(true)
    await page.goBack()
    await group(page, 'exit code').getByRole('link', { name: '2 chains that failed for good' }).click()
    expect(await rows()).toEqual(['broken', 'broken'])
    await page.goBack()
    await page.getByRole('link', { name: /4 failed attempts: exit code 3, image not pulled 1$/ }).click()
    expect(await rows()).toEqual(['broken', 'broken', 'saved', 'without-image'])

    for (const [tab, what, by, names] of [
      ['Exit code', 'exit code 9', 'exit', ['saved']],
      ['Name', 'broken', 'name', ['broken', 'broken']],
      ['Label', 'team=nlp', 'label', ['broken']],
    ] as const) {
      await page.goto('/failures')
      await page.getByRole('button', { name: tab, exact: true }).click()
      await group(page, what).getByRole('link').first().click()
      expect(await rows()).toEqual(names)
      await page.goBack()
      expect(new URL(page.url()).search).toBe(`?by=${by}`)
    }
    await page.goto('/failures?by=agent')
    await page.getByRole('table', { name: 'Failed attempts by agent' }).getByRole('link').first().click()
    expect(await rows()).toEqual(['broken', 'broken', 'saved', 'without-image'])
    expect(opened.faults).toEqual([])
  })

  test('are those of a cause where that is chosen, in numbers or shares, and in a time', async () => {
    await using opened = await open()
    const { page } = opened
    await page.goto('/failures?colour=red')
    await page.getByText('left out: colour').waitFor()
    await page
      .getByRole('list', { name: 'Causes' })
      .getByRole('link', { name: /image not pulled/ })
      .click()
    await page.getByRole('link', { name: /1 failed attempt: image not pulled 1$/ }).waitFor()
    await group(page, 'exit code').waitFor({ state: 'detached' })
    await page.getByLabel('Bars of').selectOption('shares')
    await page.getByLabel('Time').selectOption('last hour')
    await page.waitForURL(/range=1h/)
    expect(new URL(page.url()).search).toMatch(/^\?(?!.*colour)(?=.*cause=image)(?=.*view=share)/)
    await page.getByText('100%').waitFor()
    await page.getByText('As a table').click()
    expect(await page.locator('.cause-table tbody tr').innerText()).toMatch(/to \d\d:\d\d\t1$/)
    await page
      .getByRole('list', { name: 'Causes' })
      .getByRole('link', { name: /image not pulled/ })
      .click()
    await group(page, 'exit code').waitFor()
    expect(opened.faults).toEqual([])
  })

  test('of another project are not told', async () => {
    await ui.query('mutation { createProject(input: { name: "empty" }) { __typename } }')
    const { createToken } = await ui.query(
      `mutation { createToken(input: { name: "reader", role: VIEWER, project: "empty" }) {
        ... on CreateTokenPayload { secret } ... on Error { message } } }`,
    )
    await using opened = await open({ token: createToken.secret })
    await opened.page.goto('/failures')
    await opened.page.getByText('No attempt has failed in the last 24 hours.').first().waitFor()
    expect(opened.faults).toEqual([])
  })

  test('a refusal to read takes their place, and is tried again', async () => {
    await using opened = await open()
    const { page } = opened
    await ui.database.db.query('ALTER TABLE retry_decisions RENAME TO mislaid')
    try {
      await page.goto('/failures')
      await page.getByRole('alert').getByText('INTERNAL').waitFor()
      expect(await opened.violations()).toEqual([])
    } finally {
      await ui.database.db.query('ALTER TABLE mislaid RENAME TO retry_decisions')
    }
    await page.getByRole('button', { name: 'Try again' }).click()
    await group(page, 'exit code').waitFor()
  })

  describe.each(['light', 'dark'] as const)('%s', (colorScheme) => {
    test.each([1440, 900, 360])('has no fault that axe finds, and nothing beside the page, at %i px', async (width) => {
      await reached(await create(LONG, { exit: 3 }), 'FAILED')
      await using opened = await open({ colorScheme, width })
      const { page } = opened
      await page.goto('/failures?by=name')
      await group(page, LONG).waitFor()
      await page.locator('.cause-bar').first().waitFor()
      expect(await opened.violations()).toEqual([])
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width)
      expect(opened.faults).toEqual([])
    })
  })
})
