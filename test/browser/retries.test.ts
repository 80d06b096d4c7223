import { beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { describeOwnUi, rowOf, testAppearance } from '../support/ui-suite.ts'

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
