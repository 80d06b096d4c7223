import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { commandLine } from '../support/programs/command-line.ts'
import { describeOwnUi, rowOf } from '../support/ui-suite.ts'

/**
 * A chain of attempts from its form to its end, in a real browser, on a real server whose agent runs real processes; and
 * the same chain over GraphQL, over REST and on the command line.
 */

/** The first attempt fails, the second one writes lines until it is terminated. */
const SCRIPT = `[ $REPRISE_ATTEMPT = 1 ] && exit 3
  i=0; while :; do i=$((i+1)); printf '\\033[32mtick\\033[0m %s\\n' $i; sleep 0.05; done`

describeOwnUi('a chain in the browser', 'chain-lifecycle', (ui) => {
  const field = (page: Page, label: string) => page.getByLabel(label, { exact: true })
  const bar = (page: Page, attempt: number) => page.getByRole('option', { name: new RegExp(`^attempt ${attempt}, `) })

  test('is made in a form, fails, counts down to its retry, is retried, writes its log, and ends', async () => {
    await using opened = await ui.open()
    const { page } = opened
    await page.goto('/chains/new')
    await field(page, 'Command').fill(SCRIPT)
    await page.getByLabel(/Through a shell/).check()
    await field(page, 'Name').fill('goes-on')
    await field(page, 'Retries').fill('3')
    await field(page, 'First delay').fill('10m')
    await page.getByRole('button', { name: 'Create session' }).click()
    await page.waitForURL(/\/chains\/[\da-f-]{36}/)
    await page.getByRole('heading', { name: 'goes-on' }).waitFor()
    await page.getByText('waiting for retry 1 of 3').waitFor()
    await page.getByRole('option', { name: /^attempt 1, epoch 0, exit code 3, .*ran/ }).waitFor()

    const countdown = page.locator('.countdown')
    const first = (await countdown.textContent())!
    expect(first).toMatch(/^\d+:\d\d$/)
    await eventually(async () => (await countdown.textContent()) !== first)
    await page.getByText('attempt 1 ended: exit code 3').waitFor()
    await page.getByRole('heading', { name: 'Why there is an attempt 2' }).waitFor()

    await page.getByRole('button', { name: 'Retry now' }).waitFor()
    await page.keyboard.press('r')
    await bar(page, 2).waitFor()
    await page.getByText('attempt 2 in progress').waitFor()
    const lastNumber = () => page.locator('.log-number[data-number]').last().getAttribute('data-number').then(Number)
    await page.locator('.log-line .ansi-2', { hasText: 'tick' }).first().waitFor()
    const lines = await lastNumber()
    await eventually(async () => (await lastNumber()) > lines + 30)
    expect(await page.getByRole('button', { name: 'Retry now' }).count()).toBe(0)

    await page.getByRole('button', { name: 'Terminate' }).click()
    await page.getByRole('dialog', { name: 'Terminate 1 chain?' }).waitFor()
    await page.getByRole('button', { name: 'Keep it' }).click()
    await page.getByRole('button', { name: 'Terminate' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Terminate' }).click()
    await page.getByRole('option', { name: /^attempt 2, epoch 0, terminated/ }).waitFor()
    expect(opened.faults).toEqual([])
  })

  test('what a running program tells about its progress is shown as it changes, in lists and on its page', async () => {
    const script = `i=0; while :; do i=$((i+1)); echo "step $i of many" >"$REPRISE_PROGRESS_FILE"; sleep 0.3; done`
    const chainId = await ui.create('tells', script, {})
    await using opened = await ui.open()
    const { page } = opened
    for (const path of ['/chains?q=tells', '/sessions?q=tells', `/chains/${chainId}`]) {
      await page.goto(path)
      const told = page.getByText(/step \d+ of many/).first()
      const first = await told.textContent()
      await eventually(async () => (await told.textContent()) !== first)
    }
    const { chain } = await ui.query(`{ chain(id: "${chainId}") { newestAttempt { sessionId progress progressAt } } }`)
    expect(chain.newestAttempt.progress).toMatch(/^step \d+ of many$/)
    expect(Date.parse(chain.newestAttempt.progressAt)).toBeGreaterThan(Date.now() - 60_000)
    const reprise = commandLine({ REPRISE_URL: ui.url, REPRISE_TOKEN: ui.token })
    expect((await reprise('ls', '--with-name', 'tells')).stdout).toMatch(/RUNNING.*step \d+ of many/)
    await reprise('cancel', chain.newestAttempt.sessionId)
    expect(opened.faults).toEqual([])
  })

  test('is the same over GraphQL, over REST and on the command line', async () => {
    const { chains } = await ui.query(
      `{ chains(first: 1, filter: { search: "goes-on" }) { edges { node {
        chainId state attempts sessions(first: 5) { edges { node {
          sessionId attempt status retryCount parentSession { sessionId } retryState { phase childSession { sessionId } }
        } } }
      } } } }`,
    )
    const { chainId, sessions, ...chain } = chains.edges[0].node
    expect(chain).toEqual({ state: 'CANCELLED', attempts: 2 })
    const attempts = sessions.edges.map(({ node }: any) => node)
    const [first, second] = attempts.map(({ sessionId }: any) => sessionId as string)
    expect(attempts).toMatchObject([
      { attempt: 1, status: 'ERROR', retryCount: 0, parentSession: null },
      { attempt: 2, status: 'TERMINATED', retryCount: 1, parentSession: { sessionId: first } },
    ])
    expect(attempts[0].retryState).toEqual({ phase: 'DISPATCHED', childSession: { sessionId: second } })

    const answer = await fetch(`${ui.url}/v2/chains/${chainId}`, { headers: { authorization: `Bearer ${ui.token}` } })
    expect(answer.status).toBe(200)
    expect(await answer.json()).toMatchObject({
      id: chainId,
      state: 'CANCELLED',
      attempts: 2,
      newest_session_id: second,
    })

    const reprise = commandLine({ REPRISE_URL: ui.url, REPRISE_TOKEN: ui.token })
    const shown = await reprise('chain', chainId)
    expect(shown).toMatchObject({ status: 0, stderr: '' })
    expect(shown.stdout.match(/[├└]─ \d {2}\S+ {2}[A-Z]+/g)).toEqual([
      `├─ 1  ${first}  ERROR`,
      `└─ 2  ${second}  TERMINATED`,
    ])
  })

  test('a waiting chain tells beside its countdown that retries are switched off', async () => {
    await ui.createStoppedProject('soon-held', 'a test of it')
    const chainId = await ui.create('ahead', 'exit 3', { maxRetries: 3, retryDelay: 900 }, { project: 'soon-held' })
    await ui.reached(chainId, ['WAITING_RETRY'])
    await using opened = await ui.open()
    const { page } = opened
    await page.goto('/chains?q=ahead')
    await rowOf(page, 'ahead')
      .getByText(/^retry in \d+:\d\d$/)
      .waitFor()
    await rowOf(page, 'ahead').getByText('retries are switched off').waitFor()
    await page.goto('/retries?project=soon-held&phase=waiting')
    await rowOf(page, 'ahead').getByText('retries are switched off').first().waitFor()
    await page.goto(`/chains/${chainId}`)
    await page.getByText(/^waiting for retry 1 of 3, but retries are switched off$/).waitFor()
    await page.getByText(/^due in \d+:\d\d, and then held: retries are switched off by .*: a test of it$/).waitFor()
    expect(await page.title()).toBe('waiting for a retry · ahead · Reprise')
    expect(await opened.violations()).toEqual([])
    const line = page.getByRole('list', { name: 'Switches in force' })
    await line.getByText(/^Retries of project soon-held are switched off since/).waitFor()
    await line.getByRole('button', { name: /^Switch on/ }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Switch on' }).click()
    await line.waitFor({ state: 'detached' })
    await page.getByText(/^waiting for retry 1 of 3$/).waitFor()
    await ui.query(
      'mutation { setRetrySwitch(input: { scope: PROJECT, name: "soon-held", disabled: true }) { __typename } }',
    )
    await page.getByText(/^waiting for retry 1 of 3, but retries are switched off$/).waitFor()
    expect(opened.faults).toEqual([])
  })
})
