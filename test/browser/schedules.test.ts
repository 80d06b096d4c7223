import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { whyNoBrowser } from '../support/browser.ts'
import { startUiServer, type UiServer } from '../support/servers/ui-server.ts'

/** Schedules whose runs are real processes of a real server's agent. */

const missing = whyNoBrowser()
const LONG = `nightly-${'of-somebody-who-names-things-'.repeat(3)}end`
const CREATE = `mutation ($input: CreateScheduleInput!) { createSchedule(input: $input) {
  ... on CreateSchedulePayload { schedule { scheduleId } } ... on Error { message } } }`

describe.skipIf(missing !== null)('the schedules', () => {
  let server: UiServer

  beforeAll(async () => {
    server = await startUiServer('schedules-page')
  })
  afterAll(async () => {
    await server?.close()
  })

  const schedule = async (name: string, input: object, script = 'true'): Promise<string> => {
    const { createSchedule } = await server.query(CREATE, {
      input: { name, ...input, session: { name, command: ['sh', '-c', script] } },
    })
    return createSchedule.schedule.scheduleId
  }
  const open = (options: Parameters<UiServer['open']>[0] = {}) => server.open(options)

  test('are created from a form, whose next runs are drawn while they are typed', async () => {
    await using opened = await open()
    const { page } = opened
    await page.goto('/retries')
    await page.getByRole('heading', { name: 'No retry waits' }).waitFor()
    await page.keyboard.press('g')
    await page.keyboard.press('h')
    await page.getByRole('heading', { name: 'No schedules yet' }).waitFor()
    await page.getByRole('link', { name: 'New schedule' }).click()
    await page.getByRole('heading', { name: 'New schedule' }).waitFor()

    await page.getByRole('button', { name: 'Create schedule' }).click()
    await page.getByText('Say when it runs, or how often.').waitFor()
    await page.getByText('Say what is to run.').waitFor()
    await page.getByLabel('Cron expression').fill('30 2 * *')
    await page.getByText('It has five fields').waitFor()
    await page.getByLabel('Cron expression').fill('30 2 31 3 *')
    await page.getByLabel('Time zone').fill('Europe/Berlin')
    const runs = page.getByRole('list', { name: 'Next runs' }).getByRole('listitem')
    expect(await runs.count()).toBe(5)
    expect(await runs.first().innerText()).toMatch(/-03-31 00:30:00 UTC/)
    expect(await page.locator('.run-line circle').count()).toBe(12)
    await page.getByLabel('Command').fill('echo by-schedule')
    await page.getByLabel('Name of the schedule').fill('yearly-report')
    await page.getByText("--cron '30 2 31 3 *'").waitFor()
    expect(await opened.violations()).toEqual([])
    await page.getByRole('button', { name: 'Create schedule' }).click()
    await page.getByRole('heading', { name: 'yearly-report' }).waitFor()
    expect(await page.getByRole('list', { name: 'Next runs' }).getByRole('listitem').first().innerText()).toMatch(
      /-03-31 00:30:00 UTC/,
    )
    expect(opened.faults).toEqual([])
  })

  test('run when they are asked to, are paused and resumed, and lead to what they made', async () => {
    await schedule('asked', { cron: '@yearly' }, 'exit 3')
    await using opened = await open()
    const { page } = opened
    await page.goto('/schedules')
    await page.getByRole('link', { name: 'asked' }).click()
    await page.getByText('There was none yet.').waitFor()
    await page.getByRole('button', { name: 'Run now' }).click()
    await page.getByText('asked: a run has started.').waitFor()
    const row = page.getByRole('table', { name: 'Runs' }).getByRole('row').nth(1)
    await row.getByText('failed').waitFor()
    await row.getByText('asked for by').waitFor()

    await page.getByRole('button', { name: 'Pause' }).click()
    await page.getByRole('button', { name: 'Resume' }).waitFor()
    await page.getByText(/^Paused .* by /).waitFor()
    await page.getByRole('button', { name: 'Resume' }).click()
    await page.getByRole('button', { name: 'Pause' }).waitFor()

    await row.getByRole('link', { name: 'asked' }).click()
    await page.getByRole('option', { name: /^attempt 1, epoch 0, exit code 3/ }).waitFor()
    expect(opened.faults).toEqual([])
  })

  test('are deleted once that was asked', async () => {
    const id = await schedule('goes', { every: 3600 })
    await using opened = await open()
    const { page } = opened
    await page.goto(`/schedules/${id}`)
    await page.getByRole('button', { name: 'Delete…' }).click()
    await page.getByRole('dialog', { name: 'Delete 1 schedule?' }).getByRole('button', { name: 'Delete it' }).click()
    await page.getByRole('link', { name: 'New schedule' }).waitFor()
    await page.getByRole('link', { name: 'goes', exact: true }).waitFor({ state: 'detached' })
    await page.goto(`/schedules/${id}`)
    await page.getByRole('heading', { name: 'There is no such schedule' }).waitFor()
    expect(opened.faults).toEqual([])
  })

  test('are found by name and by whether they are paused', async () => {
    await schedule('sleeps', { every: 60, paused: true })
    await using opened = await open()
    const { page } = opened
    await page.goto('/schedules')
    await page
      .getByRole('link', { name: /Paused/ })
      .or(page.getByRole('button', { name: /Paused/ }))
      .click()
    await page.getByRole('link', { name: 'sleeps' }).waitFor()
    expect(await page.getByRole('table', { name: 'Schedules' }).getByRole('row').count()).toBe(2)
    await page.goto('/schedules?q=nothing-is-called-so')
    await page.getByRole('heading', { name: 'No schedule fits' }).waitFor()
    expect(opened.faults).toEqual([])
  })

  test.each([
    ['light', 1440],
    ['dark', 1440],
    ['dark', 900],
    ['light', 360],
  ] as const)('have no fault that axe finds, and nothing beside their edges: %s, %d', async (colorScheme, width) => {
    const id = await schedule(`${LONG}-${colorScheme}-${width}`, { cron: '*/15 * * * *', timeZone: 'America/St_Johns' })
    await using opened = await open({ colorScheme, width })
    const { page } = opened
    for (const path of ['/schedules', `/schedules/${id}`, '/schedules/new']) {
      await page.goto(path)
      await page.locator('main h1').first().waitFor()
      await page.waitForLoadState('networkidle')
      expect(await opened.violations(), path).toEqual([])
      const beside = await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)
      expect(beside, path).toBe(false)
    }
    expect(opened.faults).toEqual([])
  })
})
