import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bundleUi } from '../../scripts/bundle-ui.ts'
import { readUiFiles } from '../../src/http/ui-files.ts'
import { ROOT } from '../guard/source-files.ts'
import { whyNoBrowser } from '../support/browser.ts'
import { startGraphQLServer, type TestServer } from '../support/servers/graphql-server.ts'
import { visit } from '../support/visit.ts'

const missing = whyNoBrowser()
const LONG = `a-name-${'that-a-workflow-engine-made-'.repeat(6)}end`

describe.skipIf(missing !== null)('the list of chains', () => {
  let server: TestServer

  beforeAll(async () => {
    server = await startGraphQLServer({ ui: await readUiFiles(await bundleUi(ROOT)) })
    await create('steady', 'team', 'cms')
    await create('train-vision-812', 'team', 'atlas')
    await create(LONG, 'team', 'cms')
  })
  afterAll(async () => {
    await server?.close()
  })

  async function create(name: string, key = 'team', value = 'none'): Promise<string> {
    const { data } = await server.query(
      `mutation ($input: CreateSessionInput!) {
        createSession(input: $input) { ... on CreateSessionPayload { session { sessionId } } ... on Error { message } }
      }`,
      { input: { name, command: ['true'], labels: [{ key, value }], retryPolicy: { maxRetries: 3, retryDelay: 600 } } },
    )
    return data.createSession.session.sessionId as string
  }

  const open = (options: { width?: number; height?: number; colorScheme?: 'light' | 'dark' } = {}) => {
    const { width = 1440, height = 900, ...rest } = options
    return visit({ url: server.url, token: server.adminToken, viewport: { width, height }, ...rest })
  }
  const rowOf = (page: Page, name: string) => page.getByRole('row').filter({ hasText: name })

  test('shows one row for each chain, and how many are in each state', async () => {
    await using opened = await open()
    const { page } = opened
    await page.goto('/chains')
    await rowOf(page, 'steady').waitFor()
    expect(await rowOf(page, 'steady').innerText()).toContain('queued')
    expect(await rowOf(page, 'steady').getByRole('img').getAttribute('aria-label')).toBe('queued')
    expect(await page.getByRole('button', { name: /^Running/ }).innerText()).toMatch(/3/)
    expect(opened.faults).toEqual([])
  })

  test('is narrowed by its address, and by what changes it', async () => {
    await using opened = await open()
    const { page } = opened
    await page.goto('/chains?label=team:cms&since=24h')
    await rowOf(page, 'steady').waitFor()
    expect(await rowOf(page, 'train-vision').count()).toBe(0)
    await page.getByRole('button', { name: 'Remove the label team:cms' }).click()
    await rowOf(page, 'train-vision').waitFor()
    expect(new URL(page.url()).search).toBe('?since=24h')
    await page.keyboard.press('/')
    await page.keyboard.type('vision')
    await page.keyboard.press('Enter')
    await rowOf(page, 'steady').waitFor({ state: 'detached' })
    expect(new URL(page.url()).searchParams.get('q')).toBe('vision')
    await page.getByRole('button', { name: /^Failed/ }).click()
    await page.getByRole('heading', { name: 'No chain fits' }).waitFor()
    await page.getByRole('button', { name: 'state failed' }).click()
    await rowOf(page, 'train-vision').waitFor()
    expect(opened.faults).toEqual([])
  })

  test('names what it does not understand of its address', async () => {
    await using opened = await open()
    await opened.page.goto('/chains?state=burning&colour=red')
    await opened.page.getByText('left out: state, colour').waitFor()
    await rowOf(opened.page, 'steady').waitFor()
  })

  test('shows new chains by itself while nobody touches it, and behind a pill while somebody does', async () => {
    await using opened = await open()
    const { page } = opened
    await page.goto('/chains')
    await page.getByText('Live', { exact: true }).waitFor()
    await create('came-by-itself')
    await rowOf(page, 'came-by-itself').waitFor()
    await page.getByRole('link', { name: 'steady' }).hover()
    await page.keyboard.press('j')
    await create('came-later')
    const pill = page.getByRole('button', { name: /1 new/ })
    // Somebody goes on moving the pointer.
    const moving = setInterval(() => void page.mouse.move(600 + Math.random() * 50, 500), 200)
    await pill.waitFor()
    clearInterval(moving)
    expect(await rowOf(page, 'came-later').count()).toBe(0)
    await pill.click()
    await rowOf(page, 'came-later').waitFor()
    expect(opened.faults).toEqual([])
  })

  test('is worked with by keys alone', async () => {
    await using opened = await open()
    const { page } = opened
    await page.goto('/chains?order=name')
    await rowOf(page, 'steady').waitFor()
    for (const key of ['j', 'j', 'x']) await page.keyboard.press(key)
    await page.getByText('1 selected').waitFor()
    await page.keyboard.press('r')
    // Nothing waits for a retry: the refusal stands beside a page that is kept.
    await page.locator('.toast.refused').waitFor()
    await page.keyboard.press('Escape')
    await page.getByText('1 selected').waitFor({ state: 'detached' })
    await page.keyboard.press('?')
    await page.getByRole('dialog').getByText('next row').waitFor()
    expect(await opened.violations()).toEqual([])
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/chains\/[0-9a-f-]{36}/)
    await page.keyboard.press('g')
    await page.keyboard.press('c')
    await page.waitForURL(/\/chains$/)
    expect(opened.faults).toEqual([])
  })

  test('goes to a date, and narrows what it lists to that', async () => {
    await using opened = await open()
    const { page } = opened
    await page.goto('/chains')
    await rowOf(page, 'steady').waitFor()
    await page.getByRole('button', { name: 'Go to a date' }).click()
    await page.getByLabel('Day to go to').fill('2026-01-15')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'No chain fits' }).waitFor()
    expect(new URL(page.url()).search).toBe('?to=2026-01-16T00%3A00%3A00.000Z')
    await page.getByRole('button', { name: 'Remove before 16 Jan, 00:00' }).click()
    await rowOf(page, 'steady').waitFor()
    expect(new URL(page.url()).search).toBe('')
    expect(opened.faults).toEqual([])
  })

  test('has views with names, which stay, and are forgotten', async () => {
    await using opened = await open()
    const { page } = opened
    await page.goto('/chains?label=team:cms&since=24h')
    await rowOf(page, 'steady').waitFor()
    await page.getByRole('button', { name: 'View: Views' }).click()
    await page.getByRole('menuitem', { name: 'Save this view' }).click()
    await page.getByLabel('Name of the view').fill('of cms')
    expect(await opened.violations()).toEqual([])
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'View: of cms' }).waitFor()
    await page.goto('/chains')
    await rowOf(page, 'train-vision').waitFor()
    await page.getByRole('button', { name: 'View: Views' }).click()
    await page.getByRole('menuitem', { name: 'of cms' }).click()
    await rowOf(page, 'train-vision').waitFor({ state: 'detached' })
    expect(Object.fromEntries(new URL(page.url()).searchParams)).toEqual({ label: 'team:cms', since: '24h' })
    await page.getByRole('button', { name: 'View: of cms' }).click()
    await page.getByRole('menuitem', { name: 'Forget of cms' }).click()
    await page.reload()
    await page.getByRole('button', { name: 'View: Views' }).click()
    await page.getByRole('menuitem', { name: 'Save this view' }).waitFor()
    expect(await page.getByRole('menuitem').count()).toBe(1)
    expect(opened.faults).toEqual([])
  })

  test('has the columns that were chosen, also after a reload', async () => {
    await using opened = await open()
    const { page } = opened
    await page.goto('/chains')
    await rowOf(page, 'steady').waitFor()
    const nameWidth = async () => (await page.locator('.chain-row.head .chain-name').boundingBox())!.width
    const before = await nameWidth()
    await page.getByRole('button', { name: 'Columns' }).click()
    await page.getByRole('menuitem', { name: 'Outlook' }).click()
    await page.getByRole('columnheader', { name: 'Outlook' }).waitFor({ state: 'hidden' })
    await page.reload()
    await rowOf(page, 'steady').waitFor()
    expect(await page.getByRole('columnheader', { name: 'Outlook' }).count()).toBe(0)
    expect(await nameWidth()).toBeGreaterThan(before)
    expect(await opened.violations()).toEqual([])
    await page.getByRole('button', { name: 'Columns' }).click()
    await page.getByRole('menuitem', { name: 'Outlook' }).click()
    await page.getByRole('columnheader', { name: 'Outlook' }).waitFor()
    expect(opened.faults).toEqual([])
  })

  describe.each(['light', 'dark'] as const)('%s', (colorScheme) => {
    test.each([1440, 900, 360])('has no fault that axe finds, and nothing beside the page, at %i px', async (width) => {
      await using opened = await open({ colorScheme, width })
      const { page } = opened
      await page.goto('/chains')
      await rowOf(page, 'steady').waitFor()
      expect(await opened.violations()).toEqual([])
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width)
      expect(opened.faults).toEqual([])
    })
  })

  test('at 200 % everything can be reached', async () => {
    await using opened = await open({ width: 640, height: 400 })
    await opened.page.goto('/chains')
    await rowOf(opened.page, 'steady').waitFor()
    expect(await opened.page.evaluate(() => document.documentElement.scrollWidth)).toBe(640)
  })

  describe('in the theme that was chosen', () => {
    test('it is painted from the first moment', async () => {
      await using opened = await open({ colorScheme: 'light' })
      const { page } = opened
      await page.goto('/chains')
      await page.getByRole('button', { name: /theme, times, keys, log out/ }).click()
      await page.getByRole('menuitem', { name: 'Dark theme' }).click()
      const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor)
      expect(await background()).toBe('rgb(13, 16, 21)')
      const response = await page.reload()
      expect(await response!.text()).toContain('data-theme="dark"')
      expect(await background()).toBe('rgb(13, 16, 21)')
      expect(opened.faults).toEqual([])
    })
  })

  test('says that the token is gone over a page that stays readable, and goes on after a login', async () => {
    const token = await server.factory.token({ role: 'ADMIN' })
    await using opened = await visit({ url: server.url, token })
    const { page } = opened
    await page.goto('/chains')
    await rowOf(page, 'steady').waitFor()
    const { data } = await server.query('{ viewer { tokenId } }', {}, token)
    await server.query('mutation ($id: UUID!) { revokeToken(input: { tokenId: $id }) { __typename } }', {
      id: data.viewer.tokenId,
    })
    await page.getByRole('dialog', { name: 'You are no longer logged in' }).waitFor()
    // What is behind a dialog has no role.
    expect(await page.locator('.table-link', { hasText: 'steady' }).isVisible()).toBe(true)
    await page.getByLabel('Token').fill(server.adminToken)
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await rowOf(page, 'steady').waitFor()
  })
})

describe.skipIf(missing !== null)('without any chain', () => {
  test('says how to make the first one', async () => {
    const server = await startGraphQLServer({ ui: await readUiFiles(await bundleUi(ROOT)) })
    try {
      await using opened = await visit({ url: server.url, token: server.adminToken })
      await opened.page.goto('/chains')
      await opened.page.getByRole('heading', { name: 'No chains yet' }).waitFor()
      expect(await opened.violations()).toEqual([])
      expect(opened.faults).toEqual([])
    } finally {
      await server.close()
    }
  })
})
