import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { whyNoBrowser } from '../support/browser.ts'
import { startUiServer, type UiServer } from '../support/servers/ui-server.ts'

/** The list of sessions of all types, that a real agent runs. */

const missing = whyNoBrowser()
const LONG = `a-name-${'that-a-workflow-engine-made-'.repeat(6)}end`

describe.skipIf(missing !== null)('the sessions', () => {
  let server: UiServer
  const running: string[] = []

  beforeAll(async () => {
    server = await startUiServer('sessions-page')
  })
  afterAll(async () => {
    await server?.close()
  })

  async function create(name: string, script: string, sessionType = 'BATCH'): Promise<void> {
    const resourceSlots = [{ slot: 'cpu', amount: '0.1' }]
    running.push(await server.create(name, script, {}, { sessionType, resourceSlots }))
  }

  const open = (options: { width?: number; colorScheme?: 'light' | 'dark' } = {}) => server.open(options)
  const rowOf = (page: Page, name: string) => page.getByRole('row').filter({ hasText: name })

  test('come by themselves, of every type, and go on while somebody looks', async () => {
    await using opened = await open()
    const { page } = opened
    await page.goto('/sessions')
    await page.getByRole('heading', { name: 'No sessions yet' }).waitFor()
    expect(await opened.violations()).toEqual([])
    await create('notebook', 'exec sleep 600', 'INTERACTIVE')
    await create('fails', 'exit 7')
    await create(LONG, 'exec sleep 600')
    await rowOf(page, 'fails').getByText('exit code 7').waitFor()
    await rowOf(page, 'notebook').getByText('running').waitFor()
    expect(await rowOf(page, 'notebook').innerText()).toContain('interactive')

    await page.getByRole('button', { name: 'Interactive' }).click()
    await rowOf(page, 'fails').waitFor({ state: 'detached' })
    expect(new URL(page.url()).search).toBe('?type=interactive')
    await page.getByLabel('Status').selectOption('failed')
    await page.getByRole('heading', { name: 'No session fits' }).waitFor()
    await page.getByRole('button', { name: 'type interactive' }).click()
    await rowOf(page, 'fails').waitFor()
    await page.goto('/sessions?q=note&agent=no-id')
    await page.getByText('left out: agent').waitFor()
    await rowOf(page, 'notebook').waitFor()
    expect(await rowOf(page, 'fails').count()).toBe(0)
    expect(opened.faults).toEqual([])
  })

  test('a row stays under the pointer while others come', async () => {
    await using opened = await open()
    const { page } = opened
    await page.goto('/sessions')
    await rowOf(page, 'notebook').hover()
    const before = await page.getByRole('link', { name: 'notebook' }).boundingBox()
    const told = page.waitForResponse(
      async (response) => response.url().endsWith('/graphql') && (await response.text()).includes('"newest"'),
    )
    await create('newest', 'true')
    await told
    expect(await page.getByRole('link', { name: 'notebook' }).boundingBox()).toEqual(before)
    await page.mouse.move(5, 400)
    await rowOf(page, 'newest').waitFor()
    expect(opened.faults).toEqual([])
  })

  test('the id of one leads to its chain and its attempt, whatever its type; an id that nothing has says so', async () => {
    await using opened = await open()
    const { page } = opened
    // Its first session has the id of its chain.
    await page.goto(`/sessions/${running[0]}`)
    await page.waitForURL(/\/chains\/[0-9a-f-]{36}\?attempt=1$/)
    await page.getByRole('heading', { name: 'notebook' }).waitFor()
    await page.goto('/sessions/00000000-0000-7000-8000-000000000000')
    await page.getByRole('heading', { name: 'There is no such session' }).waitFor()
    expect(await opened.violations()).toEqual([])
    await page.getByRole('link', { name: 'To the sessions' }).click()
    await rowOf(page, 'notebook').waitFor()
    expect(opened.faults).toEqual([])
  })

  test('times are written in the zone that was chosen, and say so', async () => {
    await using opened = await server.open({ timezoneId: 'Asia/Kolkata' })
    const { page } = opened
    await page.goto('/sessions')
    const time = rowOf(page, 'notebook').locator('time').last()
    expect(await time.getAttribute('title')).toMatch(/^created .* \+05:30$/)
    await page.getByRole('button', { name: /admin.*times/ }).click()
    await page.getByRole('menuitem', { name: 'Times in UTC' }).click()
    expect(await time.getAttribute('title')).toMatch(/^created .* UTC$/)
    await page.getByRole('link', { name: 'notebook' }).click()
    await page.getByText('times in UTC').waitFor()
    await page.reload()
    await page.getByText('times in UTC').waitFor()
    expect(opened.faults).toEqual([])
  })

  test('what cannot be read says so in its place', async () => {
    await using opened = await open()
    const { page } = opened
    await server.database.db.query('ALTER TABLE resource_groups RENAME TO mislaid')
    try {
      await page.goto('/sessions')
      await page.getByRole('alert').getByText('INTERNAL').waitFor()
      expect(await opened.violations()).toEqual([])
    } finally {
      await server.database.db.query('ALTER TABLE mislaid RENAME TO resource_groups')
    }
    await page.getByRole('button', { name: 'Try again' }).click()
    await rowOf(page, 'notebook').waitFor()
  })

  describe.each(['light', 'dark'] as const)('%s', (colorScheme) => {
    test.each([1440, 900, 360])(
      'have no fault that axe finds, and nothing beside the page, at %i px',
      async (width) => {
        await using opened = await open({ colorScheme, width })
        const { page } = opened
        await page.goto('/sessions')
        await rowOf(page, LONG).waitFor()
        expect(await opened.violations()).toEqual([])
        expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width)
        expect(opened.faults).toEqual([])
      },
    )
  })
})
