import { expect, test } from 'vitest'
import { hold, untilBlocked } from '../support/database/blocked.ts'
import { describeUi, rowOf, testAppearance } from '../support/ui-suite.ts'

/** The record of actions on many chains, of sessions that a real agent ran or that wait for their time. */

const MANY = 1_100

describeUi('the record of actions on many chains', {}, (ui) => {
  let resubmission: string

  /** Sessions that wait for their time, so that they can be acted on. */
  async function createMany(study: string, count: number): Promise<void> {
    const sessions = Array.from({ length: count }, (_, n) => ({
      name: `${study}-${n}`,
      project: ui.project,
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

  /** Locks a session, which keeps an action on many sessions from its end. */
  const holdSession = (name: string) =>
    hold(ui.database, `SELECT 1 / count(*) FROM (SELECT FROM sessions WHERE name = '${name}' FOR UPDATE) AS held`)

  test('an empty list says so', async () => {
    await using opened = await ui.open()
    const { page } = opened
    await page.goto('/chains')
    await page.getByRole('heading', { name: 'No chains yet' }).waitFor()
    for (const key of ['g', 'b']) await page.keyboard.press(key)
    await page.getByRole('heading', { name: 'No action on many chains yet' }).waitFor()
    expect(new URL(page.url()).pathname).toBe('/bulk-actions')
    expect(await opened.violations()).toEqual([])
    expect(opened.faults).toEqual([])
  })

  test('an action appears by itself with its filter and its results, and opens by keys', async () => {
    await using opened = await ui.open()
    const { page } = opened
    await page.goto('/bulk-actions')
    await page.getByRole('heading', { name: 'No action on many chains yet' }).waitFor()
    const ids = await Promise.all([
      ui.create('broken', 'exit 3', {}, { labels: [{ key: 'study', value: 'mixed' }] }),
      ui.create('well', 'true', {}, { labels: [{ key: 'study', value: 'mixed' }] }),
    ])
    await Promise.all(ids.map((id) => ui.reached(id, ['FAILED', 'SUCCEEDED'])))
    resubmission = await act(
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
    await page.getByLabel('Action', { exact: true }).selectOption('Resubmission')
    await rowOf(page, /Retry now of/).waitFor({ state: 'detached' })
    // Until the other answer is there, no row is, and keys select none.
    await resubmitted.waitFor()
    expect(new URL(page.url()).search).toBe('?action=resubmit')
    await page.getByRole('heading', { name: 'Bulk actions', exact: true }).click()
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: /Resubmission of 2.chains/ }).waitFor()
    expect(await page.locator('.bulk-action-facts').innerText()).toContain('with priority 7, mem 1g')
    expect(await page.locator('.refusals').innerText()).toMatch(/Why not\s+1\s+succeeded/)
    await rowOf(page, 'well').getByText('includeSucceeded').waitFor()
    await page.getByRole('button', { name: /^Done/ }).click()
    await rowOf(page, 'well').waitFor({ state: 'detached' })
    expect(new URL(page.url()).search).toBe('?show=done')
    await rowOf(page, 'broken').getByRole('link').click()
    await page.waitForURL(new RegExp(`/chains/${ids[0]}`))
    expect(opened.faults).toEqual([])
  })

  test('a running action is followed to its end batch by batch, and all its chains are listed', async () => {
    await createMany('followed', MANY)
    await using opened = await ui.open({ isNew: true })
    const { page } = opened
    const seen: string[] = []
    await page.exposeFunction('seen', (text: string) => seen.push(text))
    const release = await holdSession(`followed-${MANY - 1}`)
    const id = await act('terminateSessions', 'followed')
    await page.goto(`/bulk-actions/${id}`)
    await page.getByRole('heading', { name: /Termination of 1.100.chains/ }).waitFor()
    await page.evaluate(() => {
      const bar = document.querySelector('[role=progressbar]')!
      const say = () => void (globalThis as any).seen(bar.getAttribute('aria-valuenow'))
      new MutationObserver(say).observe(bar, { attributes: true })
      say()
    })
    await release()
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

  test('a running action is stopped, and shows by whom and what was left undone', async () => {
    await createMany('stopped', 2_000)
    await using opened = await ui.open()
    const { page } = opened
    const release = await holdSession('stopped-0')
    const id = await act('terminateSessions', 'stopped')
    await page.goto(`/bulk-actions/${id}`)
    await page.getByRole('button', { name: 'Stop here' }).click()
    await untilBlocked(ui.database.db, 2)
    await release()
    await page.getByRole('img', { name: 'stopped' }).waitFor()
    await page.getByText(/stopped by admin-of/).waitFor()
    await page.getByRole('button', { name: /^Left undone/ }).waitFor()
    expect(await opened.violations()).toEqual([])
  })

  test('the former addresses lead to the actions and to each of them', async () => {
    await using opened = await ui.open()
    const { page } = opened
    await page.goto('/resubmissions?action=resubmit')
    await rowOf(page, /Resubmission of 2.chains/).waitFor()
    expect(new URL(page.url()).pathname).toBe('/bulk-actions')
    expect(new URL(page.url()).search).toBe('?action=resubmit')
    await page.goto(`/resubmissions/${resubmission}?show=refused`)
    await rowOf(page, 'well').waitFor()
    expect(page.url()).toContain(`/bulk-actions/${resubmission}?show=refused`)
    expect(await page.title()).toMatch(/^Resubmission of 2.chains · Reprise$/)
    await page.keyboard.press('Control+k')
    await page.getByLabel('A chain, a page or an action').fill('bulk')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Bulk actions', exact: true }).waitFor()
    expect(await page.title()).toBe('Bulk actions · Reprise')
    expect(opened.faults).toEqual([])
  })

  test('an unknown action and one of another project have the same page', async () => {
    const viewer = await ui.cluster.tokenOf('VIEWER')
    const id = await act('retryNowMany', 'mixed')
    await using opened = await ui.open({ token: viewer })
    const { page } = opened
    for (const path of [id, '00000000-0000-7000-8000-000000000000', 'nonsense']) {
      await page.goto(`/bulk-actions/${path}`)
      await page.getByRole('heading', { name: 'Nothing here' }).waitFor()
    }
    expect(opened.faults).toEqual([])
  })

  test('an error takes the place of the list, and the page tries again', async () => {
    await using opened = await ui.open()
    const { page } = opened
    await ui.database.db.query('ALTER TABLE resubmissions RENAME TO mislaid')
    try {
      await page.goto('/bulk-actions?colour=red')
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

  testAppearance(ui, [
    ['/bulk-actions', (page) => page.getByRole('link', { name: /Resubmission of 2.chains/ }).waitFor()],
    [() => `/bulk-actions/${resubmission}`, (page) => rowOf(page, 'well').waitFor()],
  ])
})
