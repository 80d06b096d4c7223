import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ROOT } from '../guard/source-files.ts'
import { eventually } from '../support/eventually.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'
import { describeUi, rowOf, testAppearance } from '../support/ui-suite.ts'

/** Deployments of programs that serve HTTP, run and checked by a real server and its agent. */

const LONG = `a-service-${'that-somebody-named-'.repeat(2)}end`
/** The program as text: the checkout may lie below `/tmp`, and kernels have a separate `/tmp`. */
const PROGRAM = readFileSync(join(ROOT, 'test/support/programs/served.mjs'), 'utf8')
const CREATE = `mutation ($input: CreateDeploymentInput!) { createDeployment(input: $input) {
  ... on CreateDeploymentPayload { deployment { deploymentId } } ... on Error { message } } }`

describeUi('the deployments', {}, (ui) => {
  let control: string
  let web: string
  const created: string[] = []

  beforeAll(async () => {
    control = await temporaryDirectory('served')
  })
  afterAll(async () => {
    const destroy = `mutation ($id: UUID!) { destroyDeployment(input: { deploymentId: $id }) { __typename } }`
    for (const id of created) await ui.query(destroy, { id })
    for (const id of created) await eventually(async () => (await look(id)).status === 'DESTROYED')
  })

  async function deploy(name: string, command: string[], input: object = {}): Promise<string> {
    const { createDeployment } = await ui.query(CREATE, {
      input: {
        name,
        command,
        project: ui.project,
        resourceSlots: [{ slot: 'cpu', amount: '0.1' }],
        healthCheck: { interval: 0.5, path: '/healthz' },
        drain: 0,
        environ: [{ name: 'VERSION', value: '1' }],
        ...input,
      },
    })
    created.push(createDeployment.deployment.deploymentId)
    return createDeployment.deployment.deploymentId
  }
  const look = async (id: string) =>
    (
      await ui.query(
        'query ($id: UUID!) { deployment(id: $id) { status replicas healthyReplicas settled revision { number environ { name value } } } }',
        { id },
      )
    ).deployment

  test('new deployments appear by themselves, with the number of healthy replicas', async () => {
    await using opened = await ui.open()
    const { page } = opened
    await page.goto('/retries')
    await page.getByRole('heading', { name: 'No retry waits' }).waitFor()
    await page.keyboard.press('g')
    await page.keyboard.press('d')
    await page.getByRole('heading', { name: 'No deployments yet' }).waitFor()
    expect(await opened.violations()).toEqual([])
    web = await deploy('web', [process.execPath, '--input-type=module', '--eval', PROGRAM, 'served', control, '1'], {
      replicas: 2,
    })
    await deploy(LONG, ['sh', '-c', 'exit 3'], { replicas: 3 })
    await rowOf(page, 'web').getByText('2 of 2').waitFor()
    await rowOf(page, 'web').getByText('ready').waitFor()
    await rowOf(page, LONG).getByText('moving').waitFor()
    expect(await rowOf(page, LONG).innerText()).toContain('0 of 3')

    await page.getByRole('button', { name: /^Ready\s*1$/ }).click()
    await rowOf(page, LONG).waitFor({ state: 'detached' })
    expect(new URL(page.url()).search).toBe('?status=ready')
    await page.getByLabel('Part of the name').fill('nothing-has-it')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'No deployment fits' }).waitFor()
    await page.getByRole('button', { name: 'q nothing-has-it' }).click()
    await rowOf(page, 'web').waitFor()
    await page.goto('/deployments?status=odd')
    await page.getByText('left out: status').waitFor()
    expect(opened.faults).toEqual([])
  })

  test('the page of a deployment shows its replicas as they come and go, and scales it', async () => {
    await using opened = await ui.open()
    const { page } = opened
    await page.goto('/deployments')
    await page.getByRole('link', { name: 'web' }).click()
    await page.waitForURL(new RegExp(`/deployments/${web}$`))
    const routes = page.getByRole('table', { name: 'Routes' })
    await routes.getByRole('row').filter({ hasText: 'healthy' }).nth(1).waitFor()
    const endpoints = page.getByRole('list', { name: 'Endpoints' })
    const [url] = (await endpoints.getByRole('listitem').first().innerText()).split(/\s/)
    expect((await fetch(`${url}/healthz`)).status).toBe(200)
    expect(await opened.violations()).toEqual([])

    await page.getByRole('button', { name: 'Scale…' }).click()
    await page.getByRole('dialog', { name: 'Scale web' }).waitFor()
    await page.getByRole('textbox', { name: 'Replicas' }).fill('many')
    await page.getByText('A whole number').waitFor()
    expect(await opened.violations()).toEqual([])
    await page.getByRole('textbox', { name: 'Replicas' }).fill('99999999')
    await page.keyboard.press('Enter')
    // What the server refuses stands at its field, and the dialog stays.
    await page.getByRole('dialog', { name: 'Scale web' }).getByRole('alert').waitFor()
    await page.getByRole('textbox', { name: 'Replicas' }).fill('3')
    await page.keyboard.press('Enter')
    await page.getByText('web gets 3\u00a0replicas.').waitFor()
    await page.locator('.serves-figure').getByText('3 of 3').waitFor()
    expect(await look(web)).toMatchObject({ replicas: 3, healthyReplicas: 3 })
    await page.getByRole('region', { name: 'History' }).getByText('scaling-deployment').first().waitFor()
    expect(opened.faults).toEqual([])
  })

  test('a deployment goes back to an earlier revision, and the changes are listed', async () => {
    await ui.query(`mutation ($input: UpdateDeploymentInput!) { updateDeployment(input: $input) { __typename } }`, {
      input: {
        deploymentId: web,
        environ: [{ name: 'VERSION', value: '2' }],
        resourceSlots: [{ slot: 'cpu', amount: '0.2' }],
      },
    })
    await using opened = await ui.open()
    const { page } = opened
    await page.goto(`/deployments/${web}`)
    const revisions = page.getByRole('region', { name: 'Revisions' }).getByRole('listitem')
    await page.getByText('VERSION: 1 to 2').waitFor()
    await page.getByText('resources: cpu 0.1 to cpu 0.2').waitFor()
    await page.getByRole('button', { name: 'Go back to revision 1' }).click()
    await page.getByRole('dialog', { name: 'Go back to revision 1?' }).waitFor()
    await page.getByRole('button', { name: 'Go back', exact: true }).click()
    await page.getByText('web goes back to revision 1.').waitFor()
    await revisions.filter({ hasText: 'VERSION: 2 to 1' }).getByText('in use').waitFor()
    const { revision } = await look(web)
    expect(revision).toEqual({
      number: 3,
      environ: [{ name: 'VERSION', value: '1' }],
    })
    await eventually(async () => (await look(web)).settled)
    expect(opened.faults).toEqual([])
  })

  test('a failing deployment says why and when it starts again, and can be destroyed', async () => {
    await using opened = await ui.open()
    const { page } = opened
    await page.goto('/deployments')
    await page.getByRole('link', { name: LONG }).click()
    await page
      .locator('.page-note')
      .getByText(/the next one is started in \d/)
      .waitFor({ timeout: 120_000 })
    await page
      .getByRole('table', { name: 'Routes' })
      .getByText(/^(failed to start|ended)$/)
      .first()
      .waitFor()
    await page.getByRole('button', { name: 'Destroy…' }).click()
    await page.getByRole('dialog', { name: 'Destroy 1 deployment with 3\u00a0replicas?' }).waitFor()
    await page.getByRole('button', { name: 'Keep it' }).click()
    await page.getByRole('button', { name: 'Destroy…' }).click()
    await page.getByRole('button', { name: 'Destroy it' }).click()
    await page.locator('.page-head').getByText('destroyed').waitFor()
    const scale = page.getByRole('button', { name: 'Scale…' })
    expect(await scale.getAttribute('title')).toBe('It is being destroyed, or has been')
    await page.goto('/deployments?status=destroyed')
    await rowOf(page, LONG).waitFor()
    expect(opened.faults).toEqual([])
  })

  test('a viewer is told that it may not scale; an unknown id says so', async () => {
    const viewer = await ui.tokenOf('VIEWER')
    await using opened = await ui.open({ token: viewer })
    const { page } = opened
    await page.goto(`/deployments/${web}`)
    const scale = page.getByRole('button', { name: 'Scale…' })
    await scale.waitFor()
    expect(await scale.getAttribute('aria-disabled')).toBe('true')
    expect(await scale.getAttribute('title')).toBe('Your role does not allow it')
    await scale.click({ force: true })
    expect(await page.getByRole('dialog').count()).toBe(0)
    await page.goto('/deployments/00000000-0000-7000-8000-000000000000')
    await page.getByRole('heading', { name: 'There is no such deployment' }).waitFor()
    expect(await opened.violations()).toEqual([])
    expect(opened.faults).toEqual([])
  })

  testAppearance(ui, [
    ['/deployments?status=destroyed', (page) => rowOf(page, LONG).waitFor()],
    [() => `/deployments/${web}`, (page) => page.getByRole('region', { name: 'History' }).waitFor()],
  ])
})

