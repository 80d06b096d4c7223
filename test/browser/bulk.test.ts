import type { Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { describeOwnUi, rowOf, testAppearance } from '../support/ui-suite.ts'

/** Actions on many chains from their list, on chains that a real agent ran: some failed, some succeeded, some run. */

const LONG = `a-name-${'that-a-workflow-engine-made-'.repeat(6)}end`

const labelled = (study: string, input: object = {}) => ({ labels: [{ key: 'study', value: study }], ...input })

describeOwnUi('an action on many chains', 'bulk-page', (ui) => {
  beforeAll(async () => {
    await ui.query('mutation { createProject(input: { name: "elsewhere" }) { __typename } }')
    const [failed, succeeded, waiting] = await Promise.all([
      Promise.all(['failed-one', 'failed-two', LONG].map((name) => ui.create(name, 'exit 3', {}, labelled('seven')))),
      Promise.all(['succeeded-one', 'succeeded-two'].map((name) => ui.create(name, 'true', {}, labelled('seven')))),
      Promise.all(
        ['waiting-one', 'waiting-two', 'waiting-three'].map((name) =>
          ui.create(name, 'exit 4', { maxRetries: 3, retryDelay: 1_200 }, labelled('seven')),
        ),
      ),
    ])
    const running = await ui.create('running-one', 'sleep 600', {}, labelled('seven'))
    const foreign = await ui.create('foreign-one', 'exit 5', {}, labelled('eight', { project: 'elsewhere' }))
    const own = await ui.create('own-one', 'exit 5', {}, labelled('eight'))
    await Promise.all([
      ...[...failed, foreign, own].map((id) => ui.reached(id, ['FAILED'])),
      ...succeeded.map((id) => ui.reached(id, ['SUCCEEDED'])),
      ...waiting.map((id) => ui.reached(id, ['WAITING_RETRY'])),
      ui.reached(running, ['RUNNING']),
    ])
  })

  const reasons = async (page: Page) =>
    (await page.locator('.refusals li').allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' '))

  test('on selected rows, by keys alone: first a trial, then a question, then the results, which are kept', async () => {
    await using opened = await ui.open()
    const { page } = opened
    await page.goto('/chains?label=study:seven&order=name')
    await rowOf(page, 'failed-two').waitFor()
    // In the order of names: the long one, failed-one, failed-two, running-one, succeeded-one, …
    await page.keyboard.press('j')
    await page.keyboard.press('x')
    for (let n = 0; n < 4; n++) {
      await page.keyboard.press('j')
      await page.keyboard.press('x')
    }
    await page.getByText('5 selected').waitFor()
    expect(await opened.violations()).toEqual([])
    await page.getByRole('button', { name: 'Resubmit', exact: true }).focus()
    await page.keyboard.press('Enter')
    const dialog = page.getByRole('dialog', { name: /Resubmit: 3.chains\?/ })
    await dialog.waitFor()
    expect(await reasons(page)).toEqual([
      expect.stringMatching(/^1 has not ended session [\da-f-]{36} is RUNNING$/),
      expect.stringMatching(/^1 succeeded session [\da-f-]{36} succeeded; includeSucceeded would run it again$/),
    ])
    expect(await opened.violations()).toEqual([])
    // Nothing has happened yet.
    const { resubmissions } = await ui.query('{ resubmissions { totalCount } }')
    expect(resubmissions.totalCount).toBe(0)
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Resubmit')

    await page.keyboard.press('Enter')
    await dialog.waitFor()
    await dialog.getByRole('button', { name: 'Resubmit' }).click()
    const done = page.getByRole('dialog', { name: /3.chains resubmitted/ })
    await done.waitFor()
    expect((await done.locator('.bulk-figures').innerText()).replaceAll(/\s+/g, ' ')).toBe(
      'in all 5 done 3 refused 2 left 0',
    )
    expect((await reasons(page)).map((reason) => reason.slice(0, 11))).toEqual(['1 has not e', '1 succeeded'])
    expect(await opened.violations()).toEqual([])
    await done.getByRole('link', { name: 'Each chain of it' }).click()
    await page.getByRole('heading', { name: /Resubmission of 5.chains/ }).waitFor()
    await rowOf(page, 'failed-one').getByText('1 to 2').waitFor()
    expect(await rowOf(page, 'running-one').innerText()).toMatch(/has not ended/)
    expect(opened.faults).toEqual([])
    const { chains } = await ui.query('{ chains(filter: { attempts: { min: 2 } }) { edges { node { name } } } }')
    expect(chains.edges.map(({ node }: any) => node.name).toSorted()).toEqual([LONG, 'failed-one', 'failed-two'])
  })

  test('on a filter: retries the chains that wait, and refuses the others', async () => {
    await using opened = await ui.open()
    const { page } = opened
    await page.goto('/chains?label=study:seven')
    await rowOf(page, 'waiting-one').waitFor()
    await page.getByRole('button', { name: /Select all 9 that match/ }).click()
    await page.getByText('All 9 that match are selected').waitFor()
    await page.getByRole('button', { name: 'Cancel retry' }).click()
    const dialog = page.getByRole('dialog', { name: /Cancel retry: 3.chains\?/ })
    await dialog.waitFor()
    expect((await reasons(page)).map((reason) => reason.slice(0, 22))).toEqual(['6 waits for no retry t'])
    await dialog.getByRole('button', { name: 'Cancel', exact: true }).click()
    await page.getByRole('button', { name: 'Retry now' }).click()
    await page.getByRole('dialog', { name: /Retry now: 3.chains\?/ }).waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Retry now' }).click()
    await page.getByRole('dialog', { name: /3.chains retried now/ }).waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click()
    await rowOf(page, 'waiting-one')
      .filter({ hasText: /retry 1 of 3/ })
      .waitFor()
    // The selection is gone with what it was for, and the focus is not lost.
    expect(await page.getByText('that match are selected').count()).toBe(0)
    expect(await page.evaluate(() => document.activeElement?.tagName)).toBe('H1')
    const { resubmissions } = await ui.query(
      '{ resubmissions(action: [RETRY_NOW]) { edges { node { filter done refusedCount refusals { code count } } } } }',
    )
    const { filter, ...counts } = resubmissions.edges[0].node
    expect(JSON.parse(filter)).toEqual({
      chains: { sessionType: ['BATCH', 'INTERACTIVE'], label: { key: 'study', value: 'seven' } },
    })
    expect(counts).toEqual({
      done: 3,
      refusedCount: 6,
      refusals: [{ code: 'NO_PENDING_RETRY', count: 6 }],
    })
    expect(opened.faults).toEqual([])
  })

  test('resubmits with changes for all chains, which the server checks first', async () => {
    const ids = await Promise.all(
      ['changed-one', 'changed-two'].map((name) => ui.create(name, 'exit 3', {}, labelled('nine'))),
    )
    await Promise.all(ids.map((id) => ui.reached(id, ['FAILED'])))
    await using opened = await ui.open()
    const { page } = opened
    await page.goto('/chains?label=study:nine')
    await page.getByRole('button', { name: /Select all 2 that match/ }).click()
    await page.getByRole('button', { name: 'Resubmit', exact: true }).click()
    const dialog = page.getByRole('dialog', { name: /Resubmit: 2.chains\?/ })
    await dialog.getByText('Change something for all of them').click()
    const field = (label: string) => dialog.getByLabel(label, { exact: true })
    const act = dialog.getByRole('button', { name: 'Resubmit' })
    await field('environment').fill('GREETING=good day\nnothing')
    await dialog.getByText('nothing is not name=value.').waitFor()
    expect(await act.isDisabled()).toBe(true)
    await field('environment').fill('GREETING=good day')
    await field('priority').fill('high')
    await dialog.getByText('It is not a number.').waitFor()
    expect(await act.isDisabled()).toBe(true)
    await field('priority').fill('101')
    await field('resources').fill('cpu=plenty')
    await field('resource group').fill('nowhere')
    // What the server says, before anything is done.
    await dialog.locator('[data-wrong]').getByLabel('priority').waitFor()
    await field('priority').fill('23')
    await dialog.locator('[data-wrong]').getByLabel('priority').waitFor({ state: 'detached' })
    await dialog.locator('[data-wrong]').getByLabel('resources').waitFor()
    await field('resources').fill('cpu=0.25, mem=32m')
    await dialog.locator('[data-wrong]').getByLabel('resource group').waitFor()
    expect(await opened.violations()).toEqual([])
    expect(await act.isDisabled()).toBe(true)
    await field('resource group').fill('')
    await field('retries').fill('2')
    await page.locator('button[type="submit"]:not(:disabled)', { hasText: 'Resubmit' }).click()
    await page.getByRole('dialog', { name: /2.chains resubmitted/ }).waitFor()
    const { chains } = await ui.query(
      `{ chains(filter: { label: { key: "study", value: "nine" } }) { edges { node { newestAttempt {
        priority environ { name value } resourceSlots { slot amount } resourceGroup { name } retryPolicy { maxRetries } } } } } }`,
    )
    expect(chains.edges).toHaveLength(2)
    for (const { node } of chains.edges) {
      expect(node.newestAttempt).toMatchObject({
        priority: 23,
        environ: expect.arrayContaining([{ name: 'GREETING', value: 'good day' }]),
        resourceSlots: expect.arrayContaining([
          { slot: 'cpu', amount: '0.25' },
          { slot: 'mem', amount: '33554432' },
        ]),
        resourceGroup: { name: 'default' },
        retryPolicy: { maxRetries: 2 },
      })
    }
    expect(opened.faults).toEqual([])
  })

  test('refuses chains of another project, even if another login selected them on this page', async () => {
    const token = await ui.tokenOf('MEMBER')
    await using opened = await ui.open()
    const { page } = opened
    await page.goto('/chains?label=study:eight')
    await rowOf(page, 'foreign-one').getByRole('checkbox').check()
    await rowOf(page, 'own-one').getByRole('checkbox').check()
    await using member = await ui.open({ token })
    const { cookies, origins } = await member.context.storageState()
    await opened.context.addCookies(cookies)
    await page.evaluate((kept) => {
      for (const { name, value } of kept) localStorage.setItem(name, value)
    }, origins[0]!.localStorage)
    await page.getByRole('button', { name: 'Resubmit', exact: true }).click()
    const dialog = page.getByRole('dialog', { name: /Resubmit: 1.chain\?/ })
    await dialog.waitFor()
    expect(await reasons(page)).toEqual([
      expect.stringMatching(/^1 does not exist, or is of another project no session [\da-f-]{36}$/),
    ])
    await dialog.getByRole('button', { name: 'Resubmit' }).click()
    await page.getByRole('dialog', { name: /1.chain resubmitted/ }).waitFor()
    // All of them are asked for first, and answered last.
    const answered = Promise.withResolvers<void>()
    const ofAll = (text: string | null) => /UiBulkActionItems.*"status":null/s.test(text ?? '')
    await page.route('**/graphql', async (sent) => {
      if (ofAll(sent.request().postData())) await answered.promise
      return sent.continue()
    })
    await page.getByRole('link', { name: 'Each chain of it' }).click()
    await page.getByRole('heading', { name: /Resubmission of 2.chains/ }).waitFor()
    await page.getByRole('button', { name: /^Refused/ }).click()
    await rowOf(page, 'does not exist').waitFor()
    // The page itself has the late answer once it is among what it has loaded, and has drawn it two frames later.
    const loaded = () => page.evaluate(() => performance.getEntriesByType('resource').length)
    const before = await loaded()
    answered.resolve()
    await eventually(async () => (await loaded()) > before)
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))))
    await rowOf(page, 'does not exist').waitFor()
    expect(await rowOf(page, 'own-one').count()).toBe(0)
    expect(new URL(page.url()).search).toBe('?show=refused')
  })

  test('says when it applies to none of the chains, and when the whole selection is refused', async () => {
    await using opened = await ui.open()
    const { page } = opened
    await page.goto('/chains?state=succeeded')
    await rowOf(page, 'succeeded-one').waitFor()
    await page.keyboard.press('Shift+X')
    await page.getByRole('button', { name: 'Terminate' }).click()
    await page.getByRole('dialog', { name: 'It is possible for none of them' }).waitFor()
    expect((await reasons(page))[0]).toMatch(/^2 has ended the first: session [\da-f-]{36} has ended: it is TERMINATED/)
    await page.getByRole('button', { name: 'Close' }).click()
    await page.goto('/chains')
    await rowOf(page, 'succeeded-one').getByRole('checkbox').check()
    const everything = page.getByRole('button', { name: /Select all \d+ that match/ })
    expect(await everything.getAttribute('aria-disabled')).toBe('true')
    expect(await everything.getAttribute('title')).toMatch(/Set a filter first/)
    expect(opened.faults).toEqual([])
  })

  test('on more than a hundred chains needs their number typed, and shows progress until the end', async () => {
    const sessions = Array.from({ length: 120 }, (_, n) => ({
      name: `burst-${n}`,
      command: ['true'],
      labels: [{ key: 'study', value: 'burst' }],
      startsAt: '2090-01-01T00:00:00Z',
    }))
    await ui.query(
      'mutation ($sessions: [CreateSessionInput!]!) { createSessions(input: { sessions: $sessions }) { __typename } }',
      { sessions },
    )
    await using opened = await ui.open()
    const { page } = opened
    await page.goto('/chains?label=study:burst')
    await page.getByRole('button', { name: /Select all 120 that match/ }).click()
    await page.getByRole('button', { name: 'Terminate' }).click()
    const dialog = page.getByRole('dialog', { name: /Terminate: 120.chains\?/ })
    await dialog.waitFor()
    const act = dialog.getByRole('button', { name: 'Terminate' })
    expect(await act.isDisabled()).toBe(true)
    await dialog.getByLabel('Type 120 to go on').fill('12')
    expect(await act.isDisabled()).toBe(true)
    await dialog.getByLabel('Type 120 to go on').fill('120')
    await dialog.getByLabel('Reason').fill('not needed any more')
    expect(await opened.violations()).toEqual([])
    await act.click()
    await page.getByRole('dialog', { name: /120.chains terminated/ }).waitFor()
    const { resubmissions } = await ui.query(
      '{ resubmissions(action: [TERMINATE]) { edges { node { done overrides } } } }',
    )
    expect(resubmissions.edges[0].node).toEqual({ done: 120, overrides: '{"reason":"not needed any more"}' })
    expect(opened.faults).toEqual([])
  })

  test('a viewer is told that it may not act', async () => {
    const viewer = await ui.tokenOf('VIEWER')
    await using opened = await ui.open({ token: viewer })
    const { page } = opened
    await page.goto('/chains?label=study:seven')
    await rowOf(page, 'failed-one').getByRole('checkbox').check()
    for (const name of ['Resubmit', 'Retry now', 'Cancel retry', 'Terminate']) {
      const button = page.getByRole('button', { name, exact: true })
      expect(await button.getAttribute('aria-disabled')).toBe('true')
      expect(await button.getAttribute('title')).toMatch(/may not/)
      await button.click({ force: true })
    }
    expect(await page.getByRole('dialog').count()).toBe(0)
    expect(await opened.violations()).toEqual([])
  })

  const resubmit = async (page: Page) => {
    await rowOf(page, 'failed-one').waitFor()
    await page.getByRole('button', { name: /Select all \d+ that match/ }).click()
    await page.getByRole('button', { name: 'Resubmit', exact: true }).click()
    await page.getByRole('dialog', { name: /none of them|chains?\?/ }).waitFor()
    await page.locator('.refusals').waitFor()
  }
  testAppearance(
    ui,
    [
      [
        '/chains?label=study:seven',
        async (page) => {
          await rowOf(page, 'failed-one').waitFor()
          await page.getByRole('button', { name: /Select all \d+ that match/ }).click()
        },
      ],
      ['/chains?label=study:seven', resubmit],
    ],
    [1440, 360],
  )
})
