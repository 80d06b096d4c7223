import { beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { describePages, describeUi, rowOf, testAppearance, testUnreadable } from '../support/ui-suite.ts'

const LONG = `a-name-${'that-a-workflow-engine-made-'.repeat(6)}end`

describePages('the list of chains', (server) => {
  beforeAll(async () => {
    await create('steady', 'team', 'cms')
    await create('train-vision-812', 'team', 'atlas')
    await create(LONG, 'team', 'cms')
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

  test('shows one row for each chain, and how many are in each state', async () => {
    await using opened = await server.open()
    const { page } = opened
    await page.goto('/chains')
    await rowOf(page, 'steady').waitFor()
    expect(await rowOf(page, 'steady').innerText()).toContain('queued')
    expect(await rowOf(page, 'steady').getByRole('img').getAttribute('aria-label')).toBe('queued')
    expect(await page.getByRole('button', { name: /^Queued/ }).innerText()).toMatch(/3/)
    expect(opened.faults).toEqual([])
  })

  test('is filtered by its address, which each filter changes', async () => {
    await using opened = await server.open()
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

  test('is sorted by its columns, and one row is one row high', async () => {
    await using opened = await server.open()
    const { page } = opened
    await page.goto('/chains')
    await rowOf(page, 'steady').waitFor()
    const head = (name: string) => page.getByRole('columnheader', { name })
    const names = () => page.locator('.chain-name > .table-link').allInnerTexts()
    expect(await head('Latest').getAttribute('aria-sort')).toBe('descending')
    await head('Name').getByRole('button').click()
    await page.waitForURL(/[?&]order=name$/)
    await eventually(async () => (await names())[0] === LONG)
    expect(await head('Name').getAttribute('aria-sort')).toBe('ascending')
    await head('Name').getByRole('button').click()
    await eventually(async () => (await names()).at(-1) === LONG)
    expect(await opened.violations()).toEqual([])
    await head('Name').getByRole('button').click()
    await page.waitForURL(/\/chains$/)
    await page.goto('/chains?q=steady')
    await rowOf(page, 'steady').waitFor()
    const panel = await page.locator('.table-panel').boundingBox()
    expect(panel!.height).toBeLessThan(31 + 2 * 37)
    expect(opened.faults).toEqual([])
  })

  test('names the parameters of its address that it ignores', async () => {
    await using opened = await server.open()
    await opened.page.goto('/chains?state=burning&colour=red')
    await opened.page.getByText('left out: state, colour').waitFor()
    await rowOf(opened.page, 'steady').waitFor()
  })

  test('shows new chains at once while nobody uses it, and behind a pill while somebody does', async () => {
    await using opened = await server.open()
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

  test('can be used by keys alone', async () => {
    await using opened = await server.open()
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

  test('goes to a date, and lists what was created before its end', async () => {
    await using opened = await server.open()
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

  test('saves views under names, and forgets them', async () => {
    await using opened = await server.open()
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

  test('keeps the chosen columns after a reload', async () => {
    await using opened = await server.open()
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

  testAppearance(server, [['/chains', (page) => rowOf(page, 'steady').waitFor()]])

  describe('the chosen theme', () => {
    test('is there from the first paint', async () => {
      await using opened = await server.open({ colorScheme: 'light' })
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

  test('asks for a new login over a page that stays readable, and goes on after it', async () => {
    const token = await server.factory.token({ role: 'ADMIN' })
    await using opened = await server.open({ token })
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

  // Last: it creates more chains than fit on the page.
  test('the way back from a chain leads to the same row of the list', async () => {
    for (let number = 1; number <= 150; number++) await create(`numbered-${number}`, 'list', 'long')
    await using opened = await server.open()
    const { page } = opened
    await page.goto('/chains?label=list:long&order=created')
    const table = page.getByRole('table', { name: 'Chains' })
    await rowOf(page, /^numbered-1/)
      .first()
      .waitFor()
    // The rows below are read as the list is scrolled.
    const wanted = page.getByRole('link', { name: 'numbered-140', exact: true })
    await eventually(async () => {
      await table.evaluate((element) => element.scrollBy({ top: 600 }))
      return (await wanted.count()) > 0
    })
    await wanted.focus()
    await wanted.scrollIntoViewIfNeeded()
    const before = await table.evaluate(({ scrollTop }) => scrollTop)
    expect(before).toBeGreaterThan(3_000)
    const isBack = async () => {
      await page.waitForURL(/label=list/)
      await eventually(async () => (await page.evaluate(() => document.activeElement?.textContent)) === 'numbered-140')
      expect(await table.evaluate(({ scrollTop }) => scrollTop)).toBe(before)
    }
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'numbered-140' }).waitFor()
    expect(await page.title()).toBe('queued · numbered-140 · Reprise')
    await page.goBack()
    await isBack()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'numbered-140' }).waitFor()
    await page.getByRole('main').getByRole('link', { name: 'Chains', exact: true }).click()
    await isBack()
    // What the list shows is up to date.
    await create('numbered-new', 'list', 'long')
    await page.getByText(/1 new/).waitFor()
    // A new visit begins at the top.
    await page
      .getByRole('navigation', { name: 'Pages' })
      .getByRole('link', { name: /^Chains/ })
      .click()
    await page.waitForURL((url) => url.search === '')
    await eventually(async () => (await table.evaluate(({ scrollTop }) => scrollTop)) === 0)
    expect(opened.faults).toEqual([])
  })
})

describePages('the list without any chain', (server) => {
  test('says how to make the first one', async () => {
    await using opened = await server.open()
    await opened.page.goto('/chains')
    await opened.page.getByRole('heading', { name: 'No chains yet' }).waitFor()
    expect(await opened.violations()).toEqual([])
    expect(opened.faults).toEqual([])
  })
})

/** The list of sessions of all types, that a real agent runs. */

describeUi('the sessions', {}, (ui) => {
  const running: string[] = []

  async function create(name: string, script: string, sessionType = 'BATCH'): Promise<void> {
    const resourceSlots = [{ slot: 'cpu', amount: '0.1' }]
    running.push(await ui.create(name, script, {}, { sessionType, resourceSlots }))
  }

  test('sessions of every type appear by themselves, and their states change while the page is open', async () => {
    await using opened = await ui.open()
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
    await using opened = await ui.open()
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

  test('the id of a session leads to its attempt in its chain; an unknown id says so', async () => {
    await using opened = await ui.open()
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

  test('times are shown in the chosen time zone, which is named', async () => {
    await using opened = await ui.open({ timezoneId: 'Asia/Kolkata' })
    const { page } = opened
    await page.goto('/sessions')
    const time = rowOf(page, 'notebook').locator('time').last()
    expect(await time.getAttribute('title')).toMatch(/^created .* \+05:30$/)
    await page.getByRole('button', { name: /admin-of.*times/ }).click()
    await page.getByRole('menuitem', { name: 'Times in UTC' }).click()
    expect(await time.getAttribute('title')).toMatch(/^created .* UTC$/)
    await page.getByRole('link', { name: 'notebook' }).click()
    await page.getByText('times in UTC').waitFor()
    await page.reload()
    await page.getByText('times in UTC').waitFor()
    expect(opened.faults).toEqual([])
  })

  testUnreadable(ui, {
    table: 'resource_groups',
    path: '/sessions',
    shown: (page) => rowOf(page, 'notebook').waitFor(),
  })
  testAppearance(ui, [['/sessions', (page) => rowOf(page, LONG).waitFor()]])
})
