/** Operations on schedules over GraphQL and REST, and a server that is killed while it makes runs. */
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createWakeHub } from '../../src/events/wake-hub.ts'
import { createMetrics } from '../../src/observability/metrics.ts'
import { NO_SYNC_POINTS } from '../../src/observability/sync-points.ts'
import { createScheduleService } from '../../src/scheduler/run-schedules.handler.ts'
import { testDatabase, type TestDatabase } from '../support/database/database.ts'
import { eventually } from '../support/eventually.ts'
import { runProgram } from '../support/programs/run-program.ts'
import { startGraphQLServer, type TestServer } from '../support/servers/graphql-server.ts'
import { chainsOf, makeDue, outcomes, scheduleServer } from '../support/servers/schedule-server.ts'
import { TEST_SECRETS } from '../support/servers/test-secrets.ts'

let server: TestServer
beforeAll(async () => {
  server = await startGraphQLServer()
})
afterAll(() => server?.close())

describe('schedules over GraphQL', () => {
  const CREATE = `mutation ($input: CreateScheduleInput!) { createSchedule(input: $input) { __typename
  ... on CreateSchedulePayload { schedule { id scheduleId name cron every timeZone overlap catchUp jitter paused owner
    nextRunAt nextRuns(first: 3) queued project { name } session { command maxRetries secretEnviron environ { name value } } } }
  ... on Error { code message } ... on ValidationError { issues { path } } } }`

  const nightly = (name: string, more: object = {}) => ({
    input: {
      name,
      cron: '30 2 * * *',
      timeZone: 'Europe/Berlin',
      session: {
        name: 'report',
        command: ['true'],
        environ: [{ name: 'A', value: '1' }],
        secretEnviron: [{ name: 'B', value: 'hidden' }],
        retryPolicy: { maxRetries: 2 },
      },
      ...more,
    },
  })

  test('has a session that is read whole: an update that repeats what is read changes nothing', async () => {
    const projectId = await server.factory.project('whole')
    const agentId = await server.factory.agent('whole-agent')
    const other = await server.factory.agent('other-agent')
    await server.db.query(`UPDATE resource_groups SET allowed_executor_options = '{partition}' WHERE name = 'default'`)
    const sha256 = 'ab'.repeat(32)
    await server.db.query(
      `INSERT INTO code_archives (project_id, sha256, bytes, files, created_by) VALUES ($1, $2, 1, 1, 'ada')`,
      [projectId, sha256],
    )
    const session = {
      name: 'whole',
      sessionType: 'BATCH',
      project: 'whole',
      resourceGroup: 'default',
      image: 'python:3',
      command: ['true'],
      codeSha256: sha256,
      environ: [{ name: 'A', value: '1' }],
      secretEnviron: [{ name: 'B', value: 'hidden' }],
      resourceSlots: [
        { slot: 'cpu', amount: '2' },
        { slot: 'cuda.device', amount: '1' },
      ],
      gpus: { model: 'a100', memory: '42949672960' },
      gpuIdleTimeout: 1800,
      onHang: ['pstree'],
      neverRunTwice: false,
      clusterSize: 2,
      clusterMode: 'MULTI_NODE',
      batchTimeout: 600,
      maxPending: 60,
      stopGrace: 30,
      priority: 70,
      labels: [{ key: 'study', value: '7' }],
      allowAgents: [agentId],
      avoidAgents: [agentId],
      excludeAgents: [other],
      agentLabels: [{ key: 'zone', value: 'a' }],
      executorOptions: [{ key: 'partition', value: 'long' }],
      mounts: [{ volume: 'data', path: '/data', readOnly: true }],
      concurrencyKey: 'k',
      concurrencyLimit: 3,
      outputs: { paths: ['results/**'], when: 'SUCCESS', keepDays: 3 },
      retryPolicy: {
        maxRetries: 2,
        maxElapsed: null,
        rules: [{ match: { exitCodes: ['3-5'] }, action: 'RETRY', scaleTimeout: { factor: 2 } }],
      },
    }
    const { data: types } = await server.query(`{
      asked: __type(name: "CreateSessionInput") { inputFields { name } }
      shown: __type(name: "ScheduledSession") { fields { name } } }`)
    const notOfRuns = ['creationId', 'startsAt', 'dependsOn', 'inputs', 'progressTimeout', 'project']
    const asked = types.asked.inputFields
      .map(({ name }: any) => name)
      .filter((name: string) => !notOfRuns.includes(name))
    expect(types.shown.fields.map(({ name }: any) => name)).toEqual(expect.arrayContaining(asked))
    expect(Object.keys(session)).toEqual(expect.arrayContaining(asked))

    const { data } = await server.query(CREATE, { input: { name: 'whole', every: 60, session } })
    const { scheduleId } = data.createSchedule.schedule
    const stored = async () =>
      (await server.db.query('SELECT template, secret_environ FROM schedules WHERE id = $1', [scheduleId])).rows[0]
    const before = await stored()
    const READ = `query ($id: UUID!) { schedule(id: $id) { session {
      name sessionType resourceGroup image command codeSha256 environ { name value } resourceSlots { slot amount }
      gpus { model memory } gpuIdleTimeout onHang neverRunTwice clusterSize clusterMode batchTimeout maxPending stopGrace priority labels { key value } allowAgents avoidAgents
      excludeAgents agentLabels { key value } executorOptions { key value } mounts { volume path readOnly }
      concurrencyKey concurrencyLimit outputs { paths when keepDays } retryPolicy { given maxRetries maxElapsed rules { match { causes exitCodes exitCodesNotIn reason }
        action delay avoid exclude scaleResources { slot factor max } scaleTimeout { factor max } } } } } }`
    const read = async () => (await server.query(READ, { id: scheduleId })).data.schedule.session
    const shown = await read()
    const { project: _, secretEnviron: __, ...asShown } = session
    expect(shown).toMatchObject({ ...asShown, retryPolicy: { given: ['maxRetries', 'maxElapsed', 'rules'] } })
    const { given, ...policy } = shown.retryPolicy
    const retryPolicy = Object.fromEntries(given.map((field: string) => [field, policy[field]]))
    const UPDATE = `mutation ($input: UpdateScheduleInput!) { updateSchedule(input: $input) { __typename
      ... on Error { message } ... on ValidationError { issues { path message } } } }`
    const update = async (changed: object) =>
      (await server.query(UPDATE, { input: { scheduleId, session: changed } })).data.updateSchedule
    expect(await update({ ...shown, retryPolicy })).toEqual({ __typename: 'UpdateSchedulePayload' })
    expect(await read()).toEqual(shown)
    expect((await stored())!['secret_environ']).toEqual(before!['secret_environ'])

    const plain = { ...shown, retryPolicy, environ: [{ name: 'B', value: 'plain' }] }
    expect(await update(plain)).toMatchObject({ issues: [{ path: 'session.environ.0.name' }] })
    expect(await update({ ...plain, secretEnviron: [] })).toEqual({ __typename: 'UpdateSchedulePayload' })
    expect(await stored()).toMatchObject({ secret_environ: [] })
  })

  test('is created, shown with its next runs, changed, and deleted', async () => {
    const { data } = await server.query(CREATE, nightly('nightly'))
    const { schedule } = data.createSchedule
    expect(schedule).toMatchObject({
      name: 'nightly',
      cron: '30 2 * * *',
      every: null,
      timeZone: 'Europe/Berlin',
      overlap: 'SKIP',
      catchUp: 1,
      jitter: 0,
      paused: false,
      queued: 0,
      project: { name: 'default' },
      session: { command: ['true'], maxRetries: 2, secretEnviron: ['B'], environ: [{ name: 'A', value: '1' }] },
    })
    expect(schedule.nextRuns).toHaveLength(3)
    expect(schedule.nextRunAt).toBe(schedule.nextRuns[0])
    const berlin = new Intl.DateTimeFormat('en-GB', { timeZone: 'Europe/Berlin', timeStyle: 'short' })
    expect(berlin.format(new Date(schedule.nextRuns[0]))).toBe('02:30')
    const taken = await server.query(CREATE, nightly('nightly'))
    expect(taken.data.createSchedule).toMatchObject({ __typename: 'ConflictError', code: 'NAME_TAKEN' })
    const input = { scheduleId: schedule.scheduleId, every: 90, overlap: 'QUEUE' }
    const updated = await server.query(
      `mutation ($input: UpdateScheduleInput!) { updateSchedule(input: $input) {
      ... on UpdateSchedulePayload { schedule { cron every overlap } } } }`,
      { input },
    )
    expect(updated.data.updateSchedule.schedule).toEqual({ cron: null, every: 90, overlap: 'QUEUE' })
    const listed = await server.query(
      `{ schedules(filter: { name: { equals: "nightly" } }) { totalCount edges { node { name } } } node(id: "${schedule.id}") { ... on Schedule { name } } }`,
    )
    expect(listed.data).toMatchObject({
      schedules: { totalCount: 1, edges: [{ node: { name: 'nightly' } }] },
      node: { name: 'nightly' },
    })
    const deleted = await server.query(
      `mutation ($input: DeleteScheduleInput!) { deleteSchedule(input: $input) { ... on DeleteSchedulePayload { deletedId } } }`,
      { input: { scheduleId: schedule.scheduleId } },
    )
    expect(deleted.data.deleteSchedule.deletedId).toBe(schedule.id)
  })

  test('all faults are reported at once, under the names of the input', async () => {
    const { data } = await server.query(
      CREATE,
      nightly('bad', { cron: '99 * * * *', catchUp: -1, timeZone: 'Nowhere' }),
    )
    expect(data.createSchedule.__typename).toBe('ValidationError')
    expect(data.createSchedule.issues.map(({ path }: { path: string }) => path).toSorted()).toEqual([
      'catchUp',
      'cron',
      'timeZone',
    ])
  })

  test('a repeated creation id returns the same schedule, whatever became of it', async () => {
    const KEYED = CREATE.replace('schedule {', 'created schedule {').replace('code message', 'code')
    const input = nightly('once', { creationId: 'once-1' })
    const answers = await Promise.all([0, 1, 2].map(() => server.query(KEYED, input)))
    const created = answers.map(({ data }) => data.createSchedule)
    expect(new Set(created.map(({ schedule }) => schedule.scheduleId)).size).toBe(1)
    expect(created.filter((each) => each.created)).toHaveLength(1)
    const [{ schedule }] = created
    const RENAME = `mutation ($input: UpdateScheduleInput!) { updateSchedule(input: $input) { __typename } }`
    await server.query(RENAME, { input: { scheduleId: schedule.scheduleId, name: 'renamed', cron: '@daily' } })
    const { data } = await server.query(KEYED, input)
    expect(data.createSchedule).toMatchObject({ created: false, schedule: { name: 'renamed', cron: '@daily' } })

    const others = [{ paused: true }, { cron: '31 2 * * *' }, { session: { name: 'report', command: ['false'] } }]
    for (const other of others) {
      const refused = await server.query(KEYED, nightly('once', { creationId: 'once-1', ...other }))
      expect(refused.data.createSchedule).toMatchObject({ __typename: 'ConflictError', code: 'CREATION_ID_REUSED' })
    }
    const long = await server.query(KEYED, nightly('long', { creationId: 'x'.repeat(257), catchUp: -1 }))
    expect(long.data.createSchedule.issues.map(({ path }: { path: string }) => path).toSorted()).toEqual([
      'catchUp',
      'creationId',
    ])
  })

  test('its runs lead to their sessions, and the sessions back', async () => {
    const { data } = await server.query(CREATE, nightly('linked'))
    const id = data.createSchedule.schedule.scheduleId
    await makeDue(server.db, id)
    const parts = { db: server.db, wake: createWakeHub(), log: pino({ enabled: false }), metrics: createMetrics() }
    await createScheduleService({ ...parts, secrets: TEST_SECRETS, sync: NO_SYNC_POINTS }).runOnce()
    const RUNS = `query ($id: UUID!) { schedule(id: $id) { lastRuns { outcome chainId session { schedule { name } chain { state } } } }
    scheduleRuns(scheduleId: $id, first: 5) { totalCount edges { node { outcome count session { name } } } } }`
    const read = await server.query(RUNS, { id })
    expect(read.data).toMatchObject({
      schedule: {
        lastRuns: [{ outcome: 'STARTED', session: { schedule: { name: 'linked' }, chain: { state: 'QUEUED' } } }],
      },
      scheduleRuns: { totalCount: 1, edges: [{ node: { outcome: 'STARTED', count: 1, session: { name: 'report' } } }] },
    })
    const now = await server.query(
      `mutation ($input: RunScheduleNowInput!) { runScheduleNow(input: $input) {
      ... on RunScheduleNowPayload { created run { outcome askedBy reason } } } }`,
      { input: { scheduleId: id, clientKey: 'once' } },
    )
    expect(now.data.runScheduleNow.created).toBe(true)
    expect(now.data.runScheduleNow.run).toMatchObject({ outcome: 'SKIPPED', reason: 'an earlier run is still running' })
  })

  test('another project sees nothing of it', async () => {
    const { data } = await server.query(CREATE, nightly('private'))
    const { id, scheduleId } = data.createSchedule.schedule
    const projectId = await server.factory.project()
    const token = await server.factory.token({ role: 'MEMBER', projectId })
    const seen = await server.query(
      `query ($uuid: UUID!, $id: ID!) { schedule(id: $uuid) { name } node(id: $id) { id } schedules { edges { node { name } } }
      scheduleRuns(scheduleId: $uuid) { totalCount } }`,
      { uuid: scheduleId, id },
      token,
    )
    expect(seen.data).toEqual({ schedule: null, node: null, schedules: { edges: [] }, scheduleRuns: { totalCount: 0 } })
    for (const [mutation, type] of [
      ['pauseSchedule', 'PauseScheduleInput'],
      ['resumeSchedule', 'ResumeScheduleInput'],
      ['runScheduleNow', 'RunScheduleNowInput'],
      ['deleteSchedule', 'DeleteScheduleInput'],
      ['updateSchedule', 'UpdateScheduleInput'],
    ]) {
      const text = `mutation ($input: ${type}!) { result: ${mutation}(input: $input) { ... on Error { code } } }`
      const { data: changed } = await server.query(text, { input: { scheduleId } }, token)
      expect([mutation, changed.result]).toEqual([mutation, { code: 'SCHEDULE_NOT_FOUND' }])
    }
  })
})

