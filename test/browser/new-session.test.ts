import { spawnSync } from 'node:child_process'
import type { Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { fakeAgent } from '../support/agents/fake-agent.ts'
import { cleanEnvironment, MAIN } from '../support/programs/command-line.ts'
import { testServer } from '../support/servers/test-server.ts'
import { describeUi, testAppearance } from '../support/ui-suite.ts'

/** A session from a form, which a real agent then runs. */

describeUi('a session from a form', { wholeServer: true }, (ui) => {
  beforeAll(async () => {
    await ui.query('mutation { createProject(input: { name: "research" }) { __typename } }')
    await ui.query(
      `mutation { setRetryDefaults(input: { scope: PROJECT, name: "research", policy: { maxRetries: 4, retryDelay: 45, backoff: EXPONENTIAL, jitter: NONE } }) {
        __typename } }`,
    )
  })

  const field = (page: Page, label: string) => page.getByLabel(label, { exact: true })
  /** Returns the note at a field. */
  const noteAt = async (page: Page, label: string) => {
    const id = await field(page, label).getAttribute('aria-describedby')
    return page.locator(`[id="${id}"]`).innerText()
  }
  const copied = (page: Page) => page.locator('.new-session-copies pre').innerText()

  test('is created with every typed value, and its chain opens', async () => {
    await using opened = await ui.open()
    const { page } = opened
    await page.goto('/chains')
    await page.getByRole('heading', { name: 'Chains', exact: true }).waitFor()
    await page.keyboard.press('c')
    await page.getByRole('heading', { name: 'New session' }).waitFor()
    await field(page, 'Command').fill('printf "$GREETING, it is me" && exit 3')
    await page.getByLabel(/Through a shell/).check()
    await field(page, 'Name').fill('from-the-form')
    await field(page, 'Environment').fill('GREETING=good day\nEMPTY=')
    await field(page, 'Labels').fill('team=cms\nstage=reco')
    await field(page, 'CPU').fill('0.5')
    await field(page, 'Memory').fill('64m')
    await field(page, 'Priority').fill('17')
    await field(page, 'Time limit of an attempt').fill('5m')
    await field(page, 'Retries').fill('3')
    await field(page, 'First delay').fill('20m')
    await page.getByRole('img', { name: /^Reprise: 20.m, 20.m, 20.m$|^Reprise: .*m/ }).waitFor()
    await page.getByRole('button', { name: 'Create session' }).click()
    await page.waitForURL(/\/chains\/[\da-f-]{36}/)
    await page.getByText('from-the-form is created.').waitFor()
    const chainId = new URL(page.url()).pathname.slice('/chains/'.length)
    await ui.reached(chainId, ['WAITING_RETRY'])
    const { chain } = await ui.query(
      `query ($id: UUID!) { chain(id: $id) { name labels { key value } newestAttempt {
        command environ { name value } resourceSlots { slot amount } priority batchTimeout exitCode
        retryPolicy { maxRetries retryDelay } } } }`,
      { id: chainId },
    )
    expect(chain).toMatchObject({
      name: 'from-the-form',
      labels: expect.arrayContaining([
        { key: 'team', value: 'cms' },
        { key: 'stage', value: 'reco' },
      ]),
      newestAttempt: {
        command: ['sh', '-c', 'printf "$GREETING, it is me" && exit 3'],
        environ: expect.arrayContaining([
          { name: 'GREETING', value: 'good day' },
          { name: 'EMPTY', value: '' },
        ]),
        resourceSlots: expect.arrayContaining([
          { slot: 'cpu', amount: '0.5' },
          { slot: 'mem', amount: '67108864' },
        ]),
        priority: 17,
        batchTimeout: 300,
        exitCode: 3,
        retryPolicy: { maxRetries: 3, retryDelay: 1200 },
      },
    })
    expect(opened.faults).toEqual([])
  })

  test('has secrets, a start time and dependencies; typed values survive a reload, secrets do not', async () => {
    const first = await ui.create('goes-first', 'sleep 600')
    await using opened = await ui.open()
    const { page } = opened
    await page.goto('/chains/new')
    await field(page, 'Command').fill('printenv TOKEN')
    await page.getByText('Secret variables').click()
    await field(page, 'Its value').fill('hunter2')
    expect(await noteAt(page, 'Name of the secret')).toBe('What is it called?')
    await field(page, 'Name of the secret').fill('TOKEN')
    await field(page, 'Name of the secret 2').fill('REPRISE_OWN')
    await page.getByText('Later, or after others').click()
    await field(page, 'Not before').fill('2040-01-31T12:00')
    await field(page, 'After these succeed').fill('somebody')
    expect(await noteAt(page, 'After these succeed')).toBe('somebody is no id.')
    await field(page, 'After these succeed').fill(`${ui.url}/chains/${first}?attempt=1`)
    expect(await copied(page)).toContain('--secret TOKEN')
    expect(await copied(page)).toContain(`--depends-on ${first}`)
    await page.getByRole('button', { name: 'GraphQL' }).click()
    expect(await copied(page)).not.toContain('hunter2')
    expect(await opened.violations()).toEqual([])
    await page.getByRole('button', { name: 'Create session' }).click()
    await page.locator('[data-wrong]').getByLabel('Name of the secret 2').waitFor()

    await page.reload()
    await field(page, 'Command').waitFor()
    expect(await field(page, 'Command').inputValue()).toBe('printenv TOKEN')
    expect(await field(page, 'Not before').inputValue()).toBe('2040-01-31T12:00')
    // Secrets are kept by nobody but the server.
    expect(await page.evaluate(() => JSON.stringify(sessionStorage))).not.toMatch(/hunter2|TOKEN"/)
    await page.getByText('Secret variables').click()
    await field(page, 'Name of the secret').fill('TOKEN')
    await field(page, 'Its value').fill('hunter2')
    await page.getByRole('button', { name: 'Create session' }).click()
    await page.waitForURL(/\/chains\/[\da-f-]{36}/)
    const { chain } = await ui.query(
      'query ($id: UUID!) { chain(id: $id) { newestAttempt { startsAt secretEnviron dependsOn { chainId } } } }',
      { id: new URL(page.url()).pathname.slice('/chains/'.length) },
    )
    expect(chain.newestAttempt).toEqual({
      startsAt: '2040-01-31T12:00:00.000Z',
      secretEnviron: ['TOKEN'],
      dependsOn: [{ chainId: first }],
    })
    await page.goto('/chains/new')
    await page.getByRole('heading', { name: 'New session' }).waitFor()
    expect(await field(page, 'Command').inputValue()).toBe('')
    expect(opened.faults).toEqual([])
  })

  test('offers what the command line offers, and shows the same command', async () => {
    const { agents } = await ui.query('{ agents(first: 1) { edges { node { agentId name } } } }')
    const [{ node: agent }] = agents.edges
    await using opened = await ui.open()
    const { page } = opened
    await page.goto('/chains/new')
    await field(page, 'Command').fill('exit 4')
    await page.getByLabel(/Through a shell/).check()
    await field(page, 'Name').fill('with-everything')
    await field(page, 'Waits for a place at most').fill('2h')
    await field(page, 'Grace before it is killed').fill('soon')
    expect(await noteAt(page, 'Grace before it is killed')).toMatch(/not a duration/)
    await field(page, 'Grace before it is killed').fill('7s')
    await page.getByText('Kind, and several kernels').click()
    await field(page, 'Kernels').fill('2')
    await field(page, 'Their places').selectOption('MULTI_NODE')
    await page.getByText('Which agents').click()
    await field(page, 'Only on these agents').fill('nobody')
    expect(await noteAt(page, 'Only on these agents')).toBe('There is no agent nobody.')
    await field(page, 'Only on these agents').fill(agent.name)
    await field(page, 'Options of the executor').fill('partition=gpu')
    await page.getByText('Later, or after others').click()
    await field(page, 'Idempotency key').fill('once-only')
    expect(await opened.violations()).toEqual([])
    await page.getByRole('button', { name: 'Create session' }).click()
    await page.locator('[data-wrong]').getByLabel('Options of the executor').waitFor()
    await field(page, 'Options of the executor').fill('')
    const command = await copied(page)
    await page.getByRole('button', { name: 'Create session' }).click()
    await page.waitForURL(/\/chains\/[\da-f-]{36}/)
    const chainId = new URL(page.url()).pathname.slice('/chains/'.length)
    const { chain } = await ui.query(
      `query ($id: UUID!) { chain(id: $id) { newestAttempt {
        maxPending stopGrace clusterSize clusterMode allowAgents creationId } } }`,
      { id: chainId },
    )
    expect(chain.newestAttempt).toEqual({
      maxPending: 7_200,
      stopGrace: 7,
      clusterSize: 2,
      clusterMode: 'MULTI_NODE',
      allowAgents: [agent.agentId],
      creationId: 'once-only',
    })
    // The same input with the same key: the same session.
    const ran = spawnSync('sh', ['-c', command.replace('npx reprise', `"${process.execPath}" "${MAIN}"`)], {
      env: cleanEnvironment({ REPRISE_URL: ui.url, REPRISE_TOKEN: ui.token }),
      encoding: 'utf8',
    })
    expect(ran).toMatchObject({ stderr: 'it already existed\n', status: 0 })
    expect(ran.stdout).toContain(chainId)
    expect(opened.faults).toEqual([])
  })

  test('mounts volumes that agents offer at chosen paths, and its page lists them', async () => {
    await ui.query('mutation { createResourceGroup(input: { name: "boxes" }) { __typename } }')
    const volumes = [
      { name: 'data', readOnly: true, projects: null },
      { name: 'models', readOnly: false, projects: ['default'] },
    ]
    const agent = fakeAgent(testServer(ui.database.db).gateway, { resourceGroup: 'boxes', says: { volumes } })
    await agent.register()
    await using opened = await ui.open()
    const { page } = opened
    await page.goto('/chains/new')
    await field(page, 'Command').fill('ls /mnt/data')
    await page.getByText('Volumes', { exact: true }).click()
    await field(page, 'Volume').selectOption('data')
    expect(await field(page, 'Where').getAttribute('placeholder')).toBe('/mnt/data')
    const fixed = page.getByLabel('Read only: no agent lets sessions change it')
    expect([await fixed.isChecked(), await fixed.isDisabled()]).toEqual([true, true])
    await field(page, 'Volume 2').selectOption('models')
    await field(page, 'Where 2').fill('/work/models')
    await page.getByLabel('Read only 2').check()
    expect(await copied(page)).toMatch(/--mount data:\/mnt\/data:ro \\\n +--mount models:\/work\/models:ro/)
    expect(await opened.violations()).toEqual([])
    await page.getByRole('button', { name: 'Create session' }).click()
    await page.locator('[data-wrong]').getByLabel('Where 2').waitFor()
    expect(await noteAt(page, 'Where 2')).toMatch(/work is used by the kernel itself/)

    await field(page, 'Where 2').fill('/opt/models')
    await page.getByLabel('Read only 2').uncheck()
    await page.getByRole('button', { name: 'Create session' }).click()
    await page.waitForURL(/\/chains\/[\da-f-]{36}/)
    await page.getByRole('tab', { name: 'Spec' }).click()
    await page.getByText('data at /mnt/data, read-only; models at /opt/models').waitFor()
    const { chain } = await ui.query(
      'query ($id: UUID!) { chain(id: $id) { newestAttempt { mounts { volume path readOnly } } } }',
      { id: new URL(page.url()).pathname.slice('/chains/'.length) },
    )
    expect(chain.newestAttempt.mounts).toEqual([
      { volume: 'data', path: '/mnt/data', readOnly: true },
      { volume: 'models', path: '/opt/models', readOnly: false },
    ])
    expect(opened.faults).toEqual([])
  })

  test('the project can also be chosen above the page, and typed values stay', async () => {
    await using opened = await ui.open()
    const { page } = opened
    await page.goto('/chains/new')
    await field(page, 'Command').fill('true')
    await page.getByRole('button', { name: 'Project: All projects' }).click()
    await page.getByRole('menuitem', { name: 'research' }).click()
    await page.waitForURL('**/chains/new?project=research')
    expect(await field(page, 'Project').inputValue()).toBe('research')
    expect(await field(page, 'Command').inputValue()).toBe('true')
    await page.getByRole('button', { name: 'Start over' }).click()
    expect(await field(page, 'Command').inputValue()).toBe('')
    expect(await field(page, 'Project').inputValue()).toBe('research')
  })

  test('empty fields show the defaults of the project, which are drawn', async () => {
    await using opened = await ui.open()
    const { page } = opened
    await page.goto('/chains/new')
    await page.getByText('It is not retried').waitFor()
    expect(await field(page, 'Retries').getAttribute('placeholder')).toBe('0')
    await field(page, 'Project').selectOption('research')
    await page.getByRole('img', { name: /^Reprise: 45.s, 1.m 30.s, 3.m, 6.m$/ }).waitFor()
    await page.getByText('Empty fields are set by project research.').waitFor()
    expect(await field(page, 'Retries').getAttribute('placeholder')).toBe('4')
    expect(await field(page, 'First delay').getAttribute('placeholder')).toBe('45s')
    await field(page, 'Retries').fill('2')
    await page.getByRole('img', { name: /^Reprise: 45.s, 1.m 30.s$/ }).waitFor()
    await field(page, 'Command').fill('true')
    // What is not typed is not sent: defaults that change later hold then.
    await page.getByRole('button', { name: 'GraphQL' }).click()
    const [, variables] = (await copied(page)).split('\n\n')
    expect(JSON.parse(variables!)).toEqual({
      input: { name: 'true', command: ['true'], project: 'research', retryPolicy: { maxRetries: 2 } },
    })
    expect(opened.faults).toEqual([])
  })

  test('the page that tries a policy draws the defaults of the chosen project', async () => {
    await using opened = await ui.open()
    const { page } = opened
    await page.goto('/chains?project=research')
    await page.getByRole('link', { name: 'Policy' }).click()
    await page.getByRole('img', { name: /^Reprise: 45.s, 1.m 30.s, 3.m, 6.m$/ }).waitFor()
    await field(page, 'Retries').fill('2')
    await page.getByRole('img', { name: /^Reprise: 45.s, 1.m 30.s$/ }).waitFor()
    expect(new URL(page.url()).search).toBe('?project=research&retries=2')
    await page.getByRole('link', { name: 'Bulk actions' }).click()
    await page.getByRole('heading', { name: 'No action on many chains yet' }).waitFor()
    expect(await page.getByText('left out').count()).toBe(0)
    await page.getByRole('link', { name: 'Policy' }).click()
    await page.getByRole('img', { name: /^Reprise: 45.s, 1.m 30.s, 3.m, 6.m$/ }).waitFor()
    expect(opened.faults).toEqual([])
  })

  test('errors of the page and of the server appear at their fields', async () => {
    await using opened = await ui.open()
    const { page } = opened
    await page.goto('/chains/new?project=nowhere&colour=red')
    await page.getByText('left out: colour').waitFor()
    await page.getByRole('button', { name: 'Create session' }).click()
    await page.getByText('Say what is to run.').waitFor()
    await page.locator('textarea[aria-invalid]:focus').waitFor()
    await field(page, 'Command').fill("echo 'open")
    expect(await noteAt(page, 'Command')).toBe('A quote is not closed.')
    await field(page, 'Environment').fill('A=1\nnothing')
    expect(await noteAt(page, 'Environment')).toBe('Line 2 is not name=value.')
    await field(page, 'Time limit of an attempt').fill('soon')
    expect(await noteAt(page, 'Time limit of an attempt')).toMatch(/not a duration/)
    await field(page, 'First delay').fill('-5s')
    await page.locator('[data-wrong]').getByLabel('First delay').waitFor()
    expect(await opened.violations()).toEqual([])

    await field(page, 'Command').fill('true')
    await field(page, 'Environment').fill('A=1\nA=2')
    await field(page, 'Time limit of an attempt').fill('0s')
    await field(page, 'Memory').fill('plenty')
    await field(page, 'Priority').fill('101')
    await field(page, 'First delay').fill('')
    await page.locator('[data-wrong]').getByLabel('First delay').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Create session' }).click()
    await page.locator('[data-wrong]').getByLabel('Memory', { exact: true }).waitFor()
    for (const label of ['Environment', 'Time limit of an attempt', 'Memory', 'Priority']) {
      expect(await field(page, label).getAttribute('aria-invalid'), label).toBe('true')
      expect((await noteAt(page, label)).length).toBeGreaterThan(3)
    }
    expect(await field(page, 'CPU').getAttribute('aria-invalid')).toBeNull()
    await page.locator('[aria-invalid]:focus').waitFor()
    for (const label of ['Environment', 'Time limit of an attempt', 'Memory', 'Priority'])
      await field(page, label).fill('')
    await page.getByRole('button', { name: 'Create session' }).click()
    await page.locator('[data-wrong]').getByLabel('Project', { exact: true }).waitFor()
    expect(await noteAt(page, 'Project')).toMatch(/no project nowhere/)
    expect(opened.faults).toEqual([])
  })

  test('the command shown beside the form creates the same session', async () => {
    await using opened = await ui.open()
    const { page } = opened
    await page.goto('/chains/new')
    await field(page, 'Command').fill(`sh -c 'echo "it'\\''s me" $A; exit 4'`)
    await field(page, 'Name').fill("the same's twin")
    await field(page, 'Environment').fill('A=two words')
    await field(page, 'Labels').fill('study=seven')
    await field(page, 'Memory').fill('64m')
    await field(page, 'Retries').fill('1')
    await field(page, 'First delay').fill('1h')
    const command = await copied(page)
    const [, mutation] = await Promise.all([
      page.getByRole('button', { name: 'GraphQL' }).click(),
      page.locator('.new-session-copies pre').filter({ hasText: 'CreateSessionInput' }).innerText(),
    ])
    const [document, variables] = mutation.split('\n\n')
    const { createSession } = await ui.query(document!, JSON.parse(variables!))
    const ran = spawnSync('sh', ['-c', command.replace('npx reprise', `"${process.execPath}" "${MAIN}"`)], {
      env: cleanEnvironment({ REPRISE_URL: ui.url, REPRISE_TOKEN: ui.token }),
      encoding: 'utf8',
    })
    expect(ran).toMatchObject({ stderr: '', status: 0 })
    await page.getByRole('button', { name: 'Create session' }).click()
    await page.waitForURL(/\/chains\/[\da-f-]{36}/)
    const { chains } = await ui.query(
      `{ chains(filter: { name: { equals: "the same's twin" } }) { edges { node { chainId newestAttempt {
        command environ { name value } resourceSlots { slot amount } labels { key value } priority batchTimeout
        retryPolicy { maxRetries retryDelay backoff } } } } } }`,
    )
    expect(chains.edges).toHaveLength(3)
    const [first, ...others] = chains.edges.map(({ node }: any) => node.newestAttempt)
    expect(first.command).toEqual(['sh', '-c', `echo "it's me" $A; exit 4`])
    for (const other of others) expect(other).toEqual(first)
    expect(chains.edges.map(({ node }: any) => node.chainId)).toContain(createSession.session.chainId)
    expect(opened.faults).toEqual([])
  })

  test('a viewer is told that it may not create anything, before there is a form', async () => {
    const viewer = await ui.tokenOf('VIEWER', 'research')
    await using opened = await ui.open({ token: viewer })
    const { page } = opened
    for (const [list, what] of [
      ['/chains', 'session'],
      ['/schedules', 'schedule'],
    ] as const) {
      await page.goto(list)
      const create = page.getByRole('button', { name: `New ${what}` })
      await create.waitFor()
      expect(await create.getAttribute('title')).toBe(`Your token has the role VIEWER, which may not create ${what}s.`)
      await page.goto(`${list}/new`)
      await page.getByRole('heading', { name: `Your token may not create ${what}s` }).waitFor()
      expect(await page.getByRole('form').count()).toBe(0)
      expect(await opened.violations()).toEqual([])
    }
    expect(opened.faults).toEqual([])
  })

  testAppearance(ui, [
    [
      '/chains/new?project=research',
      async (page) => {
        await page.getByRole('img', { name: /^Reprise: 45.s/ }).waitFor()
        await field(page, 'Command').fill(`python train.py ${'--a-long-option-that-nobody-typed '.repeat(6)}`)
        await page.locator('.new-session-copies pre').waitFor()
      },
    ],
  ])
})
