import type { Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { describeOwnUi, rowOf, testAppearance, testUnreadable } from '../support/ui-suite.ts'

/** The settings, in a real browser: what is set there is so on a real server, and what is refused it refuses. */

const LONG = 'a-name-that-a-workflow-engine-made-'.repeat(6).slice(0, 200)

describeOwnUi('the settings', 'settings-page', (ui) => {
  let viewer: string
  let member: string

  beforeAll(async () => {
    await ui.query('mutation { createProject(input: { name: "research" }) { __typename } }')
    viewer = await ui.tokenOf('VIEWER', 'research')
    member = await ui.tokenOf('MEMBER', 'research')
  })

  const dialog = (page: Page) => page.getByRole('dialog')
  const says = (page: Page, text: RegExp | string) => dialog(page).getByText(text).waitFor()

  test('begin with the switches, and each section has an address', async () => {
    await using opened = await ui.open()
    const { page } = opened
    await page.goto('/chains')
    await page.getByRole('heading', { name: 'No chains yet' }).waitFor()
    await page.keyboard.press('g')
    await page.keyboard.press('s')
    await page.getByRole('heading', { name: 'Nothing holds retries back' }).waitFor()
    expect(new URL(page.url()).pathname).toBe('/settings/switches')
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Settings')
    for (const [name, path] of [
      ['Retry defaults', 'defaults'],
      ...['Quotas', 'Webhooks', 'Projects', 'Members', 'Tokens'].map((each) => [each, each.toLowerCase()] as const),
      ['Audit log', 'audit'],
    ] as const) {
      const tab = page.getByRole('navigation', { name: 'Settings' }).getByRole('link', { name, exact: true })
      await tab.click()
      await page.waitForURL(`**/settings/${path}`)
      expect(await tab.getAttribute('aria-current')).toBe('page')
    }
    await page.getByRole('button', { name: 'Project: All projects' }).click()
    await page.getByRole('menuitem', { name: 'research' }).click()
    await page.waitForURL('**/settings/audit?project=research')
    await page.goto('/settings/quotas?colour=red')
    await page.getByText('left out: colour').waitFor()
    await page.getByRole('heading', { name: 'No quotas' }).waitFor()
    expect(opened.faults).toEqual([])
  })

  test('a token is made, its secret shown once and copied, and revoked', async () => {
    await using opened = await ui.open({ permissions: ['clipboard-read', 'clipboard-write'] })
    const { page } = opened
    await page.goto('/settings/tokens')
    await page.getByRole('button', { name: 'New token…' }).click()
    await dialog(page).getByRole('button', { name: 'Create' }).click()
    // The server says what is missing, each at its field.
    await dialog(page).getByText('Must not be empty').waitFor()
    expect(await dialog(page).getByLabel('Name').getAttribute('aria-invalid')).toBe('true')
    await dialog(page).getByText('A project is required: a VIEWER sees exactly one').waitFor()
    expect(
      await dialog(page)
        .getByLabel('Name')
        .evaluate((input) => input === document.activeElement),
    ).toBe(true)
    expect(await opened.violations()).toEqual([])
    await dialog(page).getByLabel('Name').fill('grafana')
    await dialog(page).getByLabel('Project').fill('nowhere')
    await dialog(page).getByRole('button', { name: 'Create' }).click()
    await dialog(page).getByText('no project nowhere').waitFor()
    expect(await dialog(page).getByLabel('Project').getAttribute('aria-invalid')).toBe('true')
    await dialog(page).getByLabel('Project').fill('research')
    await dialog(page).getByLabel('Expires').fill('2040-01-31T12:00')
    await dialog(page).getByRole('button', { name: 'Create' }).click()

    await page.getByRole('dialog', { name: 'The token grafana' }).waitFor()
    await page.getByRole('button', { name: 'Copy' }).click()
    await dialog(page).getByText('Copied.').waitFor()
    const secret = await page.evaluate(() => navigator.clipboard.readText())
    const answer = await fetch(`${ui.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${secret}` },
      body: JSON.stringify({ query: '{ viewer { name role project { name } expiresAt } }' }),
    })
    expect((await answer.json()).data.viewer).toEqual({
      name: 'grafana',
      role: 'VIEWER',
      project: { name: 'research' },
      expiresAt: '2040-01-31T12:00:00.000Z',
    })
    expect(await opened.violations()).toEqual([])
    await page.getByRole('button', { name: 'I have stored it' }).click()
    expect(await page.content()).not.toContain(secret)

    expect((await rowOf(page, 'grafana').innerText()).split('\n')).toContain('viewer')
    const revoke = page.getByRole('button', { name: 'Revoke grafana' })
    await revoke.click()
    await page.getByRole('dialog', { name: 'Revoke 1 token?' }).waitFor()
    await page.keyboard.press('Escape')
    expect(await revoke.evaluate((button) => button === document.activeElement)).toBe(true)
    await page.keyboard.press('Enter')
    await dialog(page).getByRole('button', { name: 'Revoke' }).click()
    await page.getByText('grafana is revoked.').waitFor()
    await rowOf(page, 'grafana').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Also revoked and expired' }).click()
    await rowOf(page, 'grafana').getByText('revoked').waitFor()
    expect(new URL(page.url()).search).toBe('?show=all')
    expect(opened.faults).toEqual([])
  })

  test('retries are switched off with a reason, limited, and on again', async () => {
    const held = await ui.create('waits', 'exit 3', { maxRetries: 1, retryDelay: 3_600 })
    await ui.reached(held, ['WAITING_RETRY'])
    await using opened = await ui.open()
    const { page } = opened
    await page.goto('/settings/switches')
    await page.getByRole('button', { name: 'Switch retries…' }).click()
    await says(page, /^1.retry waits there now/)
    await dialog(page).getByLabel('Reason').fill('the file server is down')
    await dialog(page).getByLabel('Until').fill('2001-01-01T00:00')
    await dialog(page).getByRole('button', { name: 'Switch off' }).click()
    await dialog(page).getByText('Must lie in the future').waitFor()
    expect(await opened.violations()).toEqual([])
    await dialog(page).getByLabel('Until').fill('')
    await dialog(page).getByRole('button', { name: 'Switch off' }).click()
    await page.getByText('Retries are off everywhere.').waitFor()
    const { viewer: admin } = await ui.query('{ viewer { name } }')
    const row = rowOf(page, 'everywhere')
    await row.getByText('the file server is down').waitFor()
    expect(await row.innerText()).toContain(`${admin.name}, `)

    await page.getByRole('button', { name: 'Change everywhere' }).click()
    await dialog(page).getByLabel('At most, a second').fill('-1')
    await dialog(page).getByLabel('And at once').fill('ten')
    await dialog(page).getByRole('button', { name: 'Save' }).click()
    await says(page, /non-integer/)
    await dialog(page).getByLabel('And at once').fill('10')
    await dialog(page).getByRole('button', { name: 'Save' }).click()
    await says(page, /Too small/)
    await dialog(page).getByLabel('At most, a second').fill('2.5')
    await dialog(page).getByRole('button', { name: 'Save' }).click()
    await row.getByText('2.5 a second, 10 at once').waitFor()

    await page.goto('/retries')
    await page.getByText('the file server is down').waitFor()
    await page.getByRole('button', { name: 'Switch on: All retries' }).click()
    await dialog(page).getByRole('button', { name: 'Switch on' }).click()
    await page.getByText('All retries are limited to 2.5 a second, 10 at once').waitFor()
    await page.goto('/settings/switches')
    await page.getByRole('button', { name: 'Change everywhere' }).click()
    const breaker = { 'Hold after failures alike': '20', 'In so many chains': '5', 'Within, in minutes': '10' }
    for (const [label, text] of Object.entries(breaker)) await dialog(page).getByLabel(label).fill(text)
    await dialog(page).getByRole('button', { name: 'Save' }).click()
    await page.getByText('held after 20 failures alike in 5 chains within 10').waitFor()
    const fields = 'disabled rateLimit { perSecond burst } breaker { failures chains window }'
    const { retrySwitches } = await ui.query(`{ retrySwitches { ${fields} } }`)
    const set = { rateLimit: { perSecond: 2.5, burst: 10 }, breaker: { failures: 20, chains: 5, window: 600 } }
    expect(retrySwitches).toEqual([{ disabled: false, ...set }])
    // What is no number is refused with the document, which browsers note.
    expect(opened.faults.filter((fault) => !fault.includes('400 (Bad Request)'))).toEqual([])
  })

  test('switching off more than a hundred retries needs their number typed', async () => {
    await ui.query('mutation { createProject(input: { name: "crowded" }) { __typename } }')
    const sessions = Array.from({ length: 101 }, (_, n) => ({
      name: `crowd-${n}`,
      project: 'crowded',
      command: ['false'],
      resourceSlots: [{ slot: 'cpu', amount: '0.05' }],
      retryPolicy: { maxRetries: 1, retryDelay: 36_000, jitter: 'NONE' },
    }))
    await ui.query(
      'mutation ($sessions: [CreateSessionInput!]!) { createSessions(input: { sessions: $sessions }) { __typename } }',
      { sessions },
    )
    const waiting = '{ retryDecisions(first: 1, filter: { project: "crowded", phase: [SCHEDULED] }) { totalCount } }'
    await eventually(async () => (await ui.query(waiting)).retryDecisions.totalCount === 101, { withinMs: 120_000 })
    await using opened = await ui.open()
    const { page } = opened
    await page.goto('/settings/switches')
    await page.getByRole('button', { name: 'Switch retries…' }).click()
    await dialog(page).getByLabel('Where').selectOption('in a project')
    await dialog(page).getByLabel('Project').fill('crowded')
    await dialog(page).getByLabel('Project').press('Tab')
    await says(page, /101.retries wait there now/)
    const act = dialog(page).getByRole('button', { name: 'Switch off' })
    expect(await act.isDisabled()).toBe(true)
    await dialog(page).getByLabel('Type 101 to go on').fill('100')
    await dialog(page).getByLabel('Type 101 to go on').press('Enter')
    expect(await act.isDisabled()).toBe(true)
    expect(await opened.violations()).toEqual([])
    await dialog(page).getByLabel('Type 101 to go on').fill('101')
    await act.click()
    await page.getByText('Retries are off project crowded.').waitFor()
    expect(opened.faults).toEqual([])
    const { retrySwitches } = await ui.query('{ retrySwitches { name disabled } }')
    expect(retrySwitches).toContainEqual({ name: 'crowded', disabled: true })
  })

  test('retry defaults are set in a form, shown, changed and cleared', async () => {
    await using opened = await ui.open()
    const { page } = opened
    await page.goto('/settings/defaults')
    await page.getByRole('button', { name: 'Set defaults…' }).click()
    await dialog(page).getByLabel('Where').selectOption('in a project')
    await dialog(page).getByLabel('Project').fill('research')
    await dialog(page).getByLabel('Retries', { exact: true }).fill('101')
    await dialog(page).getByLabel('First delay').fill('soon')
    await dialog(page).getByRole('button', { name: 'Set' }).click()
    await dialog(page).getByText('It is not a duration').waitFor()
    await dialog(page).getByLabel('First delay').fill('5m')
    await dialog(page).getByRole('button', { name: 'Set' }).click()
    await dialog(page).getByLabel('Retries', { exact: true }).and(page.locator('[aria-invalid=true]')).waitFor()
    expect(await opened.violations()).toEqual([])
    await dialog(page).getByLabel('Retries', { exact: true }).fill('4')
    await dialog(page).getByRole('button', { name: 'Set' }).click()
    await rowOf(page, 'project research').getByText('retries 4').waitFor()
    await rowOf(page, 'project research').getByText('first delay 300s').waitFor()

    await page.getByRole('button', { name: 'Change the defaults project research' }).click()
    await dialog(page).getByLabel('First delay').fill('')
    await dialog(page).getByLabel('Backoff').selectOption('exponential')
    await dialog(page).getByRole('button', { name: 'Set' }).click()
    await rowOf(page, 'project research').getByText('backoff exponential').waitFor()
    const { retryDefaults } = await ui.query('{ retryDefaults { policy { given maxRetries backoff } } }')
    expect(retryDefaults).toEqual([
      { policy: { given: ['maxRetries', 'backoff'], maxRetries: 4, backoff: 'EXPONENTIAL' } },
    ])
    await page.getByRole('button', { name: 'Clear the defaults project research' }).click()
    await dialog(page).getByRole('button', { name: 'Clear' }).click()
    await page.getByRole('heading', { name: 'No defaults are set' }).waitFor()
    expect(opened.faults).toEqual([])
  })

  test('quotas are set, shown with their use, and removed', async () => {
    await using opened = await ui.open()
    const { page } = opened
    await page.goto('/settings/quotas')
    await page.getByRole('button', { name: 'Set a quota…' }).click()
    await dialog(page).getByLabel('Name').fill('research')
    await dialog(page).getByLabel('Sessions running').fill('-3')
    await dialog(page).getByLabel('Slots').fill('cpu 8, mem lots')
    await dialog(page).getByRole('button', { name: 'Set' }).click()
    await dialog(page).getByText('must be a decimal').waitFor()
    expect(await dialog(page).getByLabel('Sessions running').getAttribute('aria-invalid')).toBe('true')
    expect(await opened.violations()).toEqual([])
    await dialog(page).getByLabel('Sessions running').fill('3')
    await dialog(page).getByLabel('Slots').fill('cpu 8, mem 64g')
    await dialog(page).getByRole('button', { name: 'Set' }).click()
    const row = rowOf(page, 'research')
    await row.getByText('0 of 3').waitFor()
    await row.getByText('mem 0 of 64g').waitFor()
    await page.getByRole('button', { name: 'Change the quota of research' }).click()
    await dialog(page).getByLabel('Sessions pending').fill('7')
    await dialog(page).getByRole('button', { name: 'Set' }).click()
    await row.getByText('0 of 7').waitFor()
    const { quotas } = await ui.query('{ quotas { maxRunning maxPending slots { slot amount } } }')
    expect(quotas[0]).toMatchObject({ maxRunning: 3, maxPending: 7, slots: { length: 2 } })
    await page.getByRole('button', { name: 'Remove the quota of research' }).click()
    await dialog(page).getByRole('button', { name: 'Remove the quota' }).click()
    await page.getByRole('heading', { name: 'No quotas' }).waitFor()
    expect(opened.faults).toEqual([])
  })

  test('whether members may end the work of others is a switch of the project', async () => {
    const read = async () => {
      const { projects } = await ui.query('{ projects(first: 10) { edges { node { name membersEndAll } } } }')
      return projects.edges.find(({ node }: any) => node.name === 'research').node.membersEndAll as boolean
    }
    expect(await read()).toBe(false)
    await using opened = await ui.open()
    const { page } = opened
    await page.goto('/settings/projects')
    const allowed = page.getByRole('switch', { name: 'Members of research may end the work of others' })
    await allowed.click()
    await page.getByText('Members of research end the work of others, too.').waitFor()
    await page.getByRole('switch', { name: /of research/, checked: true }).waitFor()
    expect(await read()).toBe(true)
    expect(await opened.violations()).toEqual([])
    await allowed.click()
    await page.getByRole('switch', { name: /of research/, checked: false }).waitFor()
    expect(await read()).toBe(false)
    expect(opened.faults).toEqual([])
    await using other = await ui.open({ token: member })
    await other.page.goto('/settings/projects')
    expect(await other.page.getByRole('switch').isDisabled()).toBe(true)
  })

  test('users, projects and domains are created, and users become members with roles', async () => {
    await using opened = await ui.open()
    const { page } = opened
    await page.goto('/settings/members')
    const make = async (what: string, name: string) => {
      await page.getByRole('button', { name: `New ${what}…` }).click()
      await dialog(page).getByLabel('Name').fill(name)
      await dialog(page).getByRole('button', { name: 'Create' }).click()
    }
    await make('domain', 'physics')
    await page.getByText('There is a domain physics.').waitFor()
    await make('project', LONG)
    await page.getByText(`There is a project ${LONG}.`).waitFor()
    await make('user', 'ada')
    await rowOf(page, 'ada').getByText('in no project').waitFor()
    await make('user', 'ada')
    await says(page, /ada.* already|already.* ada|taken/i)
    expect(await dialog(page).getByLabel('Name').getAttribute('aria-invalid')).toBe('true')
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Add ada to a project' }).click()
    await dialog(page).getByLabel('Project').fill('research')
    await dialog(page).getByLabel('Role').selectOption('VIEWER')
    await dialog(page).getByRole('button', { name: 'Set' }).click()
    await rowOf(page, 'ada').getByText('viewer', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Add a member…' }).click()
    await dialog(page).getByLabel('User').fill('nobody')
    await dialog(page).getByLabel('Project').fill(LONG)
    await dialog(page).getByRole('button', { name: 'Set' }).click()
    await dialog(page).getByText('no user nobody').waitFor()
    await dialog(page).getByLabel('User').fill('ada')
    await dialog(page).getByRole('button', { name: 'Set' }).click()
    await rowOf(page, LONG).getByText('member', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Remove ada in research' }).click()
    await page.getByRole('dialog', { name: 'Remove 1 member?' }).getByRole('button', { name: 'Remove' }).click()
    await rowOf(page, 'research').waitFor({ state: 'detached' })
    expect(opened.faults).toEqual([])
  })

  test('the audit log says who did what, and what was refused', async () => {
    await using opened = await ui.open()
    const { page } = opened
    await page.goto('/settings/audit')
    await page.getByLabel('Part of an action, like token').fill('oken.rev')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/settings/audit?action=oken.rev')
    const row = rowOf(page, 'token.revoke')
    await row.waitFor()
    await row.locator('summary').click()
    await row.locator('pre').getByText('"prefix"').or(row.locator('pre').getByText('"name"')).first().waitFor()
    expect(await opened.violations()).toEqual([])
    await page.getByLabel('By, part of a name').fill('DMIN')
    await page.keyboard.press('Enter')
    await page.waitForURL('**/settings/audit?action=oken.rev&actor=DMIN')
    await row.waitFor()
    await page.getByRole('button', { name: 'action oken.rev' }).click()
    await page.getByRole('button', { name: 'actor DMIN' }).click()
    await page.getByLabel('Done by').selectOption('by the scheduler itself')
    await page.getByRole('heading', { name: 'No entry fits' }).or(rowOf(page, 'scheduler').first()).waitFor()
    expect(await rowOf(page, 'token.revoke').count()).toBe(0)
    await page.getByLabel('Done by').selectOption('without the scheduler')
    await page.waitForURL('**/settings/audit?by=people')
    await row.first().waitFor()
    expect(await rowOf(page, 'scheduler').count()).toBe(0)
    await page.getByLabel('Outcome').selectOption('refused')
    await page.waitForURL(({ searchParams }) => searchParams.get('outcome') === 'refused')
    expect(opened.faults).toEqual([])
  })

  test.each(['VIEWER', 'MEMBER'] as const)('a %s is told what it may not see or do, and why', async (role) => {
    await ui.query('mutation { setQuota(input: { scope: PROJECT, name: "research", maxRunning: 5 }) { __typename } }')
    await using opened = await ui.open({ token: role === 'VIEWER' ? viewer : member })
    const { page } = opened
    for (const section of ['tokens', 'audit']) {
      await page.goto(`/settings/${section}`)
      // In the server's words.
      await page.getByRole('alert').getByText(`has the role ${role}; this needs ADMIN.`).waitFor()
      expect(await opened.violations()).toEqual([])
    }
    await page.goto('/settings/quotas')
    await rowOf(page, 'research').getByText('0 of 5').waitFor()
    const why = `Your token has the role ${role}: this needs ADMIN.`
    for (const name of ['Set a quota…', 'Change the quota of research', 'Remove the quota of research']) {
      const button = page.getByRole('button', { name })
      expect([await button.getAttribute('aria-disabled'), await button.getAttribute('title')]).toEqual(['true', why])
      await button.click({ force: true })
    }
    expect(await dialog(page).count()).toBe(0)
    expect(await opened.violations()).toEqual([])
    await page.goto('/settings/webhooks')
    const create = page.getByRole('button', { name: 'New webhook…' })
    await create.waitFor()
    expect(await create.getAttribute('aria-disabled')).toBe(role === 'VIEWER' ? 'true' : null)
    expect(opened.faults).toEqual([])
  })

  testUnreadable(ui, {
    table: 'resource_policies',
    path: '/settings/quotas',
    shown: (page) => rowOf(page, 'research').waitFor(),
  })
  testAppearance(
    ui,
    ['switches', 'defaults', 'quotas', 'webhooks', 'projects', 'members', 'tokens', 'audit'].map((section) => [
      `/settings/${section}`,
      (page) => page.locator('.settings-table, .empty').first().waitFor(),
    ]),
  )
})
