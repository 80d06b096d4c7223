import type { Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { randomOf } from '../support/seeds.ts'
import { testServer } from '../support/servers/test-server.ts'
import { simulateMonth, storeMonth } from '../support/sessions/simulated-months.ts'
import { describePages, testAppearance, testUnreadable } from '../support/ui-suite.ts'

/** Advice from a simulated month: shown, tried on the past, applied and dismissed. */

describePages('advice', (server) => {
  const found = (page: Page, words: string) => page.getByRole('article').filter({ hasText: words })

  test('says that there is none yet', async () => {
    await using opened = await server.open()
    await opened.page.goto('/advice')
    await opened.page.getByRole('heading', { name: 'Nothing in the last 30 days suggests a change.' }).waitFor()
    expect(await opened.violations()).toEqual([])
  })

  beforeAll(async () => {
    const projectId = await server.factory.project('advised')
    const month = simulateMonth(randomOf(3), { uselessExits: 25, modest: 12, badAgent: true }, 400)
    await storeMonth(server, { projectId, agents: new Map() }, month)
  })

  test('is tried on the past, applied, dismissed and opened again', async () => {
    await testServer(server.db).run('find-advice')
    await using opened = await server.open()
    const { page } = opened
    await page.goto('/insights')
    await page.getByRole('heading', { name: 'Insights' }).waitFor()
    await page.keyboard.press('g')
    await page.keyboard.press('v')
    const useless = found(page, 'End chains at exit code 64.')
    await useless.getByRole('button', { name: 'Try on the past' }).click()
    await useless.getByRole('button', { name: 'Replay the last 30 days' }).click()
    const outcomes = useless.getByRole('table', { name: 'Under the policy' })
    await outcomes.waitFor()
    const earlier = await outcomes
      .getByRole('row')
      .filter({ hasText: 'Stop earlier' })
      .getByRole('cell')
      .allInnerTexts()
    expect(Number(earlier[0])).toBeGreaterThanOrEqual(20)
    await useless.getByRole('button', { name: 'Apply' }).click()
    await page.getByText('Applied: End chains at exit code 64.').waitFor()
    await useless.waitFor({ state: 'detached' })
    const modest = found(page, 'modest requests 32 GiB')
    expect(await modest.getByRole('button', { name: 'Apply' }).count()).toBe(0)
    await modest.getByRole('button', { name: 'Dismiss' }).click()
    await modest.waitFor({ state: 'detached' })
    await found(page, 'Drain agent-3').getByRole('link', { name: 'the agent' }).waitFor()
    await page.getByRole('button', { name: 'Dismissed' }).click()
    await modest.getByRole('button', { name: 'Open again' }).click()
    await modest.waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Applied' }).click()
    await useless.getByText('applied by').waitFor()
    expect(opened.faults).toEqual([])
  })

  testAppearance(server, [
    ['/advice', (page) => found(page, 'Drain agent-3').waitFor()],
    ['/advice?show=applied', (page) => found(page, 'End chains').waitFor()],
  ])

  testUnreadable(server, {
    table: 'retry_advice',
    path: '/advice',
    shown: (page) => found(page, 'Drain agent-3').waitFor(),
  })
})
