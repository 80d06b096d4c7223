import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { describeUi, rowOf, testAppearance } from '../support/ui-suite.ts'

/** What failures cost, and who used the cluster: programs of a real agent. */

describeUi('insights and usage', {}, (ui) => {
  test('show what failures cost and what retries bring', async () => {
    await using opened = await ui.open()
    const { page } = opened
    await page.goto('/insights')
    await page.getByText('No CPU time was lost.').waitFor()
    expect(await opened.violations()).toEqual([])

    const saved = 'test "$REPRISE_ATTEMPT" = 2 || { sleep 1.2; exit 3; }'
    const rules = [{ match: { exitCodes: [3] }, action: 'RETRY' as const }]
    const policy = { maxRetries: 1, retryDelay: 0.1, rules }
    const chains = await Promise.all([
      ui.create('mended', saved, policy),
      ui.create('broken', 'exit 64', policy, { labels: [{ key: 'team', value: 'red' }] }),
    ])
    await ui.reached(chains[0], ['SUCCEEDED'])
    await ui.reached(chains[1], ['FAILED'])
    await page.goto('/insights?by=exit')
    const table = page.getByRole('table', { name: 'Insights by exit code' })
    await table.getByText('exit code 3', { exact: true }).waitFor({ timeout: 40_000 })
    await table.getByText('exit code 64', { exact: true }).waitFor({ timeout: 40_000 })
    const cells = await table.getByRole('row').filter({ hasText: 'exit code 64' }).getByRole('cell').allInnerTexts()
    expect(cells.slice(1, 5).map((text) => text.replaceAll(/\D/g, ''))).toEqual(['2', '1', '0', '1'])
    await page.getByRole('meter', { name: 'retry 1' }).waitFor()
    expect(await page.getByRole('meter', { name: 'retry 1' }).getAttribute('aria-valuetext')).toContain(
      '1 of 2 succeeded',
    )
    await page.getByRole('button', { name: 'Cause', exact: true }).click()
    await page.getByRole('table', { name: 'Insights by cause' }).waitFor()
    await page.getByRole('button', { name: 'Rule', exact: true }).click()
    await rowOf(page, 'exit code 3 is retried').waitFor()
    await rowOf(page, 'no rule matched').waitFor()
    await page.getByRole('button', { name: 'Label', exact: true }).click()
    await page.getByText('Choose the key of a label.').waitFor()
    await page.getByLabel('Key of the label').fill('team')
    await page.keyboard.press('Enter')
    await rowOf(page, 'red').waitFor()
    await page.getByRole('button', { name: 'Project', exact: true }).click()
    await page.getByRole('table', { name: 'Insights by project' }).waitFor()
    expect(new URL(page.url()).searchParams.has('key')).toBe(false)
    expect(await opened.violations()).toEqual([])
  })

  test('show who used the cluster, also as CSV', async () => {
    await using opened = await ui.open()
    const { page } = opened
    await page.goto('/usage?by=name')
    await rowOf(page, 'mended').waitFor()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'CSV' }).click(),
    ])
    expect(download.suggestedFilename()).toBe('usage-by-name.csv')
    const lines = (await readFile(await download.path(), 'utf8')).split('\r\n')
    expect(lines[0]).toBe('key,title,sessions,runningSeconds,cpuSeconds,memoryByteSeconds,gpuSeconds,cpuSecondsUsed')
    expect(lines.some((line) => line.startsWith('mended,mended,2,'))).toBe(true)
    await page.getByRole('button', { name: 'Label', exact: true }).click()
    await page.getByText('Choose the key of a label.').waitFor()
    await page.getByLabel('Key of the label').fill('team')
    await page.keyboard.press('Enter')
    await rowOf(page, 'red').waitFor()
    expect(await opened.violations()).toEqual([])
    await page.getByLabel('Key of the label').blur()
    await page.keyboard.press('g')
    await page.keyboard.press('i')
    await page.getByRole('heading', { name: 'Insights' }).waitFor()
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Queue' }).click()
    await page.getByRole('heading', { name: 'Queue' }).waitFor()
  })

  testAppearance(ui, [
    ['/insights', (page) => page.getByRole('table', { name: 'Insights by cause' }).waitFor()],
    ['/usage?by=name', (page) => rowOf(page, 'mended').waitFor()],
  ])
})
