import type { Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { createFactories } from '../support/sessions/factories.ts'
import { describeOwnUi, describeUi, rowOf, testAppearance, testUnreadable } from '../support/ui-suite.ts'

/** The overview, of sessions that a real agent ran: some failed, one was saved by its retry, one is held by a switch. */

const LONG = `a-name-${'that-a-workflow-engine-made-'.repeat(6)}end`

describeOwnUi('the overview', 'overview-page', (ui) => {
  let running: string

  const create = (name: string, script: string, retries: number, more: { policy?: object; input?: object } = {}) =>
    ui.create(name, script, { maxRetries: retries, retryDelay: 0.1, ...more.policy }, more.input)
  const reached = (chainId: string, state: string) => ui.reached(chainId, [state])

  const tile = (page: Page, name: string) => page.locator('.tile').filter({ hasText: name })
  const value = (page: Page, name: string) => tile(page, name).locator('.tile-value')
  const panel = (page: Page, name: string) => page.getByRole('region', { name })

  test('says in each part that there is no chain yet, and is the page of the bare address', async () => {
    await using opened = await ui.open()
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

  test('updates its figures by itself, and each figure leads to the list that it counts', async () => {
    await using opened = await ui.open()
    const { page } = opened
    await page.goto('/')
    await panel(page, 'Latest').getByText('There is no chain yet.').waitFor()
    await ui.createStoppedProject('stopped')
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
    const onCall = panel(page, 'On call')
    await onCall.getByRole('list', { name: 'New failures' }).getByRole('link').first().waitFor({ timeout: 60_000 })
    await onCall.getByText('Everything can.').waitFor()
    await onCall.getByRole('list', { name: 'Lost to failures' }).getByRole('link').first().waitFor({ timeout: 60_000 })
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

  test('can be used by keys: arrows choose a bar, which leads to the chains of its time', async () => {
    await using opened = await ui.open()
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

  test('shows one project if that is chosen, or if the token sees no other', async () => {
    const viewer = await ui.tokenOf('VIEWER', 'stopped')
    await using opened = await ui.open({ token: viewer })
    await opened.page.goto('/')
    await value(opened.page, 'Held').getByText('1', { exact: true }).waitFor()
    expect(await value(opened.page, 'Running').innerText()).toBe('0')
    expect(await opened.page.getByRole('list', { name: 'Switches in force' }).innerText()).toMatch(
      /^Retries of project stopped are switched off since .+ by .+\.\s+Switch on…$/,
    )
    await using chosen = await ui.open()
    await chosen.page.goto('/?project=stopped&colour=red')
    await chosen.page.getByText('left out: colour').waitFor()
    await value(chosen.page, 'Held').getByText('1', { exact: true }).waitFor()
    expect(await value(chosen.page, 'Waiting').innerText()).toBe('0')
    await tile(chosen.page, 'Held').click()
    await chosen.page.waitForURL(/project=stopped/)
    expect([...opened.faults, ...chosen.faults]).toEqual([])
  })

  test('tells queued, impossible and running chains apart, and timeouts from other failures', async () => {
    const startsAt = new Date(Date.now() + 3_600_000).toISOString()
    const cpu = [{ slot: 'cpu', amount: '100000' }]
    const never = await create('never', 'true', 0, { input: { resourceSlots: cpu } })
    const [later, slow] = await Promise.all([
      create('later', 'true', 0, { input: { startsAt } }),
      create('slow', 'sleep 600', 0, { input: { batchTimeout: 0.3 } }),
    ])
    await Promise.all([reached(never, 'IMPOSSIBLE'), reached(later, 'QUEUED'), reached(slow, 'FAILED')])
    await using opened = await ui.open()
    const { page } = opened
    await page.goto('/')
    await value(page, 'Queued').getByText('1', { exact: true }).waitFor()
    expect(await value(page, 'Running').innerText()).toBe('0')
    expect(await opened.violations()).toEqual([])
    await tile(page, 'Impossible').click()
    await page.waitForURL(/state=impossible/)
    await page.getByRole('row').filter({ hasText: 'never' }).getByText('impossible', { exact: true }).waitFor()
    expect(await page.getByRole('row').count()).toBe(2)
    await page.getByRole('button', { name: /^Queued/ }).click()
    await page.getByRole('row').filter({ hasText: 'later' }).waitFor()
    expect(await page.getByRole('row').count()).toBe(2)
    await page.goto(`/chains/${never}`)
    await page.getByText('attempt 1 cannot start').waitFor()
    await page.goto('/chains?cause=timeout')
    await page.getByRole('row').filter({ hasText: 'slow' }).getByText('timed out after 0.3 s').waitFor()
    expect(await page.getByRole('row').count()).toBe(2)
    await page.goto('/failures')
    const groups = page.getByRole('table', { name: /^Failed attempts by/ })
    await groups.getByRole('row').filter({ hasText: 'timed out' }).waitFor()
    await groups.getByRole('link', { name: 'timed out' }).click()
    await page.getByRole('row').filter({ hasText: 'slow' }).waitFor()
    expect(opened.faults).toEqual([])
    for (const id of [never, later]) {
      await ui.query('mutation ($id: UUID!) { terminateSession(input: { sessionId: $id }) { __typename } }', { id })
    }
  })

  test('says what is broken now, and which agents warn', async () => {
    const chain = await create('breaks', 'echo "no route to the storage"; exit 11', 50, { policy: { retryDelay: 2 } })
    const { db } = ui.database
    const group = async () =>
      (
        await db.query<{ id: string }>(
          'SELECT g.id FROM failures f JOIN failure_groups g ON g.id = f.group_id WHERE f.chain_id = $1 LIMIT 1',
          [chain],
        )
      ).rows[0]?.id
    const id = await eventually(group)
    await ui.query(
      'mutation ($id: UUID!) { setRetryBreaker(input: { failureGroupId: $id, open: true }) { __typename } }',
      {
        id,
      },
    )
    await ui.reached(chain, ['HELD'])
    const gpu = {
      slot: 'cuda.device',
      uuid: 'GPU-1',
      index: 0,
      name: 'H100',
      memoryBytes: null,
      fault: 'fell off the bus',
    }
    const agentId = await createFactories(db).agent('node-7')
    await db.query(
      `UPDATE agents SET status = 'DRAINING', drained_at = now(), gpus = $2, warnings = $3 WHERE id = $1`,
      [agentId, JSON.stringify([gpu]), JSON.stringify([{ kind: 'limits', text: 'memory is not bounded' }])],
    )
    await using opened = await ui.open()
    const { page } = opened
    await page.goto('/')
    const broken = panel(page, 'On call').getByRole('list', { name: 'Needs attention' })
    await broken.getByText('1 GPU of node-7 is out of service: fell off the bus.').waitFor()
    await panel(page, 'On call').getByText('An agent warns:').getByRole('link', { name: 'node-7' }).click()
    await page.getByText('memory is not bounded').waitFor()
    expect(await opened.violations()).toEqual([])
    await page.goto('/')
    await broken.getByRole('link', { name: '1 retry is held: many chains fail alike.' }).click()
    await rowOf(page, 'breaks').waitFor()
    expect(new URL(page.url()).search).toBe('?phase=held&reason=breaker')
    expect(opened.faults).toEqual([])
    await ui.query('mutation ($id: UUID!) { terminateSession(input: { sessionId: $id }) { __typename } }', {
      id: chain,
    })
    await reached(chain, 'CANCELLED')
    await db.query('DELETE FROM agents WHERE id = $1', [agentId])
  })

  testUnreadable(ui, {
    table: 'retry_decisions',
    path: '/',
    shown: (page) => value(page, 'Waiting').getByText('1', { exact: true }).waitFor(),
  })

  describe('with a long name', () => {
    beforeAll(async () => {
      await reached(await create(LONG, 'exit 3', 3, { policy: { retryDelay: 700 } }), 'WAITING_RETRY')
    })
    testAppearance(ui, [
      [
        '/',
        async (page) => {
          await panel(page, 'Latest').getByRole('link', { name: LONG }).first().waitFor()
          await page.locator('.cause-bar').first().waitFor()
        },
      ],
    ])
  })
})

/** Failures of sessions that a real agent ran: with two exit codes, and for want of an image. */

describeUi('the page of failures', {}, (ui) => {
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
  const group = (page: Page, name: string | RegExp) =>
    page
      .getByRole('table', { name: /^Failed attempts by/ })
      .getByRole('row')
      .filter({ hasText: name })

  test('says that there is no failure', async () => {
    await using opened = await ui.open()
    const { page } = opened
    await page.goto('/failures')
    await page.getByText('No attempt has failed in the last 24 hours.').first().waitFor()
    expect(await opened.violations()).toEqual([])
    expect(opened.faults).toEqual([])
  })

  test('counts failures by cause, and each number leads to the chains that it counts', async () => {
    await Promise.all([
      create('broken', { exit: 7 }).then((id) => reached(id, 'FAILED')),
      create('broken', { exit: 7, team: 'nlp' }).then((id) => reached(id, 'FAILED')),
      create('saved', { exit: 9, retries: 2 }).then((id) => reached(id, 'SUCCEEDED')),
      create('without-image', { image: 'no-such-image' }).then((id) => reached(id, 'FAILED')),
    ])
    await using opened = await ui.open()
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

  test('filters by cause and by time, and shows numbers or shares', async () => {
    await using opened = await ui.open()
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

  test('shows no failures of another project', async () => {
    await ui.cluster.query('mutation { createProject(input: { name: "empty" }) { __typename } }')
    const viewer = await ui.cluster.tokenOf('VIEWER', 'empty')
    await using opened = await ui.open({ token: viewer })
    await opened.page.goto('/failures')
    await opened.page.getByText('No attempt has failed in the last 24 hours.').first().waitFor()
    expect(opened.faults).toEqual([])
  })

  testUnreadable(ui, {
    table: 'retry_decisions',
    path: '/failures',
    shown: (page) => group(page, 'exit code').waitFor(),
  })

  describe('with a long name', () => {
    beforeAll(async () => {
      await reached(await create(LONG, { exit: 3 }), 'FAILED')
    })
    testAppearance(ui, [
      [
        '/failures?by=name',
        async (page) => {
          await group(page, LONG).waitFor()
          await page.locator('.cause-bar').first().waitFor()
        },
      ],
    ])
  })
})
