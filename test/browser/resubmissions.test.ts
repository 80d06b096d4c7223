import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { whyNoBrowser } from '../support/browser.ts'
import { eventually } from '../support/eventually.ts'
import { startUiServer, type UiServer } from '../support/servers/ui-server.ts'

/** The record of actions on many chains, of sessions that a real agent ran or that wait for their time. */

const missing = whyNoBrowser()
const MANY = 1_100

describe.skipIf(missing !== null)('the record of actions on many chains', () => {
  let ui: UiServer

  beforeAll(async () => {
    ui = await startUiServer('resubmissions-page')
  })
  afterAll(async () => {
    await ui?.close()
  })

  const rowOf = (page: Page, name: string | RegExp) => page.getByRole('row').filter({ hasText: name })

  /** Sessions that wait for their time, so that they can be acted on. */
  async function createMany(study: string, count: number): Promise<void> {
    const sessions = Array.from({ length: count }, (_, n) => ({
      name: `${study}-${n}`,
      command: ['true'],
      labels: [{ key: 'study', value: study }],
      startsAt: '2090-01-01T00:00:00Z',
    }))
    for (let from = 0; from < count; from += 1_000) {
      await ui.query(
        'mutation ($sessions: [CreateSessionInput!]!) { createSessions(input: { sessions: $sessions }) { __typename } }',
        { sessions: sessions.slice(from, from + 1_000) },
      )
    }
  }

  async function act(field: string, study: string, more = ''): Promise<string> {
    const name = `${field[0]!.toUpperCase()}${field.slice(1)}`
    const data = await ui.query(
      `mutation ($filter: ChainFilter) { ${field}(input: { chainFilter: $filter${more} }) {
        ... on ${name}Payload { resubmission { resubmissionId } } ... on Error { message } } }`,
      { filter: { label: { key: 'study', value: study } } },
    )
    return data[field].resubmission.resubmissionId as string
  }

  /** As long as somebody holds one of its sessions, an action on many does not come to its end. */
  async function hold(name: string): Promise<{ waiters(count: number): Promise<unknown>; release(): Promise<void> }> {
    const [holder, witness] = [await ui.database.connect(), await ui.database.connect()]
    await holder.query('SET transaction_timeout = 0')
    await holder.query('BEGIN')
    const { rowCount } = await holder.query('SELECT FROM sessions WHERE name = $1 FOR UPDATE', [name])
    expect(rowCount).toBe(1)
    // Within one transaction it would be read once only.
    const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
    return {
      waiters: (count) => eventually(async () => (await witness.query(waiting)).rowCount! >= count),
      async release() {
        await holder.query('COMMIT')
        await Promise.all([holder.end(), witness.end()])
      },
    }
  }

  test('without any says what would be here', async () => {
    await using opened = await ui.open()
    const { page } = opened
    await page.goto('/chains')
    await page.getByRole('heading', { name: 'No chains yet' }).waitFor()
    await page.keyboard.press('g')
    await page.keyboard.press('b')
    await page.getByRole('heading', { name: 'No action on many chains yet' }).waitFor()
    expect(new URL(page.url()).pathname).toBe('/resubmissions')
    expect(await opened.violations()).toEqual([])
    expect(opened.faults).toEqual([])
  })

  test('comes by itself, says what it was done to, and is opened by keys', async () => {
    await using opened = await ui.open()
    const { page } = opened
    await page.goto('/resubmissions')
    await page.getByRole('heading', { name: 'No action on many chains yet' }).waitFor()
    const ids = await Promise.all([
      ui.create('broken', 'exit 3', {}, { labels: [{ key: 'study', value: 'mixed' }] }),
      ui.create('well', 'true', {}, { labels: [{ key: 'study', value: 'mixed' }] }),
    ])
    await Promise.all(ids.map((id) => ui.reached(id, ['FAILED', 'SUCCEEDED'])))
    await act(
      'resubmitSessions',
      'mixed',
      ', overrides: { priority: 7, resourceSlots: [{ slot: "mem", amount: "1g" }] }',
    )
    await act('retryNowMany', 'mixed')
    const resubmitted = rowOf(page, /Resubmission of 2.chains/)
    await resubmitted.waitFor()
    expect(await resubmitted.innerText()).toContain('study=mixed')
    expect(await resubmitted.innerText()).toContain('1 done, 1 refused')
    expect(await rowOf(page, /Retry now of 2.chains/).innerText()).toContain('0 done, 2 refused')
    await page.getByLabel('Action').selectOption('Resubmission')
    await rowOf(page, /Retry now of/).waitFor({ state: 'detached' })
    // Until the other answer is there, no row is, and keys select none.
    await resubmitted.waitFor()
    expect(new URL(page.url()).search).toBe('?action=resubmit')
    await page.getByRole('heading', { name: 'Resubmissions', exact: true }).click()
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: /Resubmission of 2.chains/ }).waitFor()
    expect(await page.locator('.resubmission-facts').innerText()).toContain('with priority 7, mem 1g')
    expect(await page.locator('.refusals').innerText()).toMatch(/Why not\s+1\s+succeeded/)
    await rowOf(page, 'well').getByText('includeSucceeded').waitFor()
    await page.getByRole('button', { name: /^Done/ }).click()
    await rowOf(page, 'well').waitFor({ state: 'detached' })
    expect(new URL(page.url()).search).toBe('?show=done')
    await rowOf(page, 'broken').getByRole('link').click()
    await page.waitForURL(new RegExp(`/chains/${ids[0]}`))
    expect(opened.faults).toEqual([])
  })

  test('what goes on is followed to its end, batch by batch, and all of its chains can be looked through', async () => {
    await createMany('followed', MANY)
    await using opened = await ui.open({ isNew: true })
    const { page } = opened
    const seen: string[] = []
    await page.exposeFunction('seen', (text: string) => seen.push(text))
    const held = await hold(`followed-${MANY - 1}`)
    const id = await act('terminateSessions', 'followed')
    await page.goto(`/resubmissions/${id}`)
    await page.getByRole('heading', { name: /Termination of 1.100.chains/ }).waitFor()
    await page.evaluate(() => {
      const bar = document.querySelector('[role=progressbar]')!
      const say = () => void (globalThis as any).seen(bar.getAttribute('aria-valuenow'))
      new MutationObserver(say).observe(bar, { attributes: true })
      say()
    })
    await held.release()
    await page
      .locator('.bulk-figures')
      .getByText(/^1.100$/)
      .nth(1)
      .waitFor()
    await page.getByRole('img', { name: 'completed' }).waitFor()
    expect(seen.length).toBeGreaterThan(1)
    expect(seen.at(-1)).toBe(String(MANY))
    await page.getByRole('button', { name: 'Show more' }).click()
    await page.getByText('200 shown').waitFor()
    expect(await rowOf(page, 'terminated').count()).toBe(200)
    await page.getByRole('button', { name: /^Left/ }).click()
    await page.getByText('None is left.').waitFor()
    expect(opened.faults).toEqual([])
  })

  test('what goes on is stopped, and says what was left undone and by whom', async () => {
    await createMany('stopped', 2_000)
    await using opened = await ui.open()
    const { page } = opened
    const held = await hold('stopped-0')
    const id = await act('terminateSessions', 'stopped')
    await page.goto(`/resubmissions/${id}`)
    await page.getByRole('button', { name: 'Stop here' }).click()
    await held.waiters(2)
    await held.release()
    await page.getByRole('img', { name: 'stopped' }).waitFor()
    await page.getByText(/stopped by admin/).waitFor()
    await page.getByRole('button', { name: /^Left undone/ }).waitFor()
    expect(await opened.violations()).toEqual([])
  })

  test('what is not there, or is not yours, has one page', async () => {
    const { createToken } = await ui.query(
      `mutation { createToken(input: { name: "reader", role: VIEWER, project: "default" }) {
        ... on CreateTokenPayload { secret } ... on Error { message } } }`,
    )
    const id = await act('retryNowMany', 'mixed')
    await using opened = await ui.open({ token: createToken.secret })
    const { page } = opened
    for (const path of [id, '00000000-0000-7000-8000-000000000000', 'nonsense']) {
      await page.goto(`/resubmissions/${path}`)
      await page.getByRole('heading', { name: 'Nothing here' }).waitFor()
    }
    expect(opened.faults).toEqual([])
  })

  test('a refusal to read takes the place of the list, and is tried again', async () => {
    await using opened = await ui.open()
    const { page } = opened
    await ui.database.db.query('ALTER TABLE resubmissions RENAME TO mislaid')
    try {
      await page.goto('/resubmissions?colour=red')
      await page.getByRole('alert').getByText('INTERNAL').waitFor()
      await page.getByText('left out: colour').waitFor()
      expect(await opened.violations()).toEqual([])
    } finally {
      await ui.database.db.query('ALTER TABLE mislaid RENAME TO resubmissions')
    }
    // An event may have the page ask before anyone presses the button.
    const row = rowOf(page, /Resubmission of 2.chains/)
    await page.getByRole('button', { name: 'Try again' }).or(row).first().click()
    await row.waitFor()
  })

  describe.each(['light', 'dark'] as const)('%s', (colorScheme) => {
    test.each([1440, 900, 360])('has no fault that axe finds, and nothing beside the page, at %i px', async (width) => {
      await using opened = await ui.open({ colorScheme, width })
      const { page } = opened
      await page.goto('/resubmissions')
      const link = page.getByRole('link', { name: /Resubmission of 2.chains/ })
      await link.waitFor()
      expect(await opened.violations()).toEqual([])
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width)
      await link.click()
      await rowOf(page, 'well').waitFor()
      expect(await opened.violations()).toEqual([])
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width)
      expect(opened.faults).toEqual([])
    })
  })
})
