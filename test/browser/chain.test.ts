import { text as textOf } from 'node:stream/consumers'
import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { timelineOf, waitingSeconds, type Segment } from '../../src/ui/timeline/bars.ts'
import { eventually } from '../support/eventually.ts'
import { describeUi, expectFit } from '../support/ui-suite.ts'

/** The page of a chain, in a real browser, on a real server whose agent runs real processes. */

describeUi('the page of a chain', { wholeServer: true }, (ui) => {
  const bar = (page: Page, attempt: number) => page.getByRole('option', { name: new RegExp(`^attempt ${attempt}, `) })

  test('can be used by keys alone, and its address keeps what is shown', async () => {
    const chainId = await ui.create('walked', 'echo no; exit $REPRISE_ATTEMPT', { maxRetries: 2, retryDelay: 0.1 })
    await ui.reached(chainId, ['FAILED'])
    await using opened = await ui.open()
    const { page } = opened
    await page.goto(`/chains/${chainId}?attempt=99`)
    await bar(page, 3).waitFor()
    expect(await bar(page, 3).getAttribute('aria-selected')).toBe('true')
    const list = page.getByRole('listbox', { name: 'Attempts' })
    for (let presses = 0; presses < 40; presses++) {
      if (await list.evaluate((element) => element === document.activeElement)) break
      await page.keyboard.press('Tab')
    }
    const active = async () => {
      const id = await list.getAttribute('aria-activedescendant')
      return page.locator(`#${id}`).getAttribute('aria-label')
    }
    await page.keyboard.press('Home')
    expect(await active()).toMatch(/^attempt 1, epoch 0, exit code 1, .*then backoff/)
    await page.locator('.timeline-card').getByText('Attempt 1: exit code 1').waitFor()
    await page.keyboard.press('ArrowRight')
    expect(await active()).toMatch(/^attempt 2, /)
    await page.keyboard.press('ArrowUp')
    expect(await active()).toMatch(/^(queued|preparing|running) /)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: /^Attempt 2/ }).waitFor()
    await page.keyboard.press('[')
    await page.getByRole('heading', { name: /^Attempt 1/ }).waitFor()
    await page.keyboard.press('t')
    await page.getByRole('button', { name: 'True time', pressed: true }).waitFor()
    await page.keyboard.press('+')
    await page.getByRole('button', { name: 'Show all' }).waitFor()
    const { searchParams } = new URL(page.url())
    expect(searchParams.get('attempt')).toBe('1')
    expect(searchParams.get('scale')).toBe('true')
    expect(Number(searchParams.get('to'))).toBeGreaterThan(Number(searchParams.get('from')))
    await page.reload()
    await page.getByRole('button', { name: 'Show all' }).waitFor()
    await page.getByRole('heading', { name: /^Attempt 1/ }).waitFor()
    expect(opened.faults).toEqual([])
  })

  test('draws exactly the time that the chain waited, and at most 300 elements for 100 attempts', async () => {
    const chainId = await ui.create('hundred', 'exit 1', { maxRetries: 99, retryDelay: 0.1, backoff: 'FIXED' })
    // Each of a hundred processes takes a second where other tests keep the processors busy.
    await ui.reached(chainId, ['FAILED'], 600_000)
    const { chain } = await ui.query(
      `query ($id: UUID!) { chain(id: $id) { attempts waitingSeconds timeline(last: 100) { edges { node {
        kind from to attempt epoch cause holdReason reason session { sessionId status result exitCode } } }
        pageInfo { hasPreviousPage startCursor } } } }`,
      { id: chainId },
    )
    const { edges } = chain.timeline
    let { pageInfo } = chain.timeline
    while (pageInfo.hasPreviousPage) {
      const { chain: more } = await ui.query(
        `query ($id: UUID!, $before: String!) { chain(id: $id) { timeline(last: 100, before: $before) { edges { node {
          kind from to attempt epoch cause holdReason reason session { sessionId status result exitCode } } }
          pageInfo { hasPreviousPage startCursor } } } }`,
        { id: chainId, before: pageInfo.startCursor },
      )
      edges.unshift(...more.timeline.edges)
      pageInfo = more.timeline.pageInfo
    }
    const segments: Segment[] = edges.map(({ node }: any) => ({
      ...node,
      from: Date.parse(node.from),
      to: node.to === null ? null : Date.parse(node.to),
    }))
    expect(waitingSeconds(timelineOf(segments, Date.now()))).toBeCloseTo(chain.waitingSeconds, 1)

    await using opened = await ui.open()
    const { page } = opened
    await page.goto(`/chains/${chainId}`)
    await bar(page, 100).waitFor()
    await page.getByRole('option', { name: /^attempts? 1[, ]/ }).waitFor()
    const elements = () => page.locator('.timeline-svg *').count()
    expect(await elements()).toBeLessThanOrEqual(300)
    await page.getByRole('button', { name: 'Zoom in' }).click()
    await page.getByRole('button', { name: 'Show all' }).waitFor()
    expect(await elements()).toBeLessThanOrEqual(300)
    await page.locator('.overview').waitFor()
    expect(opened.faults).toEqual([])
  }, 900_000)

  test('marks attempts that continue from the checkpoint of an earlier one', async () => {
    const script = `[ $REPRISE_ATTEMPT = 1 ] && { echo 1 >"$REPRISE_CHAIN_DIR/steps"; exit 3; }
      [ $REPRISE_CHECKPOINT = here ]`
    const chainId = await ui.create('goes-on-from', script, { maxRetries: 1, retryDelay: 0.1 })
    await ui.reached(chainId, ['SUCCEEDED'])
    await using opened = await ui.open()
    const { page } = opened
    await page.goto(`/chains/${chainId}?attempt=2`)
    await page.getByRole('option', { name: /^attempt 2, .*, went on from attempt 1$/ }).waitFor()
    expect(await bar(page, 1).getAttribute('aria-label')).not.toContain('checkpoint')
    await page.getByText('went on from attempt 1 (2 B)').waitFor()
    await page.getByText(/^recorded 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d \S+$/).waitFor()
    await page.getByText(/^checkpoint of attempt 2, 2\sB, recorded (now|\d+\s\w+\sago)$/).waitFor()
    await page.locator('.legend').getByText('goes on from a checkpoint').waitFor()
    expect(opened.faults).toEqual([])
  })

  test('opens a log of a million lines at its end, reads all of it, and finds any line', async () => {
    const chainId = await ui.create('million', 'seq 1 1000000', { maxRetries: 0 })
    await ui.reached(chainId, ['SUCCEEDED'])
    await using opened = await ui.open()
    const { page } = opened
    await page.goto(`/chains/${chainId}`)
    const line = (text: string) => page.locator('.log-line').filter({ hasText: new RegExp(`^${text}$`) })
    await line('1000000').waitFor()
    await page.getByRole('log').evaluate((element) => element.scrollTo(0, 0))
    await page.getByRole('button', { name: 'Read all earlier lines' }).click()
    await page.getByText('1\u202f000\u202f000 lines', { exact: true }).waitFor()
    await page.getByRole('log').focus()
    await page.keyboard.press('/')
    await page.keyboard.type('424242')
    await page.keyboard.press('Enter')
    await line('424242').waitFor()
    await page.getByRole('button', { name: 'Link to line 424242' }).click()
    await page.waitForURL(/line=424242/)
    const height = await page.locator('.log-space').evaluate((element) => element.getBoundingClientRect().height)
    expect(height).toBe(8_000_000)
    expect(await page.locator('.log-line').count()).toBeLessThan(100)
    await page.reload()
    await line('424242').waitFor()
    expect(opened.faults).toEqual([])
  })

  test('its log is searched with / from anywhere and while one types, is printed whole, and saved under its name', async () => {
    const chainId = await ui.create('läs/log', 'seq 1 300; echo "end of $REPRISE_ATTEMPT"; exit 3', {
      maxRetries: 1,
      retryDelay: 0.1,
    })
    await ui.reached(chainId, ['FAILED'])
    await using opened = await ui.open()
    const { page } = opened
    const { promise: isRead, resolve: read } = Promise.withResolvers<void>()
    await page.route('**/graphql', async (route) => {
      if (route.request().postData()?.includes('UiKernelLog') === true) await isRead
      await route.continue()
    })
    await page.goto(`/chains/${chainId}`)
    await page.getByText('reading…', { exact: true }).waitFor()
    expect(await page.getByText('no lines').count()).toBe(0)
    read()
    const chosen = page.locator('.log-line[data-chosen] .log-text')
    await page.locator('.log-line', { hasText: 'end of 2' }).waitFor()
    await page.locator('h1').focus()
    await page.keyboard.press('/')
    await page.keyboard.type('77')
    await page.getByText('1 of 3', { exact: true }).waitFor()
    expect(await chosen.innerText()).toBe('77')
    await page.keyboard.press('Enter')
    await page.getByText('2 of 3', { exact: true }).waitFor()
    expect(await chosen.innerText()).toBe('177')
    expect(new URL(page.url()).pathname).toBe(`/chains/${chainId}`)

    await page.emulateMedia({ media: 'print' })
    const printed = page.locator('.log-printed .log-text')
    await printed.last().waitFor()
    expect(await printed.allInnerTexts()).toEqual([...Array.from({ length: 300 }, (_, n) => `${n + 1}`), 'end of 2'])
    expect(await page.getByRole('navigation').isVisible()).toBe(false)
    await page.emulateMedia({ media: 'screen' })
    await printed.last().waitFor({ state: 'detached' })

    const save = async (name: string) => {
      const button = page.getByRole('button', { name, exact: true })
      const [download] = await Promise.all([page.waitForEvent('download'), button.click()])
      return [download.suggestedFilename(), await textOf(await download.createReadStream())] as const
    }
    expect(await save('Download')).toEqual(['läs-log-attempt-2.log', expect.stringMatching(/^1\n2\n.*end of 2\n$/s)])
    const all =
      /^──── läs\/log, attempt 1: exit code 3 ────\n1\n.*end of 1\n──── läs\/log, attempt 2: exit code 3 ────\n1\n.*end of 2\n$/s
    expect(await save('Download all')).toEqual(['läs-log-all-attempts.log', expect.stringMatching(all)])
    expect(opened.faults).toEqual([])
  })

  test('reads the logs of all attempts as one, and goes on with the next attempt', async () => {
    const script = 'echo "said by $REPRISE_ATTEMPT"; exit 3'
    const chainId = await ui.create('as-one', script, { maxRetries: 4, retryDelay: 600 })
    await ui.reached(chainId, ['WAITING_RETRY'])
    await using opened = await ui.open()
    const { page } = opened
    const lines = async () => (await page.locator('.log-text, .log-end').allInnerTexts()).map((each) => each.trim())
    const until = (number: number) => [
      `said by ${number}`,
      `attempt ${number} ended: exit code 3, attempt ${number + 1} follows`,
    ]
    await page.goto(`/chains/${chainId}`)
    await page.getByText('attempt 1 ended: exit code 3').waitFor()
    expect(await page.getByRole('button', { name: 'All attempts' }).count()).toBe(0)
    await page.keyboard.press('r')
    await bar(page, 2).waitFor()
    await page.getByText('waiting for retry 2 of 4').waitFor()
    await page.getByRole('button', { name: 'All attempts' }).click()
    await page.locator('.log-text', { hasText: 'said by 1' }).waitFor()
    expect(await page.evaluate(() => location.search)).toBe('?log=all')
    expect((await lines()).slice(0, 4)).toEqual([...until(1), 'said by 2', 'attempt 2 ended: exit code 3'])
    await page.keyboard.press('r')
    await page.getByText('waiting for retry 3 of 4').waitFor()
    await page.locator('.log-text', { hasText: 'said by 3' }).waitFor()
    expect((await lines()).slice(0, 6)).toEqual([...until(1), ...until(2), 'said by 3', 'attempt 3 ended: exit code 3'])
    expect(await opened.violations()).toEqual([])
    await page.reload()
    await page.locator('.log-text', { hasText: 'said by 1' }).waitFor()
    expect((await lines()).slice(0, 5)).toEqual([...until(1), ...until(2), 'said by 3'])
    await page.getByRole('button', { name: 'All attempts' }).click()
    await page.locator('.log-text', { hasText: 'said by 1' }).waitFor({ state: 'detached' })
    await eventually(async () => (await lines())[0] === 'said by 3')
    expect(opened.faults).toEqual([])
  })

  test('a refused resubmission keeps the dialog with what was typed, and the message at its field', async () => {
    const chainId = await ui.create('refused', 'exit 9', { maxRetries: 0 }, { environ: [{ name: 'LR', value: '1' }] })
    await ui.reached(chainId, ['FAILED'])
    await using opened = await ui.open()
    const { page } = opened
    await page.goto(`/chains/${chainId}`)
    await page.getByRole('button', { name: 'Resubmit…' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('retries').fill('2')
    await dialog.getByLabel('priority').fill('777')
    await dialog.getByLabel('LR').fill('0.5')
    await dialog.getByRole('button', { name: 'Resubmit' }).click()
    const priority = dialog.locator('[data-wrong]').getByLabel('priority')
    await priority.waitFor()
    await page.locator('[aria-invalid]:focus').waitFor()
    expect(await opened.violations()).toEqual([])
    expect(await priority.inputValue()).toBe('777')
    expect(await dialog.getByLabel('LR').inputValue()).toBe('0.5')
    await priority.fill('half')
    await dialog.getByLabel('resource group').fill('nowhere')
    await dialog.getByRole('button', { name: 'Resubmit' }).click()
    await dialog.getByText(/Int cannot represent|must be|whole number/i).waitFor()
    await priority.fill('70')
    await dialog.getByRole('button', { name: 'Resubmit' }).click()
    await dialog.locator('[data-wrong]').getByLabel('resource group').waitFor()
    await dialog.getByLabel('resource group').fill('default')
    await dialog.getByRole('button', { name: 'Resubmit' }).click()
    await dialog.waitFor({ state: 'detached' })
    await bar(page, 2).waitFor()
    expect(opened.faults.filter((fault) => !fault.includes('status of 400'))).toEqual([])
  })

  test('resubmits with changes, and names them where the new epoch begins', async () => {
    const chainId = await ui.create('again', 'echo left >$REPRISE_CHAIN_DIR/left; exit 9', { maxRetries: 0 })
    await ui.reached(chainId, ['FAILED'])
    await using opened = await ui.open()
    const { page } = opened
    await page.goto(`/chains/${chainId}`)
    await page.getByRole('button', { name: 'Resubmit…' }).click()
    await page.getByLabel('priority').fill('77')
    await page.getByText(/priority \d+ to 77/).waitFor()
    await page.getByLabel('From the beginning').check()
    await page.getByText(/priority \d+ to 77, without the checkpoint/).waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Resubmit' }).click()
    await bar(page, 2).waitFor()
    // Beside a long wait the new epoch may be too narrow for all of it.
    const words = /^epoch 1: resubmitted \d\d:\d\d.*priority \d+ to 77$/
    await page.locator('.epoch title').filter({ hasText: words }).waitFor({ state: 'attached' })
    const found = await eventually(async () => {
      const { chain } = await ui.query(
        'query ($id: UUID!) { chain(id: $id) { newestAttempt { attempt status checkpoint { state } } } }',
        { id: chainId },
      )
      return chain.newestAttempt.status === 'ERROR' && chain.newestAttempt
    })
    expect(found).toMatchObject({ attempt: 2, checkpoint: { state: 'NONE' } })
    expect(opened.faults).toEqual([])
  })

  test('shows the files that an attempt left, and saves one', async () => {
    const chainId = await ui.create('written', 'echo 42 > "$REPRISE_OUTPUT_DIR/answer.txt"', {})
    await ui.reached(chainId, ['SUCCEEDED'])
    await using opened = await ui.open()
    const { page } = opened
    await page.goto(`/chains/${chainId}?tab=outputs`)
    const file = page.getByRole('button', { name: 'answer.txt' })
    await file.waitFor()
    await page.getByText('All files have arrived').waitFor()
    const saving = page.waitForEvent('download')
    await file.click()
    const saved = await saving
    expect(saved.suggestedFilename()).toBe('answer.txt')
    expect(await readFile(await saved.path(), 'utf8')).toBe('42\n')
    expect(opened.faults).toEqual([])
  })

  test('says that there is no such chain', async () => {
    await using opened = await ui.open()
    await opened.page.goto('/chains/00000000-0000-7000-8000-000000000000')
    await opened.page.getByRole('heading', { name: 'There is no such chain' }).waitFor()
  })

  test.each([
    ['light', 1440, 900],
    ['dark', 1440, 900],
    ['light', 360, 800],
    ['dark', 720, 450],
  ] as const)('axe finds no fault, and the page fits: %s, %d × %d', async (colorScheme, width, height) => {
    const chainId = await ui.create('seen', 'echo seen; exit 4', { maxRetries: 1, retryDelay: 0.1 })
    await ui.reached(chainId, ['FAILED'])
    await using opened = await ui.open({ colorScheme, width, height })
    const { page } = opened
    for (const tab of ['Logs', 'Outputs', 'Decision', 'History', 'Spec', 'Kernels']) {
      await page.goto(`/chains/${chainId}?tab=${tab.toLowerCase()}`)
      await page.getByRole('tab', { name: tab, selected: true }).waitFor()
      await page.locator('.skeleton').waitFor({ state: 'detached' })
      await expectFit(opened, width)
    }
    expect(opened.faults).toEqual([])
  })
})
