import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { readAdminToken, type ServerProcess, startServer } from '../../../src/cli/demo/server-process.ts'
import { createClient, type DeploymentEvent } from '../../../src/client/node/index.ts'
import { commandLine, startCommand } from '../../support/programs/command-line.ts'
import { testDatabase, type TestDatabase } from '../../support/database/database.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { eventually } from '../../support/eventually.ts'

describe('deployments', () => {
  /** Deployments from the command line and the client, on a server with an agent that runs real processes. */

  const PROGRAM = `require('node:http').createServer((_request, response) => response.end(process.env.COLOUR ?? 'none'))
  .listen(process.env.PORT, '127.0.0.1')`

  let database: TestDatabase
  let server: ServerProcess
  let token: string
  let discovery: string
  let environment: Record<string, string>
  let reprise: ReturnType<typeof commandLine>

  beforeAll(async () => {
    const directory = await temporaryDirectory('deployments')
    database = await testDatabase()
    const dataDir = join(directory, 'data')
    discovery = join(directory, 'discovery')
    const env = {
      REPRISE_DISCOVERY_DIR: discovery,
      REPRISE_DATABASE_URL: database.connectionString,
      REPRISE_SLOTS: 'cpu=8',
      REPRISE_AGENT_ADDRESS: '127.0.0.1',
    }
    server = await startServer({ dataDir, port: 0, onLog: () => {}, env })
    token = await readAdminToken(dataDir)
    const config = { XDG_CONFIG_HOME: directory, REPRISE_DATA_DIR: join(directory, 'none') }
    environment = { ...config, REPRISE_URL: server.url, REPRISE_TOKEN: token }
    reprise = commandLine(environment)
  })
  afterAll(async () => {
    await server?.stop()
    await database?.close()
  })

  async function answers(name: string): Promise<string[]> {
    const shown = JSON.parse((await reprise('deployments', 'info', name, '--json')).stdout)
    return Promise.all(shown.endpoints.map(async ({ url }: { url: string }) => (await fetch(url)).text()))
  }

  /** Returns the targets in the files once there is this number of them. */
  async function discovered(count: number): Promise<string[]> {
    const targets = async () => {
      const groups = JSON.parse(await readFile(join(discovery, 'prometheus.json'), 'utf8')) as { targets: string[] }[]
      return groups.flatMap((group) => group.targets)
    }
    await vi.waitFor(async () => expect(await targets()).toHaveLength(count), { timeout: 120_000, interval: 20 })
    return targets()
  }

  test('a deployment from its creation to its end', async () => {
    const watching = startCommand(['deployments', 'watch', '--json'], environment)
    await vi.waitFor(() => expect(watching.output.stderr).toContain('watching from'), { timeout: 120_000 })

    const options = ['--replicas', '2', '--cpu', '0.1', '--health-interval', '200ms', '--drain', '0s']
    const created = await reprise(
      'deployments',
      'create',
      'web',
      ...options,
      '--wait',
      '--',
      process.execPath,
      '-e',
      PROGRAM,
    )
    expect(created.status, created.stderr).toBe(0)
    const id = created.stdout.trim()
    expect(id).toMatch(/^[0-9a-f-]{36}$/)
    expect(created.stderr).toContain('web: READY, 2 of 2 healthy, revision 1')
    expect(await answers('web')).toEqual(['none', 'none'])
    for (const target of await discovered(2)) expect((await fetch(`http://${target}/`)).status).toBe(200)

    const again = await reprise('deployments', 'create', 'web', '--', 'true')
    expect(again).toMatchObject({ status: 5, stderr: expect.stringContaining('NAME_TAKEN') })
    const { stdout: shown } = await reprise('deployments', 'info', 'web')
    expect(shown).toMatch(/healthy +2 of 2\n[^]*check +GET \/ every 0.2 s[^]*\nROUTE[^]*HEALTHY +1 +127\.0\.0\.1:\d+/)

    const updated = await reprise('deployments', 'update', 'web', '-e', 'COLOUR=blue', '--wait')
    expect(updated.status, updated.stderr).toBe(0)
    expect(updated.stdout).toBe('web: READY, 2 of 2 healthy, revision 2\n')
    expect(await answers(id)).toEqual(['blue', 'blue'])

    const scaled = await reprise('deployments', 'scale', 'web', '1', '--wait')
    expect(scaled.stdout, scaled.stderr).toBe('web: READY, 1 of 1 healthy, revision 2\n')
    expect(await reprise('deployments', 'scale', 'web', 'many')).toMatchObject({ status: 2 })
    const listed = JSON.parse((await reprise('deployments', '--json')).stdout)
    expect(listed).toMatchObject([{ deploymentId: id, settled: true, healthyReplicas: 1, revision: { number: 2 } }])

    const destroyed = await reprise('deployments', 'destroy', 'web', '--reason', 'over', '--wait')
    expect(destroyed.stdout, destroyed.stderr).toMatch(/^web: DESTROYED, 0 of 1 healthy/)
    expect(await discovered(0)).toEqual([])
    expect(await reprise('deployments')).toMatchObject({ status: 0, stdout: '', stderr: 'no deployments\n' })
    expect(await reprise('deployments', 'info', 'nothing')).toMatchObject({ status: 3 })

    const events = () =>
      watching.output.stdout
        // The last may not be whole yet.
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line) as DeploymentEvent)
    await vi.waitFor(() => expect(events().at(-1)).toMatchObject({ type: 'DESTROYED' }), { timeout: 120_000 })
    watching.child.kill('SIGINT')
    expect((await watching.ended).status).toBe(130)
    const types = events().map(({ type }) => type)
    expect(types[0]).toBe('CREATED')
    expect(types).toEqual(expect.arrayContaining(['UPDATED', 'SCALED', 'ROUTE_STATUS_CHANGED', 'DESTROYED']))
    expect(events().filter(({ toStatus }) => toStatus === 'HEALTHY')).toHaveLength(4)
  })

  test('the client creates once, follows and waits', async () => {
    await using client = createClient({ url: server.url, token })
    const after = await client.eventCursor()
    const input = {
      name: 'sdk',
      command: [process.execPath, '-e', PROGRAM],
      resourceSlots: [{ slot: 'cpu', amount: '0.1' }],
      healthCheck: { interval: 0.2 },
      drain: 0,
      creationId: 'sdk-1',
    }
    const { deployment, created } = await client.createDeployment(input)
    const second = await client.createDeployment(input)
    expect([created, second.created, second.deployment.deploymentId]).toEqual([true, false, deployment.deploymentId])
    const { deploymentId } = deployment
    const seen: string[] = []
    const ready = await client.waitForDeployment(deploymentId, { onDeployment: ({ status }) => seen.push(status) })
    expect(ready).toMatchObject({ status: 'READY', settled: true, healthyReplicas: 1 })
    expect(seen.at(-1)).toBe('READY')
    expect((await client.updateDeployment({ deploymentId, priority: 20 })).revision.number).toBe(2)
    expect((await client.updateDeployment({ deploymentId, priority: 20 })).revision.number).toBe(2)
    expect(await client.waitForDeployment(deploymentId)).toMatchObject({ revision: { number: 2 }, healthyReplicas: 1 })
    await client.scaleDeployment({ deploymentId, replicas: 0 })
    expect(await client.waitForDeployment(deploymentId)).toMatchObject({
      settled: true,
      healthyReplicas: 0,
      replicas: 0,
    })
    await client.destroyDeployment(deploymentId, 'over')
    expect(await client.waitForDeployment(deploymentId)).toMatchObject({ status: 'DESTROYED', settled: true })
    const types: string[] = []
    for await (const { type } of client.deploymentEvents(
      { deploymentId, types: ['CREATED', 'SCALED', 'UPDATED', 'DESTROYED'] },
      { after },
    )) {
      types.push(type)
      if (type === 'DESTROYED') break
    }
    expect(types).toEqual(['CREATED', 'UPDATED', 'SCALED', 'DESTROYED'])
    const names: string[] = []
    for await (const { name } of client.deployments({ orderBy: { field: 'NAME' } })) names.push(name)
    expect(names).toContain('sdk')
    await expect(client.scaleDeployment({ deploymentId, replicas: 1 })).rejects.toMatchObject({
      code: 'DEPLOYMENT_DESTROYED',
    })
  })

  test('--wait gives up on a revision that cannot start, and says how it ended', async () => {
    const options = ['--cpu', '0.1', '--health-interval', '200ms', '--drain', '0s', '--wait']
    const failing = ['sh', '-c', 'echo first; for n in 1 2 3 4 5 6 7 8 9 10; do echo line $n; done; exit 7']
    const { status, stdout, stderr } = await reprise('deployments', 'create', 'broken', ...options, '--', ...failing)
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
    expect(stderr).toMatch(/broken: SCALING: 0 of 1 replicas of revision 1 are healthy/)
    expect(stderr).toMatch(/error: revision 1 of broken cannot start: 3 routes in a row failed; the last exited with 7/)
    const lines = [...stderr.matchAll(/^ {2}\| (.*)$/gm)].map(([, line]) => line)
    expect(lines).toEqual(Array.from({ length: 10 }, (_, n) => `line ${n + 1}`))
    const [, session] = stderr.match(/`reprise logs (\S+)` shows all its output/)!
    expect((await reprise('logs', session!)).stdout).toContain('first\n')

    const mended = [...options, '--', process.execPath, '-e', PROGRAM]
    const good = await reprise('deployments', 'update', 'broken', ...mended)
    expect(good, good.stderr).toMatchObject({ status: 0, stdout: 'broken: READY, 1 of 1 healthy, revision 2\n' })
    const missing = await reprise('deployments', 'update', 'broken', '--wait', '--', 'no-such-program')
    expect(missing.status).toBe(1)
    expect(missing.stderr).toMatch(
      /revision 3 of broken cannot start: .* exited with 127 \(command not found: no-such-program/,
    )
    expect(await answers('broken')).toEqual(['none'])
    expect(await reprise('deployments', 'destroy', 'broken', '--wait')).toMatchObject({ status: 0 })
  })
})