/** Schedules whose runs are real processes of a real server's agent. */

const LONG_SCHEDULE = `nightly-${'of-somebody-who-names-things-'.repeat(3)}end`
const CREATE_SCHEDULE = `mutation ($input: CreateScheduleInput!) { createSchedule(input: $input) {
  ... on CreateSchedulePayload { schedule { scheduleId } } ... on Error { message } } }`

describeUi('the schedules', {}, (ui) => {
  const schedule = async (name: string, input: object, script = 'true'): Promise<string> => {
    const { createSchedule } = await ui.query(CREATE_SCHEDULE, {
      input: { name, ...input, session: { name, project: ui.project, command: ['sh', '-c', script] } },
    })
    return createSchedule.schedule.scheduleId
  }

  test('a schedule is created in a form that draws the next runs while one types', async () => {
    await using opened = await ui.open()
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

  test('a schedule runs on demand, is paused and resumed, and leads to its chains', async () => {
    await schedule('asked', { cron: '@yearly' }, 'exit 3')
    await using opened = await ui.open()
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

  test('a schedule is changed in the same form: what is not changed stays, and its chains link it', async () => {
    const { createSchedule } = await ui.query(CREATE_SCHEDULE, {
      input: {
        name: 'nightly',
        cron: '30 2 * * *',
        timeZone: 'Europe/Berlin',
        overlap: 'QUEUE',
        session: {
          name: 'report',
          project: ui.project,
          command: ['sh', '-c', 'echo "a report"'],
          environ: [{ name: 'POEM', value: 'two\nlines' }],
          secretEnviron: [{ name: 'TOKEN', value: 'hunter2' }],
          priority: 70,
          maxPending: 3600,
          resourceSlots: [{ slot: 'mem', amount: '64m' }],
          retryPolicy: {
            maxRetries: 2,
            emitRetryEvents: false,
            rules: [{ match: { exitCodes: [3] }, action: 'FAIL' }],
          },
        },
      },
    })
    const { scheduleId } = createSchedule.schedule
    const read = async () =>
      (
        await ui.query(
          `query ($id: UUID!) { schedule(id: $id) { name cron every timeZone overlap catchUp session {
            name command environ { name value } secretEnviron priority maxPending resourceSlots { slot amount }
            labels { key value } retryPolicy { given maxRetries retryDelay emitRetryEvents rules { action } } } } }`,
          { id: scheduleId },
        )
      ).schedule
    const before = await read()
    await using opened = await ui.open()
    const { page } = opened
    const field = (label: string) => page.getByLabel(label, { exact: true })
    await page.goto(`/schedules/${scheduleId}`)
    await page.getByRole('button', { name: 'Change…' }).click()
    await page.getByRole('heading', { name: 'Change nightly' }).waitFor()
    expect(await field('Cron expression').inputValue()).toBe('30 2 * * *')
    expect(await field('Command').inputValue()).toBe('echo "a report"')
    expect(await field('Memory').inputValue()).toBe('64m')
    expect(await field('Retries').inputValue()).toBe('2')
    await page.getByText('Present ones: TOKEN.').waitFor()
    expect(await opened.violations()).toEqual([])
    await field('Cron expression').fill('')
    await field('Or every').fill('1s')
    await field('Or every').fill('0.5s')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.locator('[data-wrong]').getByLabel('Or every').waitFor()
    await field('Or every').fill('6h')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('nightly is changed.').waitFor()
    await page.getByRole('heading', { name: 'nightly' }).waitFor()
    expect(await read()).toEqual({ ...before, cron: null, every: 21_600, timeZone: expect.any(String) })

    await page.getByRole('button', { name: 'Change…' }).click()
    await field('Labels').fill('team=cms')
    await field('Retries').fill('4')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { name: 'nightly', exact: true }).waitFor()
    expect((await read()).session).toEqual({
      ...before.session,
      labels: [{ key: 'team', value: 'cms' }],
      retryPolicy: { ...before.session.retryPolicy, maxRetries: 4 },
    })
    await page.getByRole('button', { name: 'Change…' }).click()
    await page.getByLabel('Remove them').check()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { name: 'nightly', exact: true }).waitFor()
    expect((await read()).session).toMatchObject({ secretEnviron: [], priority: 70, environ: before.session.environ })

    await page.getByRole('button', { name: 'Run now' }).click()
    await page.getByRole('table', { name: 'Runs' }).getByRole('link', { name: 'report' }).click()
    await page.getByRole('link', { name: 'nightly', exact: true }).click()
    await page.getByRole('heading', { name: 'nightly', exact: true }).waitFor()
    expect(opened.faults).toEqual([])
  })

  test('a schedule is deleted after a question', async () => {
    const id = await schedule('goes', { every: 3600 })
    await using opened = await ui.open()
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

  test('schedules are filtered by name and by whether they are paused', async () => {
    await schedule('sleeps', { every: 60, paused: true })
    await using opened = await ui.open()
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

  describe('with a long name', () => {
    let id: string
    beforeAll(async () => {
      id = await schedule(LONG_SCHEDULE, { cron: '*/15 * * * *', timeZone: 'America/St_Johns' })
    })
    const loaded = async (page: Page) => {
      await page.locator('main h1').first().waitFor()
      await page.waitForLoadState('networkidle')
    }
    testAppearance(ui, [
      ['/schedules', loaded],
      [() => `/schedules/${id}`, loaded],
      ['/schedules/new', loaded],
      [() => `/schedules/${id}/edit`, loaded],
    ])
  })
})