describe('schedules over REST', () => {
  async function ask(method: string, path: string, body?: unknown, token = server.adminToken) {
    const response = await fetch(`${server.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    // Answers are read by tests that know what they asked for.
    return { status: response.status, headers: response.headers, body: text === '' ? null : JSON.parse(text) }
  }

  const NIGHTLY = {
    name: 'nightly',
    cron: '30 2 * * *',
    time_zone: 'Europe/Berlin',
    overlap: 'queue',
    catch_up: 3,
    session: { name: 'report', command: ['true'], retry_policy: { max_retries: 2 }, batch_timeout: 60 },
  }

  test('a schedule is created, read, changed, paused, run, and deleted', async () => {
    const made = await ask('POST', '/v2/schedules', NIGHTLY)
    expect([made.status, made.body]).toEqual([
      201,
      expect.objectContaining({
        name: 'nightly',
        project: 'default',
        cron: '30 2 * * *',
        every: null,
        time_zone: 'Europe/Berlin',
        overlap: 'QUEUE',
        catch_up: 3,
        paused: false,
        session: expect.objectContaining({ command: ['true'], max_retries: 2, batch_timeout: 60 }),
      }),
    ])
    const path = `/v2/schedules/${made.body.id}`
    expect(made.headers.get('location')).toBe(path)
    expect(made.body.next_runs).toHaveLength(5)
    expect(await ask('POST', '/v2/schedules', NIGHTLY)).toMatchObject({ status: 409, body: { code: 'NAME_TAKEN' } })
    const changed = await ask('PATCH', path, { every: 60, jitter: 5 })
    expect(changed).toMatchObject({ status: 200, body: { cron: null, every: 60, jitter: 5, catch_up: 3 } })
    const paused = await ask('POST', `${path}/pause`, { reason: 'holidays' })
    expect(paused.body).toMatchObject({ paused: true, pause_reason: 'holidays', next_run_at: null })
    expect((await ask('GET', '/v2/schedules?paused=true&name=nightly')).body.items).toHaveLength(1)
    const keyed = `${path}/run?client_key=once`
    const once = await ask('POST', keyed)
    expect(once).toMatchObject({ status: 201, body: { outcome: 'STARTED', count: 1 } })
    expect(await ask('POST', keyed)).toMatchObject({ status: 200, body: { id: once.body.id } })
    expect(await ask('POST', `${path}/run`)).toMatchObject({ status: 201, body: { outcome: 'QUEUED', chain_id: null } })
    expect((await ask('POST', `${path}/resume`)).body).toMatchObject({ paused: false, queued: 1 })
    const runs = await ask('GET', `${path}/runs?outcome=started`)
    expect(runs.body.items).toEqual([expect.objectContaining({ outcome: 'STARTED' })])
    expect((await ask('GET', `/v2/sessions/${runs.body.items[0].chain_id}`)).body.name).toBe('report')
    expect((await ask('DELETE', path)).status).toBe(204)
    expect(await ask('GET', path)).toMatchObject({ status: 404, body: { code: 'SCHEDULE_NOT_FOUND' } })
  })

  test('a repeated request with a creation id gets the same schedule', async () => {
    const once = { ...NIGHTLY, name: 'once-by-rest', creation_id: 'by-rest' }
    const [first, second] = [await ask('POST', '/v2/schedules', once), await ask('POST', '/v2/schedules', once)]
    expect([first.status, second.status, second.body.id]).toEqual([201, 200, first.body.id])
    const other = await ask('POST', '/v2/schedules', { ...once, catch_up: 9 })
    expect([other.status, other.body.code]).toEqual([409, 'CREATION_ID_REUSED'])
  })

  test.each([
    ['POST', '', {}, ['cron', 'name', 'session']],
    ['POST', '', { ...NIGHTLY, name: 5, paused: 'yes', session: null }, ['name', 'paused', 'session']],
    ['POST', '', { ...NIGHTLY, name: 'x', session: { name: 'x', command: 'true' } }, ['session.command']],
    ['POST', '', { ...NIGHTLY, name: 'x', session: [] }, ['session.command', 'session.name']],
  ])('%s /v2/schedules%s %j is refused', async (method, path, body, paths) => {
    const answer = await ask(method, `/v2/schedules${path}`, body)
    expect([answer.status, answer.body.code]).toEqual([422, 'VALIDATION_FAILED'])
    const named = answer.body.issues.map((issue: { path: string }) => issue.path) as string[]
    expect(paths.filter((each) => !named.includes(each))).toEqual([])
  })

  test('a change or a pause with unknown fields is refused', async () => {
    const { body } = await ask('POST', '/v2/schedules', { ...NIGHTLY, name: 'strict' })
    const path = `/v2/schedules/${body.id}`
    expect(await ask('PATCH', path, { paused: true })).toMatchObject({ status: 422 })
    expect(await ask('PATCH', path, { name: 7 })).toMatchObject({ status: 422 })
    expect(await ask('PATCH', path, { cron: 5 })).toMatchObject({ status: 422 })
    expect(await ask('POST', `${path}/pause`, { reason: 5 })).toMatchObject({ status: 422 })
    expect(await ask('POST', `${path}/pause`, { until: 'tomorrow' })).toMatchObject({ status: 422 })
  })

  test('a token of another project finds none of them', async () => {
    const { body } = await ask('POST', '/v2/schedules', { ...NIGHTLY, name: 'hidden' })
    const token = await server.factory.token({ role: 'MEMBER', projectId: await server.factory.project() })
    const path = `/v2/schedules/${body.id}`
    for (const [method, below, given] of [
      ['GET', '', undefined],
      ['PATCH', '', { every: 5 }],
      ['DELETE', '', undefined],
      ['GET', '/runs', undefined],
      ['POST', '/pause', {}],
      ['POST', '/resume', undefined],
      ['POST', '/run', undefined],
    ] as const) {
      const { status } = await ask(method, `${path}${below}`, given, token)
      expect([method, below, status]).toEqual([method, below, 404])
    }
    expect((await ask('GET', '/v2/schedules', undefined, token)).body.items).toEqual([])
  })
})

describe('a killed server', () => {
  let database: TestDatabase

  beforeAll(async () => {
    database = await testDatabase()
  })
  afterAll(() => database.close())

  test('before the commit: nothing is there, and the next server makes the run once', async () => {
    const schedules = await scheduleServer(database.db)
    const id = await schedules.schedule()
    await makeDue(database.db, id)
    const killed = await runProgram('killed-in-schedule-program.ts', [database.connectionString])
    expect(killed.status).toBeNull()
    expect([await outcomes(database.db, id), await chainsOf(database.db, id)]).toEqual([[], []])
    // The connection of the dead is noticed, and what it had is rolled back.
    await eventually(async () => {
      await schedules.runSchedules()
      return (await outcomes(database.db, id)).length > 0
    })
    await schedules.runSchedules()
    expect(await outcomes(database.db, id)).toEqual(['STARTED'])
    expect(await chainsOf(database.db, id)).toHaveLength(1)
    const { rows } = await database.db.query<{ sessions: number }>('SELECT count(*) AS sessions FROM sessions')
    expect(rows[0]!.sessions).toBe(1)
  })
})