describe('schedules', () => {
  /** Schedules from the command line, on two servers with agents that run real processes, one of which is killed. */

  let database: TestDatabase
  let first: ServerProcess
  let second: ServerProcess
  let reprise: ReturnType<typeof commandLine>

  beforeAll(async () => {
    const directory = await temporaryDirectory('schedules')
    database = await testDatabase()
    const env = { REPRISE_DATABASE_URL: database.connectionString, REPRISE_SLOTS: 'cpu=8' }
    const key = { REPRISE_SECRETS_KEY_FILE: join(directory, 'first', 'secrets-key') }
    const start = (name: string, more: object = {}) =>
      startServer({
        dataDir: join(directory, name),
        port: 0,
        onLog: () => {},
        env: { ...env, REPRISE_AGENT_NAME: name, ...more },
      })
    first = await start('first')
    const token = await readAdminToken(join(directory, 'first'))
    second = await start('second', key)
    const config = { XDG_CONFIG_HOME: directory, REPRISE_DATA_DIR: join(directory, 'none') }
    reprise = commandLine({ ...config, REPRISE_URL: second.url, REPRISE_TOKEN: token })
  })
  afterAll(async () => {
    await second?.stop()
    await first?.kill().catch(() => {})
    await database?.close()
  })

  const shown = async (name: string) => JSON.parse((await reprise('schedules', 'info', name, '--json')).stdout)

  /** Planned times that were decided on, and those that there were from the first to the last; and what was made. */
  async function reckoning() {
    const { rows } = await database.db.query<Record<'decided' | 'planned' | 'started' | 'sessions', number>>(
      `SELECT sum(count)::int AS decided,
       (extract(epoch FROM max(last_planned_at) - min(planned_at)) + 1)::int AS planned,
       count(*) FILTER (WHERE outcome = 'STARTED')::int AS started,
       (SELECT count(*) FROM chains WHERE schedule_id IS NOT NULL)::int AS sessions
     FROM schedule_runs WHERE asked_by IS NULL`,
    )
    return rows[0]!
  }

  test('each planned time is decided once, even if a server is killed', async () => {
    const options = ['--every', '1s', '--catch-up', '100', '--retries', '1', '--cpu', '0.1']
    const made = await reprise('schedules', 'create', 'tick', ...options, '--', 'true')
    expect(made).toMatchObject({ status: 0, stdout: expect.stringMatching(/^[0-9a-f-]{36}\n$/) })
    await eventually(async () => (await reckoning()).started >= 3, { withinMs: 120_000 })
    await first.kill()
    // A run that was under way holds the next ones until its agent is known to be dead: they are decided to be skipped.
    const before = (await reckoning()).decided
    await eventually(async () => (await reckoning()).decided >= before + 3, { withinMs: 120_000 })
    expect(await reprise('schedules', 'pause', 'tick', '--reason', 'enough')).toMatchObject({
      stdout: 'tick: paused\n',
    })
    const { decided, planned, started, sessions } = await reckoning()
    expect({ decided, sessions }).toEqual({ decided: planned, sessions: started })
    const tick = await shown('tick')
    expect(tick).toMatchObject({ paused: true, pauseReason: 'enough', every: 1, session: { maxRetries: 1 } })
    expect((await reprise('schedules', 'info', 'tick')).stdout).toMatch(/when +every 1 s/)
    expect((await reprise('schedules', 'runs', 'tick')).stdout).toContain('SUCCEEDED')
  })

  test('a schedule is created, changed, run and deleted by name', async () => {
    const timing = [
      '--cron',
      '30 2 * * *',
      '--timezone',
      'Europe/Berlin',
      '--overlap',
      'cancel-other',
      '--spread',
      '5m',
    ]
    await reprise('schedules', 'create', 'nightly', ...timing, '--paused', '--', 'sleep', '60')
    expect((await reprise('schedules')).stdout).toMatch(/nightly +30 2 \* \* \* Europe\/Berlin +paused/)
    expect(await shown('nightly')).toMatchObject({
      overlap: 'CANCEL_OTHER',
      jitter: 300,
      session: { command: ['sleep', '60'] },
    })
    const updated = await reprise('schedules', 'update', 'nightly', '--every', '2h', '--overlap', 'skip')
    expect(updated.stdout).toMatch(/^nightly: every 2 h, next run/)
    const half = await reprise('schedules', 'update', 'nightly', '--retries', '2')
    expect(half.status).toBe(2)
    expect(half.stderr).toContain('give the command after --, too')
    const other = ['--retries', '2', '--cpu', '0.1', '-e', 'DEPTH=full', '--', 'sleep', '70']
    expect((await reprise('schedules', 'update', 'nightly', ...other)).stdout).toMatch(/^nightly: every 2 h, next run/)
    expect(await shown('nightly')).toMatchObject({ every: 7_200, session: { command: ['sleep', '70'], maxRetries: 2 } })
    const session = (await reprise('schedules', 'run', 'nightly')).stdout
    expect(session).toMatch(/^[0-9a-f-]{36}\n$/)
    expect(await reprise('schedules', 'run', 'nightly')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('skipped: an earlier run is still running'),
    })
    await reprise('cancel', session.trim())
    expect((await reprise('schedules', 'resume', 'nightly')).stdout).toMatch(/^nightly: next run in/)
    const refused = await reprise('schedules', 'create', 'bad', '--cron', '99 * * * *', '--', 'true')
    expect(refused.stderr).toContain('Invalid value for minute: 99')
    expect(refused.status).not.toBe(0)
    expect((await reprise('schedules', 'delete', 'nightly')).stdout).toBe('nightly: deleted\n')
    expect((await reprise('schedules', 'info', 'nightly')).stderr).toContain('nightly')
  })

  test('with cancel-other a run ends the one before, and then starts', async () => {
    await reprise('schedules', 'create', 'sync', '--cron', '@yearly', '--overlap', 'cancel-other', '--', 'sleep', '600')
    const older = (await reprise('schedules', 'run', 'sync')).stdout.trim()
    const state = async (id: string) => JSON.parse((await reprise('info', id, '--json')).stdout)
    await eventually(async () => JSON.stringify(await state(older)).includes('"RUNNING"'))
    expect((await reprise('schedules', 'run', 'sync')).stderr).toContain('queued')
    const newer = await eventually(async () => {
      const { lastRuns } = await shown('sync')
      return lastRuns[0].chainId as string | null
    })
    expect(newer).not.toBe(older)
    const { rows } = await database.db.query<{ status: string; reason: string }>(
      'SELECT status, status_reason AS reason FROM sessions WHERE id = $1',
      [older],
    )
    expect(rows).toEqual([{ status: 'TERMINATED', reason: 'a later run of schedule sync takes its place' }])
    await reprise('cancel', newer)
  })
})
