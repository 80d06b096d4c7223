import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bundleUi } from '../../scripts/bundle-ui.ts'
import { SHORT_LEASE, startRemoteFleet, type RemoteFleet } from '../e2e/remote/remote-fleet.ts'
import { ROOT } from '../guard/source-files.ts'
import { whyNoBrowser } from '../support/browser.ts'
import { eventually } from '../support/eventually.ts'
import type { SpawnedProgram } from '../support/programs/spawned-program.ts'
import { visit } from '../support/visit.ts'
import { rowOf, testAppearance } from '../support/ui-suite.ts'
import type { PageOptions } from '../support/servers/ui-server.ts'

/** The agents of a server, each a process of its own, with what they run; one of them is killed. */

const missing = whyNoBrowser()
const LONG = `machine-${'of-a-rack-in-a-hall-far-away-'.repeat(3)}end`

describe.skipIf(missing !== null)('the agents', () => {
  let fleet: RemoteFleet
  let agentToken: string
  let mortal: SpawnedProgram
  let works: string | undefined
  let removed: string

  beforeAll(async () => {
    await bundleUi(ROOT)
    fleet = await startRemoteFleet()
  })
  afterAll(async () => {
    if (works !== undefined) {
      await fleet.graphql(
        `mutation ($id: UUID!) { terminateSession(input: { sessionId: $id, force: true }) { __typename } }`,
        { id: works },
      )
      await fleet.until(works, ([first]) => first!.status === 'TERMINATED')
    }
    await fleet?.[Symbol.asyncDispose]()
  })

  const open = ({ width = 1440, ...rest }: PageOptions = {}) =>
    visit({ url: fleet.url, token: fleet.adminToken, viewport: { width, height: 900 }, ...rest })
  const wordsOf = async (page: Page, name: string) => (await rowOf(page, name).innerText()).replaceAll('\u00a0', ' ')

  /** Moves its last word to before the bound of suspicion, and then to before that of loss. */
  async function becomesLost(page: Page): Promise<void> {
    const by = `interval '${SHORT_LEASE.suspectAfterMs} ms'`
    const silence = `UPDATE agents SET last_heard_at = last_heard_at - ${by}, lease_from = lease_from - ${by} WHERE name = '${LONG}'`
    await fleet.sql(silence)
    await eventually(async () => (await fleet.agentStatus(LONG)) !== 'ALIVE')
    await fleet.sql(silence)
    await page.locator('.agent-status').getByText('lost').waitFor()
  }

  test('an empty list says how to start an agent', async () => {
    await using opened = await open()
    const { page } = opened
    await page.goto('/retries')
    await page.getByRole('heading', { name: 'No retry waits' }).waitFor()
    await page.keyboard.press('g')
    await page.keyboard.press('a')
    await page.getByRole('heading', { name: 'No agents yet' }).waitFor()
    expect(await page.locator('.empty-command').innerText()).toContain(`--server ${fleet.url} `)
    expect(await opened.violations()).toEqual([])
    expect(opened.faults).toEqual([])
  })

  test('new agents appear by themselves, with the usage of each agent and of its group', async () => {
    await fleet.graphql('mutation { createResourceGroup(input: { name: "gpu" }) { __typename } }')
    agentToken = await fleet.token()
    await using opened = await open()
    const { page } = opened
    await page.goto('/agents')
    await page.getByRole('heading', { name: 'No agents yet' }).waitFor()
    await fleet.startAgent({ name: 'steady', token: agentToken, args: ['--label', 'zone=a'] })
    mortal = await fleet.startAgent({
      name: LONG,
      token: agentToken,
      args: ['--resource-group', 'gpu', '--slots', 'cpu=4,mem=8g,cuda.device=2'],
    })
    works = await fleet.createSession({
      name: 'works-here',
      command: ['sleep', '600'],
      resourceSlots: [{ slot: 'cpu', amount: '1.5' }],
    })
    await fleet.until(works, ([first]) => first!.status === 'RUNNING')
    await rowOf(page, 'steady').getByRole('meter', { name: 'cpu' }).and(page.locator('[aria-valuenow="75"]')).waitFor()
    expect(await wordsOf(page, 'steady')).toMatch(/alive\s+cpu\s+75 %\s+mem\s+0 %\s+1\s+(now|\d s ago)/)
    const group = page.getByRole('listitem').filter({ hasText: 'default' })
    expect(await group.getByRole('meter', { name: 'cpu' }).getAttribute('aria-valuetext')).toBe('1.5 of 2, 75\u00a0%')

    await page.getByRole('link', { name: 'gpu', exact: true }).click()
    await rowOf(page, 'steady').waitFor({ state: 'detached' })
    expect(new URL(page.url()).search).toBe('?group=gpu')
    await page.getByRole('button', { name: /^Draining/ }).click()
    await page.getByRole('heading', { name: 'No agent fits' }).waitFor()
    await page.getByRole('button', { name: 'status draining' }).click()
    await rowOf(page, LONG).waitFor()
    await page.goto('/agents?colour=red')
    await page.getByText('left out: colour').waitFor()
    expect(opened.faults).toEqual([])
  })

  test('the page of an agent shows its kernels, its failed sessions and its history', async () => {
    const failed = await fleet.createSession({
      name: 'fails-here',
      command: ['sh', '-c', 'exit 7'],
      resourceSlots: [{ slot: 'cpu', amount: '0.5' }],
    })
    await fleet.until(failed, ([first]) => first!.status === 'ERROR')
    await using opened = await open()
    const { page } = opened
    await page.goto('/agents')
    await page.getByRole('link', { name: 'steady' }).click()
    await page.waitForURL(/\/agents\/[0-9a-f-]{36}/)
    const kernels = page.getByRole('table', { name: 'Kernels' })
    await kernels.getByText('works-here').waitFor()
    expect(await kernels.getByRole('row').nth(1).innerText()).toMatch(/main 1\s+running\s+cpu 1\.5/)
    expect(await page.getByRole('table', { name: 'Failed sessions' }).innerText()).toMatch(
      /fails-here\s+1\s+!\s*exit code 7/,
    )
    await page.getByRole('region', { name: 'History' }).getByText('register-agent').waitFor()
    await page.getByText('zone=a').waitFor()
    expect(await page.title()).toBe('steady · Reprise')
    expect(await opened.violations()).toEqual([])
    await kernels.getByRole('link', { name: 'works-here' }).click()
    await page.waitForURL(/\/chains\/[0-9a-f-]{36}\?attempt=1/)
    expect(opened.faults).toEqual([])
  })

  test('the page of an agent has a line for each GPU, with its session; the chain shows what the session uses', async () => {
    // No machine of the tests has a GPU: these are reports of an agent, as they are stored.
    const gpu = (index: number, fault: string | null) => ({
      slot: 'cuda.device',
      uuid: `GPU-${index}`,
      index,
      name: 'NVIDIA A100-SXM4-40GB',
      memoryBytes: 40 * 2 ** 30,
      kernelId: null,
      fault,
      temperatureCelsius: 61,
      usedMemoryBytes: 31 * 2 ** 30,
      utilization: 0.74,
    })
    const usage = {
      peakMemoryBytes: 31 * 2 ** 30,
      meanUtilization: 0.7,
      peakUtilization: 1,
      energyJoules: 9e5,
      gpuSeconds: 90,
    }
    const reported = JSON.stringify([gpu(0, null), gpu(1, 'Xid 79: GPU has fallen off the bus.')])
    await fleet.sql(`UPDATE agents SET gpus = '${reported}' WHERE name = 'steady'`)
    await fleet.sql(`UPDATE kernels SET gpus = '${JSON.stringify([gpu(0, null)])}', gpu_usage = '${JSON.stringify(usage)}'
      WHERE session_id = (SELECT id FROM sessions WHERE name = 'works-here')`)
    await using opened = await open()
    const { page } = opened
    await page.goto('/agents')
    await page.getByRole('link', { name: 'steady' }).click()
    const gpus = page.getByRole('table', { name: 'GPUs' })
    await gpus.getByText('works-here').waitFor()
    const rows = await gpus.getByRole('row').allInnerTexts()
    expect(rows[1]).toMatch(/^0\s+NVIDIA A100-SXM4-40GB\s+61\s+31g of 40g\s+74 %\s+works-here/)
    expect(rows[2]).toMatch(/free\s+out of service: Xid 79/)
    expect(await opened.violations()).toEqual([])
    await gpus.getByRole('button', { name: 'Take out GPU 0' }).click()
    await page.getByRole('dialog', { name: 'Take GPU 0 of steady out of service?' }).waitFor()
    await page.getByText('Its session runs on.').waitFor()
    expect(await opened.violations()).toEqual([])
    await page.getByLabel('Reason').fill('fan noise')
    await page.keyboard.press('Enter')
    await page.getByText('GPU 0 of steady goes out of service.').waitFor()
    await gpus.getByRole('button', { name: 'Return GPU 1' }).click()
    await page.getByRole('button', { name: 'Return the GPU' }).click()
    await page.getByText('GPU 1 of steady returns to service.').waitFor()
    const [wished] = await fleet.sql(`SELECT gpu_takes, gpu_returns FROM agents WHERE name = 'steady'`)
    expect(wished).toEqual({ gpu_takes: { 'GPU-0': 'taken out by admin: fan noise' }, gpu_returns: ['GPU-1'] })
    await gpus.getByRole('link', { name: 'works-here' }).click()
    await page.getByText(/mem 31g, busy 70\s%, at most 100\s%/).waitFor()
    expect(opened.faults).toEqual([])
  })

  test('an agent is drained with a reason and resumed by keyboard', async () => {
    await using opened = await open()
    const { page } = opened
    await page.goto('/agents')
    const drain = page.getByRole('button', { name: 'Drain: steady' })
    await drain.focus()
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'Drain steady?' }).waitFor()
    await page.getByText('Its kernels continue: 1 kernel.').waitFor()
    expect(await opened.violations()).toEqual([])
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await eventually(() => drain.evaluate((button) => button === document.activeElement))
    await page.keyboard.press('Enter')
    await page.getByLabel('Reason').fill('a new disk')
    await page.keyboard.press('Enter')
    await page.getByText('steady gets no new work any more.').waitFor()
    await rowOf(page, 'steady').getByText('a new disk').waitFor()
    expect(await fleet.agentStatus('steady')).toBe('DRAINING')
    await page.getByRole('button', { name: 'Resume: steady' }).click()
    await page.getByText('steady takes new work again.').waitFor()
    await rowOf(page, 'steady').getByText('alive').waitFor()
    expect(await fleet.agentStatus('steady')).toBe('ALIVE')
    expect(opened.faults).toEqual([])
  })

  test('a killed agent becomes suspect, then lost, and can be removed; one that has come back cannot', async () => {
    await using opened = await open()
    const { page } = opened
    await page.goto('/agents?group=gpu')
    await rowOf(page, LONG).getByText('alive').waitFor()
    await page.getByRole('link', { name: LONG }).click()
    const remove = page.getByRole('button', { name: 'Remove…' })
    expect(await remove.getAttribute('aria-disabled')).toBe('true')
    expect(await remove.getAttribute('title')).toBe('It must be lost or drained before it is removed')
    await mortal.kill()
    await becomesLost(page)
    await page.getByRole('region', { name: 'History' }).getByText('SUSPECT › LOST').waitFor()
    await remove.click()
    await page.getByRole('dialog', { name: 'Remove 1 agent?' }).waitFor()
    // It returns while it is asked.
    const args = ['--resource-group', 'gpu', '--slots', 'cpu=4,mem=8g,cuda.device=2']
    mortal = await fleet.startAgent({ name: LONG, token: agentToken, args })
    await eventually(async () => (await fleet.agentStatus(LONG)) === 'ALIVE')
    await page.getByRole('button', { name: 'Remove the agent' }).click()
    await page.getByText(/is ALIVE and has 0 kernels/).waitFor()
    await page.getByRole('button', { name: 'Keep it' }).click()
    await mortal.kill()
    await becomesLost(page)
    await remove.click()
    await page.getByRole('button', { name: 'Remove the agent' }).click()
    await page.locator('.agent-status').getByText('removed').waitFor()
    removed = new URL(page.url()).pathname.slice('/agents/'.length)
    expect(await page.getByRole('button', { name: 'Drain…' }).count()).toBe(0)
    await page.goto('/agents')
    await rowOf(page, 'steady').waitFor()
    expect(await rowOf(page, LONG).count()).toBe(0)
    await page.getByRole('button', { name: /^Removed/ }).click()
    await rowOf(page, LONG).waitFor()
    expect(opened.faults).toEqual([])
  })

  test('a token that may not drain agents sees who may', async () => {
    const { createToken } = await fleet.graphql(
      `mutation { createToken(input: { name: "member", role: ADMIN, project: "default" }) {
        ... on CreateTokenPayload { secret } ... on Error { message } } }`,
    )
    await using opened = await open({ token: createToken.secret })
    const { page } = opened
    await page.goto('/agents')
    const drain = page.getByRole('button', { name: 'Drain: steady' })
    await drain.waitFor()
    expect(await drain.getAttribute('aria-disabled')).toBe('true')
    expect(await drain.getAttribute('title')).toBe('For administrators of the cluster')
    await drain.click({ force: true })
    expect(await page.getByRole('dialog').count()).toBe(0)
    expect(opened.faults).toEqual([])
  })

  test('an error takes the place of what cannot be read; an unknown id leads back to the list', async () => {
    await using opened = await open()
    const { page } = opened
    await fleet.sql('ALTER TABLE resource_groups RENAME TO mislaid')
    try {
      await page.goto('/agents')
      await page.getByRole('alert').getByText('INTERNAL').waitFor()
      expect(await opened.violations()).toEqual([])
    } finally {
      await fleet.sql('ALTER TABLE mislaid RENAME TO resource_groups')
    }
    await page.getByRole('button', { name: 'Try again' }).click()
    await rowOf(page, 'steady').waitFor()
    await page.goto('/agents/00000000-0000-7000-8000-000000000000')
    await page.getByRole('heading', { name: 'There is no such agent' }).waitFor()
    await page.getByRole('link', { name: 'To the agents' }).click()
    await rowOf(page, 'steady').waitFor()
  })

  testAppearance({ open }, [
    ['/agents', (page) => rowOf(page, 'steady').waitFor()],
    ['/agents?status=removed', (page) => page.getByRole('link', { name: LONG }).waitFor()],
    [
      () => `/agents/${removed}`,
      async (page) => {
        await page.getByRole('heading', { name: LONG }).waitFor()
        await page.getByRole('region', { name: 'History' }).waitFor()
      },
    ],
  ])
})
