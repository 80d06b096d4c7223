import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { describePages, describeUi, rowOf, testAppearance, testUnreadable } from '../support/ui-suite.ts'

/** Groups of sessions whose members are real processes of a real server's agent. */

const NOBODY = '00000000-0000-7000-8000-000000000000'
const CREATE_GROUP = `mutation ($input: CreateSessionsInput!) { createSessions(input: $input) {
  ... on CreateSessionsPayload { group { groupId } } ... on Error { message } } }`
const CANCEL_GROUP = 'mutation ($id: UUID!) { cancelSessionGroup(input: { groupId: $id }) { __typename } }'
const LONG_GROUP = `sweep-${'of-somebody-who-names-things-'.repeat(3)}end`

const cell = (page: Page, index: number, state: string) =>
  page.getByRole('link', { name: `${index}: ${state}`, exact: true })
const focusedLabel = (page: Page) => page.evaluate(() => document.activeElement?.getAttribute('aria-label'))

describeUi('the groups', {}, (ui) => {
  let sweep: string
  let large: string
  let failing: string
  const created: string[] = []

  async function createGroup(group: object, script: string, session: object = {}): Promise<string> {
    const work = { name: 'task', command: ['sh', '-c', script], project: ui.project, retryPolicy: { maxRetries: 0 } }
    const { createSessions } = await ui.query(CREATE_GROUP, { input: { sessions: [{ ...work, ...session }], group } })
    created.push(createSessions.group.groupId)
    return createSessions.group.groupId
  }
  const read = async (id: string) =>
    (
      await ui.query(
        `query ($id: UUID!) { sessionGroup(id: $id) { state outcome epoch endedAt counts { total succeeded failed cancelled }
        memberStates { states indexes } } }`,
        { id },
      )
    ).sessionGroup
  const chainOf = async (id: string, index: number): Promise<string> =>
    (
      await ui.query(
        'query ($id: UUID!, $index: Int!) { sessionGroup(id: $id) { member(index: $index) { chainId } } }',
        {
          id,
          index,
        },
      )
    ).sessionGroup.member.chainId
  /** Lets the program of a waiting member end. */
  const release = async (index: number) => writeFile(join(ui.chainDirectory(await chainOf(sweep, index)), 'go'), '')

  afterAll(async () => {
    for (const id of created) {
      if ((await read(id)).endedAt === null) await ui.query(CANCEL_GROUP, { id })
      await eventually(async () => (await read(id)).endedAt !== null, { what: 'the end of a group' })
    }
  })

  test('new groups appear by themselves, with their members by state', async () => {
    await using opened = await ui.open()
    const { page } = opened
    await page.goto('/retries')
    await page.getByRole('heading', { name: 'No retry waits' }).waitFor()
    await page.keyboard.press('g')
    await page.keyboard.press('g')
    await page.getByRole('heading', { name: 'No groups yet' }).waitFor()
    expect(await opened.violations()).toEqual([])
    // Every fourth fails at first; the last two, and second attempts, wait until they are released.
    sweep = await createGroup(
      { name: 'sweep', key: 'sweep-7', indexes: '1-12', maxFailed: 12 },
      `if [ $REPRISE_INDEX -gt 10 -o $REPRISE_ATTEMPT -gt 1 ]; then
         while [ ! -e "$REPRISE_CHAIN_DIR/go" ]; do sleep 0.05; done
       else
         test $((REPRISE_INDEX % 4)) != 0 || exit 3
       fi`,
      { resourceSlots: [{ slot: 'cpu', amount: '0.1' }] },
    )
    await createGroup({ name: LONG_GROUP, indexes: '5,9' }, 'true')
    failing = await createGroup(
      { name: 'failing', key: 'exits-with-its-number', indexes: '1-3' },
      'exit $REPRISE_INDEX',
    )
    await rowOf(page, 'sweep-7').getByText('10 of 12').waitFor()
    await rowOf(page, 'sweep-7').getByText('running', { exact: true }).waitFor()
    expect(await rowOf(page, 'sweep-7').getByRole('progressbar').getAttribute('aria-valuetext')).toBe(
      '83\u00a0% ended: 8 succeeded, 2 failed, 2 running',
    )
    await rowOf(page, LONG_GROUP).getByText('succeeded').waitFor()
    await page.getByRole('button', { name: /^Ended\s*2$/ }).click()
    await rowOf(page, 'sweep-7').waitFor({ state: 'detached' })
    expect(new URL(page.url()).search).toBe('?status=ended')
    await page.getByLabel('Start of name or key').fill('nothing-has-it')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'No group fits' }).waitFor()
    await page.getByRole('button', { name: 'q nothing-has-it' }).click()
    await page.goto('/groups?status=odd')
    await page.getByText('left out: status').waitFor()
    await rowOf(page, 'sweep-7').waitFor()
    await page.keyboard.press('j')
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('failing')
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'sweep', exact: true }).waitFor()
    expect(opened.faults).toEqual([])
  })

  test('the page of a group shows each member as it changes, and leads to its chain by keys', async () => {
    await using opened = await ui.open()
    const { page } = opened
    await page.goto('/groups')
    await page.getByRole('link', { name: 'sweep', exact: true }).click()
    await cell(page, 4, 'failed').waitFor()
    await cell(page, 1, 'succeeded').waitFor()
    await cell(page, 12, 'running').waitFor()
    expect(await page.title()).toBe('running · sweep · Reprise')
    await page.getByText('10 of 12\u00a0members ended').waitFor()
    await page.getByText(/^ends at about \d\d:\d\d/).waitFor()
    await page.getByRole('link', { name: 'exit code 2' }).waitFor()
    expect(await page.getByRole('table', { name: 'Failed members' }).getByRole('row').count()).toBe(3)
    expect(await opened.violations()).toEqual([])

    await release(11)
    await cell(page, 11, 'succeeded').waitFor()
    await page.getByText('11 of 12\u00a0members ended').waitFor()

    await cell(page, 1, 'succeeded').focus()
    await page.keyboard.press('ArrowRight')
    expect(await focusedLabel(page)).toBe('2: succeeded')
    await page.keyboard.press('End')
    await page.keyboard.press('ArrowLeft')
    expect(await focusedLabel(page)).toBe('11: succeeded')
    // One cell is a stop of the tab key, and the others are not.
    expect(
      await page
        .locator('.member-grid a[tabindex="0"]')
        .evaluateAll((all) => all.map((one) => one.getAttribute('title'))),
    ).toEqual(['11: succeeded'])
    await page.keyboard.press('Home')
    await page.keyboard.press('ArrowRight')
    await page.keyboard.press('ArrowRight')
    await page.keyboard.press('ArrowRight')
    await page.keyboard.press('Enter')
    await page.getByRole('option', { name: /^attempt 1, epoch 0, exit code 3/ }).waitFor()
    expect(page.url()).toContain(`/chains/${await chainOf(sweep, 4)}`)
    await page.locator('.facts').getByText('4 of 12 in').waitFor()
    expect(await opened.violations()).toEqual([])
    await page.goBack()
    await cell(page, 4, 'failed').waitFor()
    await page.waitForFunction(() => document.activeElement?.getAttribute('aria-label') === '4: failed')
    await page.goForward()
    await page.getByRole('link', { name: 'sweep', exact: true }).click()
    await cell(page, 4, 'failed').waitFor()
    expect(opened.faults).toEqual([])
  })

  test('the list of chains shows the members of a group, and the group of each of them', async () => {
    await using opened = await ui.open()
    const { page } = opened
    await page.goto(`/groups/${sweep}`)
    await page.getByRole('link', { name: 'exit code 2' }).click()
    await page.getByRole('button', { name: 'Remove in group sweep' }).waitFor()
    expect(new URL(page.url()).search).toBe(`?group=${sweep}&state=failed&cause=exit`)
    await page.getByRole('link', { name: 'sweep 4' }).waitFor()
    expect(await page.getByRole('table', { name: 'Chains' }).getByRole('row').count()).toBe(3)
    expect(await opened.violations()).toEqual([])
    await page.getByRole('button', { name: 'Remove in group sweep' }).click()
    await page.getByRole('button', { name: /^Failed\s*5$/ }).waitFor()
    expect(new URL(page.url()).search).toBe('?state=failed&cause=exit')
    await page.getByRole('link', { name: 'sweep 8' }).click()
    await page.getByRole('heading', { name: 'sweep', exact: true }).waitFor()
    expect(opened.faults).toEqual([])
  })

  test('a group is cancelled after a question, and its failed members are resubmitted', async () => {
    await using opened = await ui.open()
    const { page } = opened
    await page.goto(`/groups/${sweep}`)
    await page.getByRole('button', { name: 'Cancel…' }).click()
    const dialog = page.getByRole('dialog', { name: 'Cancel sweep?' })
    await dialog.getByText('1\u00a0member that has not ended is ended').waitFor()
    expect(await opened.violations()).toEqual([])
    await dialog.getByRole('button', { name: 'Keep it' }).click()
    await page.getByRole('button', { name: 'Cancel…' }).click()
    await dialog.getByRole('button', { name: 'Cancel it' }).click()
    await page.getByText('sweep is being cancelled.').waitFor()
    await cell(page, 12, 'cancelled').waitFor()
    await page.locator('.page-head .with-mark').getByText('cancelled', { exact: true }).waitFor()
    expect(await page.title()).toBe('cancelled · sweep · Reprise')
    expect(await page.getByRole('button', { name: 'Cancel…' }).getAttribute('title')).toBe('It has ended.')
    expect(await read(sweep)).toMatchObject({
      outcome: 'CANCELLED',
      counts: { total: 12, succeeded: 9, failed: 2, cancelled: 1 },
      memberStates: { states: 'SSSFSSSFSSSC', indexes: '1-12' },
    })

    await page.getByRole('button', { name: 'Resubmit failed…' }).click()
    await page.getByRole('dialog', { name: /Resubmit: 2.chains\?/ }).waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Resubmit' }).click()
    await page.getByRole('dialog', { name: /2.chains resubmitted/ }).waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click()
    await page.getByText('reopened once').waitFor()
    await cell(page, 4, 'running').waitFor()
    await release(4)
    await cell(page, 4, 'succeeded').waitFor()
    await release(8)
    await page.locator('.page-head .with-mark').getByText('cancelled', { exact: true }).waitFor()
    expect(await read(sweep)).toMatchObject({ epoch: 1, counts: { succeeded: 11, failed: 0, cancelled: 1 } })
    expect(opened.faults).toEqual([])
  })

  test('a large group is cut into ranges, of which one has cells', async () => {
    const startsAt = new Date(Date.now() + 86_400_000).toISOString()
    large = await createGroup({ name: 'large', indexes: '0-1199', maxRunning: 5 }, 'true', { startsAt })
    await using opened = await ui.open()
    const { page } = opened
    await page.goto(`/groups/${large}`)
    const ranges = page.getByRole('list', { name: 'Ranges of members' }).getByRole('button')
    await ranges.nth(2).waitFor()
    const labels = () => ranges.evaluateAll((all) => all.map((one) => one.getAttribute('aria-label')))
    expect(await labels()).toEqual([
      '0 to 499: 500 queued',
      '500 to 999: 500 queued',
      '1\u202f000 to 1\u202f199: 200 queued',
    ])
    expect(await page.locator('.member').count()).toBe(500)
    await ranges.first().focus()
    await page.keyboard.press('ArrowRight')
    await page.keyboard.press('Enter')
    await cell(page, 500, 'queued').waitFor()
    expect(new URL(page.url()).search).toBe('?from=500')
    expect(await ranges.nth(1).getAttribute('aria-current')).toBe('true')
    await page.getByRole('button', { name: 'Next ones' }).click()
    await cell(page, 1199, 'queued').waitFor()
    expect(await page.locator('.member').count()).toBe(200)
    expect(await opened.violations()).toEqual([])
    await page.getByRole('button', { name: 'First ones' }).click()
    await cell(page, 0, 'queued').waitFor()
    await page.goto(`/groups/${large}/1200`)
    await page.getByRole('heading', { name: 'There is no such member' }).waitFor()
    expect(opened.faults).toEqual([])
  })

  test('a viewer is told that it may not cancel; a group of another project does not exist', async () => {
    {
      await using opened = await ui.open({ token: await ui.tokenOf('VIEWER') })
      const { page } = opened
      await page.goto(`/groups/${large}`)
      const cancel = page.getByRole('button', { name: 'Cancel…' })
      await cancel.waitFor()
      expect(await cancel.getAttribute('aria-disabled')).toBe('true')
      expect(await cancel.getAttribute('title')).toBe('Your token has the role VIEWER, which may not do this.')
      await cancel.click({ force: true })
      expect(await page.getByRole('dialog').count()).toBe(0)
      expect(opened.faults).toEqual([])
    }
    await using opened = await ui.open({ token: await ui.cluster.tokenOf('ADMIN', 'default') })
    for (const path of [`/groups/${large}`, `/groups/${NOBODY}`]) {
      await opened.page.goto(path)
      await opened.page.getByRole('heading', { name: 'There is no such group' }).waitFor()
    }
    await opened.page.goto(`/groups/${large}/7`)
    await opened.page.getByRole('heading', { name: 'There is no such member' }).waitFor()
    expect(await opened.violations()).toEqual([])
    expect(opened.faults).toEqual([])
  })

  testAppearance(ui, [
    ['/groups', (page) => rowOf(page, LONG_GROUP).waitFor()],
    [() => `/groups/${failing}`, (page) => page.getByRole('table', { name: 'Failed members' }).waitFor()],
    [() => `/groups/${large}`, (page) => page.getByRole('list', { name: 'Ranges of members' }).waitFor()],
    [() => `/chains?group=${failing}`, (page) => page.getByRole('link', { name: 'task' }).first().waitFor()],
  ])
})

describePages('groups that cannot be read', (server) => {
  beforeAll(async () => {
    const group = { name: 'sweep', indexes: '1-3' }
    await server.query(CREATE_GROUP, { input: { sessions: [{ name: 'task', command: ['true'] }], group } })
  })

  testUnreadable(server, {
    table: 'session_groups',
    path: '/groups',
    shown: (page) => rowOf(page, 'sweep').waitFor(),
  })
})
