import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { describePages, testAppearance } from '../support/ui-suite.ts'

/** The page on which a retry policy is tried, in a real browser. */

const PATIENT = '/policy?retries=6&delay=30s&backoff=exponential&jitter=random'

describePages('a policy that is tried', (server) => {
  const rows = (page: Page) => page.locator('.policy-table tbody tr')
  const cells = async (page: Page, row: number) =>
    (await rows(page).nth(row).locator('th, td').allInnerTexts()).map((text) => text.replaceAll('\u00a0', ' '))

  test('is drawn while it is typed, and its address shows the same on another page', async () => {
    await using opened = await server.open()
    const { page } = opened
    await page.goto('/chains')
    await page.getByRole('heading', { name: 'No chains yet' }).waitFor()
    await page.keyboard.press('g')
    await page.keyboard.press('p')
    await page.getByText('maxRetries is 0').waitFor()
    await page.getByLabel('Retries', { exact: true }).fill('3')
    await rows(page).nth(2).waitFor()
    await page.getByLabel('First delay').fill('2m')
    await page.getByLabel('Backoff').selectOption('exponential')
    await page.getByLabel('Jitter', { exact: true }).selectOption('random')
    await page.getByText('8 m – 10 m').waitFor()
    expect(await cells(page, 2)).toEqual(['3', '8 m – 10 m', '14 m – 17 m 30 s'])
    expect(await page.locator('.schedule-chart .sure').count()).toBe(3)
    expect(await page.locator('.schedule-chart .spread').count()).toBe(3)
    await page.waitForURL('**/policy?retries=3&delay=2m&backoff=exponential&jitter=random')
    await using other = await server.open()
    await other.page.goto(page.url())
    await rows(other.page).nth(2).waitFor()
    expect(await cells(other.page, 2)).toEqual(['3', '8 m – 10 m', '14 m – 17 m 30 s'])
    expect(await other.page.getByLabel('First delay').inputValue()).toBe('2m')
    expect([...opened.faults, ...other.faults]).toEqual([])
  })

  test('shows the errors of the server at its fields, and keeps the last drawing', async () => {
    await using opened = await server.open()
    const { page } = opened
    await page.goto(PATIENT)
    await rows(page).nth(5).waitFor()
    await page.getByLabel('Share of jitter').fill('1.5')
    await page.getByRole('alert').filter({ hasText: 'Too big: expected number to be <=1' }).waitFor()
    expect(await page.getByLabel('Share of jitter').getAttribute('aria-invalid')).toBe('true')
    expect(await rows(page).count()).toBe(6)
    expect(await page.getByRole('button', { name: 'Copy as JSON' }).isDisabled()).toBe(true)
    await page.getByText('Which failures').click()
    await page.getByLabel('Rules, as JSON').fill('[{"match": {"exitCodes": [3]}, "action": "FAIL", "delay": 5}]')
    await page.getByRole('alert').filter({ hasText: '0.delay: Only for a rule that retries' }).waitFor()
    await page.getByLabel('Rules, as JSON').fill('[{"match": {"exitCodes": [3]}, "action": "AGAIN"}]')
    await page.getByRole('alert').filter({ hasText: 'does not exist in "RetryRuleAction" enum' }).waitFor()
    await page.getByLabel('Rules, as JSON').fill('[{"match": {"exitCodes": [3]}, "action": "FAIL"}]')
    await page.getByLabel('Share of jitter').fill('')
    await page.getByRole('alert').first().waitFor({ state: 'detached' })
    await page.getByText('Tried with').click()
    await page.getByLabel('Exit code', { exact: true }).fill('3')
    await page.getByText('Not retried').waitFor()
    // The browser itself reports the answer to a value that is none of the type.
    expect(opened.faults).toEqual([expect.stringContaining('status of 400')])
  })

  test('follows its address, and names the parameters that it ignores', async () => {
    await using opened = await server.open()
    const { page } = opened
    await page.goto(`${PATIENT}&colour=red`)
    await page.getByText('left out: colour').waitFor()
    await rows(page).nth(5).waitFor()
    await page.getByRole('link', { name: 'Policy' }).click()
    await page.getByText('maxRetries is 0').waitFor()
    expect(await page.getByLabel('Retries', { exact: true }).inputValue()).toBe('')
    expect(opened.faults).toEqual([])
  })

  test('is tried on the sessions that failed in the last seven days', async () => {
    const { id } = await server.factory.session({ name: 'nightly-import', status: 'ERROR' })
    await server.db.query('UPDATE sessions SET terminated_at = created_at WHERE id = $1', [id])
    await using opened = await server.open()
    const { page } = opened
    await page.goto('/policy?delays=20s,5m,2h')
    const trial = page.getByRole('region', { name: 'Trial' })
    await trial.getByText('1 retried').waitFor()
    const row = trial.locator('tbody tr').filter({ hasText: 'nightly-import' })
    const told = (await row.locator('td').allInnerTexts()).map((text) => text.replaceAll('\u00a0', ' '))
    expect(told).toEqual(['exit code', 'retried', '20 s'])
    expect(await cells(page, 1)).toEqual(['2', '5 m', '5 m 20 s'])
    await page.getByText('Which failures').click()
    await page.getByLabel('Rules, as JSON').fill('[{"match": {}, "action": "FAIL"}]')
    await trial.getByText('1 not retried').waitFor()
    await page.waitForURL('**/policy?delays=20s%2C5m%2C2h&rules=**')
    await row.getByRole('link').click()
    await page.getByRole('heading', { name: 'nightly-import' }).waitFor()
    expect(opened.faults).toEqual([])
  })

  test('is replayed on the chains of the last thirty days', async () => {
    const chain = await server.factory.chain(2, { name: 'nightly-export', status: 'TERMINATED', phase: 'SUCCEEDED' })
    await server.db.query('UPDATE sessions SET terminated_at = created_at WHERE chain_id = $1', [chain[0]!.chainId])
    await using opened = await server.open()
    const { page } = opened
    await page.goto('/policy?retries=2')
    const backtest = page.getByRole('region', { name: 'Backtest' })
    await backtest.getByRole('button', { name: 'Replay the last 30 days' }).click()
    const outcomes = async () =>
      (await backtest.getByRole('row').allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' ').trim())
    await backtest.getByRole('table', { name: 'Under the policy' }).waitFor()
    expect((await outcomes()).slice(1, 3)).toEqual(['End alike 1', 'Stop earlier 0'])
    await page.getByText('Which failures').click()
    await page.getByLabel('Rules, as JSON').fill('[{"match": {}, "action": "FAIL"}]')
    await backtest.getByText('The policy has changed since.').waitFor()
    await backtest.getByRole('button', { name: 'Replay again' }).click()
    await backtest.getByText('1 success of nightly-export lost').waitFor()
    expect((await outcomes())[2]).toBe('Stop earlier 1 −1 −1')
    expect(await opened.violations()).toEqual([])
    await backtest.getByRole('link', { name: 'nightly-export' }).click()
    await page.getByRole('heading', { name: 'nightly-export' }).waitFor()
    expect(opened.faults).toEqual([])
  })

  test('is copied as JSON and as a command', async () => {
    await using opened = await server.open({ permissions: ['clipboard-read', 'clipboard-write'] })
    const { page } = opened
    await page.goto(PATIENT)
    await rows(page).nth(5).waitFor()
    await page.getByRole('button', { name: 'Copy as JSON' }).click()
    await page.getByText('Copied').waitFor()
    const copied = () => page.evaluate(() => navigator.clipboard.readText())
    expect(JSON.parse(await copied())).toEqual({
      maxRetries: 6,
      retryDelay: 30,
      backoff: 'EXPONENTIAL',
      jitter: 'RANDOM',
    })
    await page.getByRole('button', { name: 'Copy as a command' }).click()
    await expect.poll(copied).toMatch(/^npx reprise run/)
    expect((await copied()).replaceAll(/\s+\\\s+/g, ' ')).toBe(
      'npx reprise run --retries 6 --retry-delay 30s --backoff exponential --jitter random -- COMMAND',
    )
    expect(opened.faults).toEqual([])
  })

  test('is made from the settings of an Airflow operator, and compared with them', async () => {
    await using opened = await server.open()
    const { page } = opened
    await page.goto('/policy?retries=4')
    await rows(page).nth(3).waitFor()
    await page.getByRole('button', { name: 'From Airflow' }).click()
    await page.getByLabel('retry_exponential_backoff').fill('true')
    await page.getByRole('heading', { name: 'Different' }).waitFor()
    await page.locator('.schedule-chart .theirs').nth(3).waitFor({ state: 'attached' })
    expect(await page.locator('.schedule-chart .theirs').count()).toBe(4)
    await page.getByLabel('dag_id').waitFor({ state: 'hidden' })
    await page.getByText('Its task, for the exact jitter').click()
    await page.getByLabel('dag_id').fill('daily')
    await page.getByRole('alert').filter({ hasText: 'dagId and taskId are given together' }).waitFor()
    await page.getByLabel('task_id').fill('load')
    await page.getByRole('alert').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Edit as a policy' }).click()
    await expect.poll(() => page.getByLabel('Retries', { exact: true }).inputValue()).toBe('4')
    expect(await page.getByLabel('First delay').inputValue()).toBe('300s')
    expect(await page.getByLabel('Backoff').inputValue()).toBe('exponential')
    expect(opened.faults).toEqual([])
  })

  const tried = async (page: Page) => {
    await page.locator('.policy-figures, [role="alert"]').first().waitFor()
    const inside = await page.evaluate(() => document.querySelector('main')!.scrollWidth)
    expect(inside).toBeLessThanOrEqual(page.viewportSize()!.width)
  }
  testAppearance(
    server,
    [PATIENT, '/policy?share=2', '/policy?from=airflow&retries=5&exponential=true', '/policy'].map((path) => [
      path,
      tried,
    ]),
  )
})
