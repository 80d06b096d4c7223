import { beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { describeOwnUi, describeUi, rowOf, testAppearance } from '../support/ui-suite.ts'

/** The queue of retries, of sessions that a real agent ran and that failed, some of them held by a real switch. */

const LONG = `a-name-${'that-a-workflow-engine-made-'.repeat(6)}end`

describeOwnUi('the queue of retries', 'retries-page', (ui) => {
  const create = (name: string, input: { project?: string; exit?: number; delay?: number } = {}) => {
    const { project = 'default', exit = 3, delay = 900 } = input
    return ui.create(name, `exit ${exit}`, { maxRetries: 3, retryDelay: delay }, { project })
  }
  const reached = (chainId: string, state: string) => ui.reached(chainId, [state])

  test('an empty queue says so', async () => {
    await using opened = await ui.open()
    const { page } = opened
    await page.goto('/chains')
    await page.getByRole('heading', { name: 'No chains yet' }).waitFor()
    for (const key of ['g', 'r']) await page.keyboard.press(key)
    await page.getByRole('heading', { name: 'No retry waits' }).waitFor()
    expect(new URL(page.url()).pathname).toBe('/retries')
    expect(await opened.violations()).toEqual([])
    expect(opened.faults).toEqual([])
  })

  test('a retry appears by itself, counts down, and is started or cancelled from its row', async () => {
    await using opened = await ui.open()
    const { page } = opened
    await page.goto('/retries')
    await page.getByRole('heading', { name: 'No retry waits' }).waitFor()
    await create('later', { delay: 900 })
    await create('sooner', { delay: 600, exit: 7 })
    await rowOf(page, 'sooner').waitFor()
    await rowOf(page, 'later').waitFor()
    const names = await page.locator('.table-link').allInnerTexts()
    expect(names).toEqual(['sooner', 'later'])
    const words = (await rowOf(page, 'sooner').innerText()).replaceAll('\u00a0', ' ')
    expect(words).toContain('exit code 7')
    expect(words).toContain('after 10 m')
    const countdown = rowOf(page, 'sooner').locator('.retry-countdown')
    const first = (await countdown.textContent())!
    expect(first).toMatch(/^(9|10):\d\d$/)
    await eventually(async () => (await countdown.textContent()) !== first)

    await page.getByRole('button', { name: 'Retry now: sooner' }).click()
    await page.getByText('sooner is retried now.').waitFor()
    // Its second attempt fails like the first one.
    await page.mouse.move(5, 400)
    await rowOf(page, 'sooner')
      .filter({ hasText: /2\sof\s3/ })
      .waitFor()

    await page.getByRole('button', { name: 'Cancel retry: later' }).click()
    await page.getByRole('dialog', { name: 'Cancel 1 retry?' }).waitFor()
    expect(await opened.violations()).toEqual([])
    await page.getByRole('button', { name: 'Keep it' }).click()
    await page.getByRole('button', { name: 'Cancel retry: later' }).click()
    await page.getByRole('button', { name: 'Cancel the retry' }).click()
    await page.mouse.move(5, 400)
    await rowOf(page, 'later').waitFor({ state: 'detached' })
    expect(opened.faults).toEqual([])
  })

  test('a row stays under the pointer, and says when its retry has left the queue', async () => {
    const chainId = await create('pointed-at', { delay: 1_200 })
    await reached(chainId, 'WAITING_RETRY')
    await using opened = await ui.open()
    const { page } = opened
    await page.goto('/retries')
    await rowOf(page, 'pointed-at').hover()
    const { chain } = await ui.query('query ($id: UUID!) { chain(id: $id) { newestAttempt { sessionId } } }', {
      id: chainId,
    })
    await ui.query('mutation ($id: UUID!) { cancelRetry(input: { sessionId: $id }) { __typename } }', {
      id: chain.newestAttempt.sessionId,
    })
    await rowOf(page, 'pointed-at').getByText('left the queue').waitFor()
    expect(await page.getByRole('button', { name: 'Retry now: pointed-at' }).count()).toBe(0)
    await page.mouse.move(5, 400)
    await rowOf(page, 'pointed-at').waitFor({ state: 'detached' })
    expect(opened.faults).toEqual([])
  })

  test('shows why retries are held, since when, and who switched them off', async () => {
    await ui.createStoppedProject('stopped', 'a test of it')
    const held = await create('held-one', { project: 'stopped', delay: 0.1 })
    const waiting = await create('waiting-one', { exit: 9 })
    await Promise.all([reached(held, 'HELD'), reached(waiting, 'WAITING_RETRY')])
    await using opened = await ui.open()
    const { page } = opened
    await page.goto('/retries')
    await rowOf(page, 'held-one')
      .getByText(/retries are switched off/)
      .waitFor()
    expect(await rowOf(page, 'held-one').innerText()).toMatch(/since \d\d:\d\d:\d\d/)
    const { viewer } = await ui.query('{ viewer { name } }')
    const line = page.getByRole('list', { name: 'Switches in force' })
    expect(await line.innerText()).toMatch(
      new RegExp(
        `^Retries of project stopped are switched off since \\d\\d:\\d\\d by ${viewer.name}: a test of it\\s+Switch on…$`,
      ),
    )

    await page.getByRole('button', { name: /^Held/ }).click()
    await rowOf(page, 'waiting-one').waitFor({ state: 'detached' })
    await page.getByLabel('Held by').selectOption('retries are switched off')
    await rowOf(page, 'held-one').waitFor()
    expect(new URL(page.url()).search).toBe('?phase=held&reason=switch')
    await page.getByLabel('Held by').selectOption('rate limit')
    await page.getByRole('heading', { name: 'No retry fits' }).waitFor()
    expect(await opened.violations()).toEqual([])
    await page.getByRole('button', { name: 'reason rate' }).click()
    await rowOf(page, 'held-one').waitFor()
    await page.goto('/retries?project=stopped&colour=red')
    await page.getByText('left out: colour').waitFor()
    await rowOf(page, 'held-one').waitFor()
    expect(await rowOf(page, 'waiting-one').count()).toBe(0)
    await page.goto('/retries?phase=waiting')
    await rowOf(page, 'waiting-one').waitFor()
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/chains\/[0-9a-f-]{36}/)
    expect(opened.faults).toEqual([])
  })

  test('a viewer has no buttons', async () => {
    const viewer = await ui.tokenOf('VIEWER', 'stopped')
    await using opened = await ui.open({ token: viewer })
    const { page } = opened
    await page.goto('/retries')
    await rowOf(page, 'held-one').waitFor()
    expect(await page.getByRole('button', { name: /^Retry now/ }).count()).toBe(0)
    expect(await page.getByRole('list', { name: 'Switches in force' }).innerText()).toContain(
      'Retries of project stopped are switched off since',
    )
    expect(opened.faults).toEqual([])
  })

  test('a right that was taken away meanwhile is refused with the message of the server', async () => {
    await ui.query('mutation { createUser(input: { name: "ben" }) { __typename } }')
    const member = (role: string) =>
      ui.query(
        `mutation ($role: TokenRole!) {
          setProjectMember(input: { project: "stopped", user: "ben", role: $role }) { __typename } }`,
        { role },
      )
    await member('MEMBER')
    const { createToken } = await ui.query(
      `mutation { createToken(input: { name: "ben-laptop", role: MEMBER, project: "stopped", user: "ben" }) {
        ... on CreateTokenPayload { secret } ... on Error { message } } }`,
    )
    await using opened = await ui.open({ token: createToken.secret })
    const { page } = opened
    await page.goto('/retries')
    await page.getByRole('button', { name: 'Retry now: held-one' }).waitFor()
    // The page does not hear of it before the button is pressed.
    let release = () => {}
    const pressed = new Promise<void>((resolve) => void (release = resolve))
    await page.route('**/graphql', async (route) => {
      if (route.request().postData()?.includes('UiRetries')) await pressed
      return route.continue()
    })
    await member('VIEWER')
    // The server knows the rights of a token for a few seconds without asking.
    const refusal = page.getByText(/^held-one: .+ VIEWER, which may not change anything/)
    await eventually(async () => {
      await page.getByRole('button', { name: 'Retry now: held-one' }).click()
      return (await refusal.count()) > 0
    })
    expect(await opened.violations()).toEqual([])
    release()
    await page.getByRole('button', { name: 'Retry now: held-one' }).waitFor({ state: 'detached' })
    await rowOf(page, 'held-one').waitFor()
    expect(opened.faults).toEqual([])
  })

  test('an error takes the place of the queue, and the page tries again', async () => {
    await using opened = await ui.open()
    const { page } = opened
    await ui.database.db.query('ALTER TABLE retry_decisions RENAME TO mislaid')
    try {
      await page.goto('/retries')
      await page.getByRole('alert').getByText('INTERNAL').waitFor()
      expect(await opened.violations()).toEqual([])
      const again = page.waitForRequest((request) => request.postData()?.includes('UiRetries') ?? false)
      await page.getByRole('button', { name: 'Try again' }).click()
      await again
    } finally {
      await ui.database.db.query('ALTER TABLE mislaid RENAME TO retry_decisions')
    }
    // An event may have the page ask before anyone presses the button.
    const row = rowOf(page, 'held-one')
    await page.getByRole('button', { name: 'Try again' }).or(row).first().click()
    await row.waitFor()
  })

  describe('with a long name', () => {
    beforeAll(async () => {
      await reached(await create(LONG, { delay: 700 }), 'WAITING_RETRY')
    })
    testAppearance(ui, [['/retries', (page) => rowOf(page, 'held-one').waitFor()]])
  })
})

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

  test('an empty list says so', async () => {
    await using opened = await ui.open()
    const { page } = opened
    await page.goto('/chains')
    await page.getByRole('heading', { name: 'No chains yet' }).waitFor()
    for (const key of ['g', 'b']) await page.keyboard.press(key)
    await page.getByRole('heading', { name: 'No action on many chains yet' }).waitFor()
    expect(new URL(page.url()).pathname).toBe('/resubmissions')
    expect(await opened.violations()).toEqual([])
    expect(opened.faults).toEqual([])
  })

  test('an action appears by itself with its filter and its results, and opens by keys', async () => {
    await using opened = await ui.open()
    const { page } = opened
    await page.goto('/resubmissions')
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

  test('a running action is followed to its end batch by batch, and all its chains are listed', async () => {
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

  test('a running action is stopped, and shows by whom and what was left undone', async () => {
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
    await page.getByText(/stopped by admin-of/).waitFor()
    await page.getByRole('button', { name: /^Left undone/ }).waitFor()
    expect(await opened.violations()).toEqual([])
  })

  test('an unknown action and one of another project have the same page', async () => {
    const viewer = await ui.cluster.tokenOf('VIEWER')
    const id = await act('retryNowMany', 'mixed')
    await using opened = await ui.open({ token: viewer })
    const { page } = opened
    for (const path of [id, '00000000-0000-7000-8000-000000000000', 'nonsense']) {
      await page.goto(`/resubmissions/${path}`)
      await page.getByRole('heading', { name: 'Nothing here' }).waitFor()
    }
    expect(opened.faults).toEqual([])
  })

  test('an error takes the place of the list, and the page tries again', async () => {
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

  testAppearance(ui, [
    ['/resubmissions', (page) => page.getByRole('link', { name: /Resubmission of 2.chains/ }).waitFor()],
    [() => `/resubmissions/${resubmission}`, (page) => rowOf(page, 'well').waitFor()],
  ])
})
