import { expect, test } from 'vitest'
import { describeOwnUi, rowOf, testAppearance } from '../support/ui-suite.ts'

/** The queue in order, and what the page of a chain expects, with an agent that is full. */
describeOwnUi('the queue', 'queue-page', (ui) => {
  let running: string
  const waiting: string[] = []

  test('lists what is in line in order, with expected starts, and the page of a chain leads there', async () => {
    for (let n = 0; n < 8; n++)
      await ui.reached(await ui.create('short', 'sleep 0.1', { maxRetries: 0 }), ['SUCCEEDED'])
    const { resourceGroups } = await ui.query('{ resourceGroups { slots { slot capacity } } }')
    const slots = resourceGroups[0].slots as { slot: string; capacity: string }[]
    const whole = { resourceSlots: [{ slot: 'cpu', amount: slots.find(({ slot }) => slot === 'cpu')!.capacity }] }
    running = await ui.create('short', 'sleep 600', { maxRetries: 0 }, { ...whole, batchTimeout: 1800 })
    await ui.reached(running, ['RUNNING'])
    for (const input of [{ priority: 5 }, {}, { priority: 90 }])
      waiting.push(
        await ui.create(input.priority === 90 ? 'urgent' : 'short', 'true', { maxRetries: 0 }, { ...whole, ...input }),
      )
    await using opened = await ui.open()
    const { page } = opened
    await page.goto('/queue')
    await rowOf(page, 'urgent').waitFor()
    const names = await page.getByRole('table', { name: 'Queue' }).locator('.table-link').allInnerTexts()
    expect(names).toEqual(['urgent', 'short', 'short'])
    const behind = await page.locator('.queue-before').allInnerTexts()
    expect(behind.filter((text) => /^\d+$/.test(text))).toEqual(['0', '1', '2'])
    // The running one is later than all successes, so its timeout ends it. The name of the urgent one is new.
    expect(await rowOf(page, 'urgent').locator('.queue-start').innerText()).toMatch(/^about \d\d:\d\d$/)
    expect(await page.getByText('has no usual duration').count()).toBeGreaterThan(0)
    expect(await opened.violations()).toEqual([])
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'urgent', level: 1 }).waitFor()
    await page.getByText(/starts about \d\d:\d\d/).waitFor()
    await page.getByRole('link', { name: 'next in line' }).click()
    await page.getByRole('heading', { name: 'Queue', level: 1 }).waitFor()
    await page.goto(`/chains/${running}`)
    await page.getByText(/^usually .+, p95 .+, now .+/).waitFor()
    expect(await opened.violations()).toEqual([])
    expect(opened.faults).toEqual([])
  })

  testAppearance(ui, [
    ['/queue', (page) => rowOf(page, 'urgent').waitFor()],
    [() => `/chains/${waiting[0]}`, (page) => page.getByText('behind 2').waitFor()],
  ])
})
