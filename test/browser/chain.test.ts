import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { timelineOf, waitingSeconds, type Segment } from '../../src/ui/timeline/bars.ts'
import { whyNoBrowser } from '../support/browser.ts'
import { eventually } from '../support/eventually.ts'
import { startUiServer, type UiServer } from '../support/servers/ui-server.ts'

/** The page of a chain, in a real browser, on a real server whose agent runs real processes. */

const missing = whyNoBrowser()

describe.skipIf(missing !== null)('the page of a chain', () => {
  let ui: UiServer

  beforeAll(async () => {
    ui = await startUiServer('chain-page')
  })
  afterAll(async () => {
    await ui?.close()
  })

  const create = (name: string, script: string, retryPolicy: object) => ui.create(name, script, retryPolicy)
  const reached = (chainId: string, states: readonly string[], withinMs?: number) =>
    ui.reached(chainId, states, withinMs)

  const open = (options: Parameters<UiServer['open']>[0] = {}) => ui.open(options)
  const bar = (page: Page, attempt: number) => page.getByRole('option', { name: new RegExp(`^attempt ${attempt}, `) })

  test('is read and walked through by keys alone, and by its address', async () => {
    const chainId = await create('walked', 'echo no; exit $REPRISE_ATTEMPT', { maxRetries: 2, retryDelay: 0.1 })
    await reached(chainId, ['FAILED'])
    await using opened = await open()
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

  test('draws as waiting what the chain waited, and no more than 300 elements for 100 attempts', async () => {
    const chainId = await create('hundred', 'exit 1', { maxRetries: 99, retryDelay: 0.1, backoff: 'FIXED' })
    // Each of a hundred processes takes a second where other tests keep the processors busy.
    await reached(chainId, ['FAILED'], 600_000)
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

    await using opened = await open()
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

  test('marks the attempts that go on from what an earlier one has left', async () => {
    const script = `[ $REPRISE_ATTEMPT = 1 ] && { echo 1 >"$REPRISE_CHAIN_DIR/steps"; exit 3; }
      [ $REPRISE_CHECKPOINT = here ]`
    const chainId = await create('goes-on-from', script, { maxRetries: 1, retryDelay: 0.1 })
    await reached(chainId, ['SUCCEEDED'])
    await using opened = await open()
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
    const chainId = await create('million', 'seq 1 1000000', { maxRetries: 0 })
    await reached(chainId, ['SUCCEEDED'])
    await using opened = await open()
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

  test('reads the logs of all attempts as one, and goes on with the next attempt', async () => {
    const script = 'echo "said by $REPRISE_ATTEMPT"; exit 3'
    const chainId = await create('as-one', script, { maxRetries: 4, retryDelay: 600 })
    await reached(chainId, ['WAITING_RETRY'])
    await using opened = await open()
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

  test('resubmits with what somebody changed, and says so where the new epoch begins', async () => {
    const chainId = await create('again', 'echo left >$REPRISE_CHAIN_DIR/left; exit 9', { maxRetries: 0 })
    await reached(chainId, ['FAILED'])
    await using opened = await open()
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

  test('is one page for what does not exist and for what is not yours', async () => {
    await using opened = await open()
    await opened.page.goto('/chains/00000000-0000-7000-8000-000000000000')
    await opened.page.getByRole('heading', { name: 'There is no such chain' }).waitFor()
  })

  test.each([
    ['light', 1440, 900],
    ['dark', 1440, 900],
    ['light', 360, 800],
    ['dark', 720, 450],
  ] as const)(
    'has no fault that axe finds, and nothing beside its edges: %s, %d × %d',
    async (colorScheme, width, height) => {
      const chainId = await create('seen', 'echo seen; exit 4', { maxRetries: 1, retryDelay: 0.1 })
      await reached(chainId, ['FAILED'])
      await using opened = await open({ colorScheme, width, height })
      const { page } = opened
      for (const tab of ['Logs', 'Decision', 'History', 'Spec', 'Kernels']) {
        await page.goto(`/chains/${chainId}?tab=${tab.toLowerCase()}`)
        await page.getByRole('tab', { name: tab, selected: true }).waitFor()
        await page.locator('.skeleton').waitFor({ state: 'detached' })
        expect(await opened.violations()).toEqual([])
        expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width)
      }
      expect(opened.faults).toEqual([])
    },
  )
})
