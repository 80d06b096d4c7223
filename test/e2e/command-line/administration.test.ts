import { chmod, mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { commandLine, startCommand } from '../../support/programs/command-line.ts'
import type { TestServer } from '../../support/servers/graphql-server.ts'
import { serveCommands } from './command-server.ts'

/** Administration: on a server behind which nothing drives sessions, so that all stays as a test has put it. */

let server: TestServer
let directory: string
let environment: Record<string, string>
let reprise: ReturnType<typeof commandLine>

beforeAll(async () => {
  ;({ server, directory, environment, reprise } = await serveCommands('administration'))
})
afterAll(() => server?.close())

test('defaults, switches and quotas are set, shown and removed', async () => {
  expect(await reprise('defaults', 'set', 'cluster', '--retries', '2')).toMatchObject({ status: 0 })
  expect((await reprise('defaults')).stdout).toMatch(/CLUSTER +– +maxRetries +2/)
  expect(await reprise('defaults', 'clear', 'cluster')).toMatchObject({ status: 0 })
  expect(await reprise('defaults')).toMatchObject({ status: 0, stdout: '' })
  expect(await reprise('defaults', 'set', 'project')).toMatchObject({ status: 2 })

  const set = ['switch', 'set', 'project', 'default']
  expect((await reprise(...set, '--off', '--rate', '5/10')).stdout).toBe(
    'retries of project default are held, at most 5/s\n',
  )
  expect((await reprise('switch')).stdout).toMatch(/PROJECT +default +held +– +5\/s, burst 10/)
  expect(await reprise(...set, '--on', '--rate', 'none')).toMatchObject({ status: 0 })
  expect(await reprise('switch')).toMatchObject({ stdout: '' })

  const quota = ['quotas', 'set', 'project', 'default']
  expect(await reprise(...quota, '--max-running', '7', '--slot', 'cpu=3')).toMatchObject({ status: 0 })
  expect((await reprise('quotas')).stdout).toMatch(/PROJECT +default +\d+\/∞ +0\/7 +0 B\/∞ +0 B\/∞ +cpu 0\/3/)
  expect(await reprise(...quota, '--max-running', 'none')).toMatchObject({ status: 0 })
  expect((await reprise('quotas')).stdout).toMatch(/ 0\/∞ +0 B\/∞ +0 B\/∞ +cpu 0\/3/)
  expect((await reprise('projects')).stdout).toMatch(/default +default/)
})

test('users, projects and groups are created, granted, drained and removed', async () => {
  expect(await reprise('users', 'create', 'grace')).toMatchObject({ status: 0 })
  expect(await reprise('domains', 'create', 'optics')).toMatchObject({ status: 0 })
  expect((await reprise('domains')).stdout).toMatch(/^optics +/m)
  expect(await reprise('domains', 'create', 'optics')).toMatchObject({ status: 5 })
  expect(await reprise('projects', 'create', 'vision')).toMatchObject({ status: 0 })
  expect((await reprise('projects')).stdout).toMatch(/^vision +default +/m)
  expect(await reprise('projects', 'grant', 'vision', 'grace', 'boss')).toMatchObject({ status: 2 })
  expect(await reprise('projects', 'grant', 'vision', 'grace', 'viewer')).toMatchObject({ status: 0 })
  expect((await reprise('users')).stdout).toMatch(/^grace +vision \(VIEWER\) /m)
  expect(await reprise('projects', 'revoke', 'vision', 'grace')).toMatchObject({ status: 0 })
  expect((await reprise('users')).stdout).not.toContain('VIEWER')

  expect(await reprise('resource-groups', 'create', 'tpu')).toMatchObject({ status: 0 })
  expect(await reprise('resource-groups', 'drain', 'tpu', '--reason', 'new driver')).toMatchObject({ status: 0 })
  expect((await reprise('resource-groups')).stdout).toMatch(/^tpu +DRAINING +0 .* new driver$/m)
  expect(await reprise('resource-groups', 'resume', 'tpu')).toMatchObject({ status: 0 })
  expect((await reprise('resource-groups')).stdout).toMatch(/^tpu +OPEN /m)
  const timeouts = ['resource-groups', 'timeouts', 'tpu'] as const
  expect((await reprise(...timeouts)).stdout).toMatch(/^pending +no limit$/m)
  const changed = await reprise(
    ...timeouts,
    '--pending',
    '2h',
    '--create',
    'none',
    '--queue',
    '1d',
    '--stop-grace',
    '30s',
    '--terminate',
    '2m',
  )
  expect(changed.stdout).toMatch(
    /^pending +2 h\n.*\ncreate +no limit\nqueue +1 d\nterminate +2 m\nstop grace +30 s\nlongest grace +1 h\nfence/m,
  )
  expect(await reprise(...timeouts)).toEqual(changed)
  expect(await reprise(...timeouts, '--terminate', '1s')).toMatchObject({ status: 2 })
  expect(await reprise('resource-groups', 'timeouts', 'nowhere')).toMatchObject({ status: 3 })
  const options = ['resource-groups', 'options', 'tpu'] as const
  expect((await reprise(...options)).stdout).toMatch(/^options +none\nsessions may set +none$/m)
  const set = await reprise(...options, '--option', 'qos=low', '--option', 'partition=a', '--allow', 'qos')
  expect(set.stdout).toMatch(/^options +qos=low, partition=a\nsessions may set +qos$/m)
  expect((await reprise(...options, '--option', 'none')).stdout).toMatch(/^options +none\nsessions may set +qos$/m)
  expect(await reprise(...options, '--allow', 'a b')).toMatchObject({ status: 2 })
  expect(await reprise('resource-groups', 'delete', 'tpu')).toMatchObject({ status: 0 })
  expect((await reprise('resource-groups')).stdout).not.toContain('tpu')
})

test('stats shows what the server counted, history what it did', async () => {
  const counted = { name: 'counted', createdAt: new Date(Date.now() - 60_000) }
  const well = await server.factory.session({ ...counted, status: 'TERMINATED' })
  const { id } = await server.factory.session({ ...counted, status: 'ERROR', failureCause: 'OOM_KILLED' })
  await server.db.query(
    `INSERT INTO scheduling_history (entity, entity_id, phase, to_status, result, attempts, first_at, last_at)
     VALUES ('SESSION', $1, 'schedule-sessions', 'SCHEDULED', 'SUCCESS', 3, now(), now()),
       ('SESSION', $2, 'promote-to-terminated', 'TERMINATED', 'SUCCESS', 1, now(), now())`,
    [id, well.id],
  )
  const { stdout } = await reprise('stats', '--with-name', 'counted')
  expect(stdout).toContain('2: 1 succeeded, 1 failed, 0 cancelled')
  expect(stdout).toMatch(/^OOM_KILLED +1 +0 +0$/m)
  expect((await reprise('stats', '--with-name', 'counted', '--since', '2h', '--bucket', '1h')).stdout).toMatch(
    / 2 +1 +1 +0 +0$/m,
  )
  expect((await reprise('history', 'counted')).status).toBe(0)
  expect((await reprise('history', well.id)).stdout).toMatch(/ 1 +promote-to-terminated +SUCCESS +SUCCEEDED$/m)
  expect((await reprise('history', id)).stdout).toMatch(/ 3 +schedule-sessions +SUCCESS +SCHEDULED$/m)
})

test('graphql sends a document with variables, and shows its errors', async () => {
  const quota =
    'query ($name: String!, $scope: QuotaScope = PROJECT) { quota(scope: $scope, name: $name) { name scope } }'
  const asked = await reprise('graphql', quota, '--variable', 'name=default')
  expect({ ...asked, stdout: JSON.parse(asked.stdout) as unknown }).toMatchObject({
    status: 0,
    stdout: { quota: { name: 'default', scope: 'PROJECT' } },
  })
  expect(await startCommand(['graphql', '-'], environment, '{ viewer { role } }').ended).toMatchObject({
    status: 0,
    stdout: '{\n  "viewer": {\n    "role": "ADMIN"\n  }\n}\n',
  })
  expect(await reprise('graphql', '{ nope }')).toMatchObject({ status: 1, stderr: expect.stringContaining('"nope"') })
  expect(await reprise('graphql', '{ now }', '--variables', '7')).toMatchObject({ status: 2 })
})

test('agents are listed, drained and resumed by name', async () => {
  await server.factory.agent('node-7')
  expect((await reprise('agents', 'drain', 'node-7', '--reason', 'new disk')).stdout).toContain('DRAINING')
  expect((await reprise('agents', '--status', 'draining')).stdout).toContain('node-7')
  expect((await reprise('agents', 'resume', 'node-7')).stdout).toContain('ALIVE')
  expect(await reprise('agents', 'drain', 'node-8')).toMatchObject({ status: 3 })
  expect(await reprise('agents', 'remove', 'node-7')).toMatchObject({ status: 5 })
  await reprise('agents', 'drain', 'node-7')
  expect(await reprise('agents', 'remove', 'node-7')).toMatchObject({ status: 0 })
  expect((await reprise('agents')).stdout).toMatch(/ node-7 +TERMINATED /)
})

test('tokens are created, used, kept by login and revoked', async () => {
  const made = await reprise('tokens', 'create', 'ci', '--role', 'viewer', '--project', 'default', '--expires', '1d')
  const secret = made.stdout.trim()
  expect(secret).toMatch(/^rpr_/)
  expect(made.stderr).not.toContain(secret)
  const viewer = commandLine({ ...environment, REPRISE_URL: undefined, REPRISE_TOKEN: undefined })
  const login = startCommand(
    ['login', '--name', 'lab', '--url', server.url],
    { ...environment, REPRISE_TOKEN: undefined },
    `${secret}\n`,
  )
  expect(await login.ended).toMatchObject({ status: 0, stderr: 'ci: VIEWER of default\n' })
  const path = join(directory, 'reprise/config.json')
  expect((await stat(path)).mode & 0o777).toBe(0o600)
  expect((await viewer('profiles')).stdout).toMatch(/\* +lab +http:.*rpr_/)
  expect(await viewer('list')).toMatchObject({ status: 0 })
  expect(await viewer('create', '--', 'true')).toMatchObject({
    status: 4,
    stderr: expect.stringContaining('a profile'),
  })
  const bad = await viewer('login', '--name', 'bad', '--url', server.url, '--token', 'rpr_wrong')
  expect(bad.status).toBe(4)
  expect(await readFile(path, 'utf8')).not.toContain('rpr_wrong')

  const [token] = JSON.parse((await reprise('tokens', '--json')).stdout) as { tokenId: string; name: string }[]
  expect(token!.name).toBe('ci')
  expect(await reprise('tokens', 'revoke', token!.tokenId)).toMatchObject({ status: 0 })
  await vi.waitFor(async () => expect((await viewer('list')).status).toBe(4), { timeout: 120_000 })
  expect(await viewer('profiles', 'remove', 'lab')).toMatchObject({ status: 0 })
})

test('what follows -- is the program, and schedules show their next times', async () => {
  const sessionOf = async (name: string) => JSON.parse((await reprise('schedules', 'info', name, '--json')).stdout)
  const made = await reprise('schedules', 'create', '--cron', '0 3 1 * *', '--', 'rsync', '-a', 'here', 'there')
  expect(made).toMatchObject({ status: 0, stdout: expect.stringMatching(/^[0-9a-f-]{36}\n$/) })
  expect(made.stderr.match(/^ {2}\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/gm)).toHaveLength(5)
  expect(await sessionOf('rsync')).toMatchObject({
    session: { name: 'rsync', command: ['rsync', '-a', 'here', 'there'] },
  })

  const named = ['schedules', 'create', 'hourly', '--every', '1h30m', '--creation-id', 'hourly-1', '--', 'rsync', '-a']
  const [first, again] = [await reprise(...named), await reprise(...named)]
  expect([first.status, again.status, again.stdout]).toEqual([0, 0, first.stdout])
  expect(await sessionOf('hourly')).toMatchObject({
    every: 5_400,
    session: { name: 'hourly', command: ['rsync', '-a'] },
  })
  await reprise('schedules', 'update', 'hourly', '--', 'tar', '-c')
  expect(await sessionOf('hourly')).toMatchObject({ session: { name: 'hourly', command: ['tar', '-c'] } })

  for (const [words, message] of [
    ['schedules create nightly --every 1h', 'Give the command after --'],
    ['schedules update --every 1h -- tar -c', 'Give the name of the schedule before --'],
    ['deployments create -- tar -c', 'Give the name of the deployment before --'],
    ['deployments update -- tar -c', 'Give the name of the deployment before --'],
    ['exec -- tar -c', 'Give the session before --'],
  ] as const) {
    const { status, stderr } = await reprise(...words.split(' '))
    expect([words, status, stderr]).toEqual([words, 2, expect.stringContaining(message)])
  }
})

test('the limit of an array is a concurrency key that its sessions share', async () => {
  const array = ['create', '--array', '1,3-7:2%2', '-n', 'part-{i}', '--creation-id', 'parts', '--', 'true', '{i}']
  const [first, again] = [await reprise(...array), await reprise(...array)]
  expect(first.stderr).toBe('4 sessions created\n')
  const [head, ...known] = again.stderr.trim().split('\n')
  expect(head).toBe('0 sessions created, 4 already existed')
  expect(known.map((line) => line.replace(/ [-0-9a-f]{36}/, ''))).toEqual(
    [1, 3, 5, 7].map((n) => `--array[${n}] part-${n}: already existed, not yet ended`),
  )
  const { rows } = await server.db.query(
    `SELECT name, command[2] AS given, concurrency_key AS key, concurrency_limit AS most FROM sessions
     WHERE name LIKE 'part-%' ORDER BY id`,
  )
  expect(rows).toEqual([1, 3, 5, 7].map((i) => ({ name: `part-${i}`, given: `${i}`, key: 'parts-1', most: 2 })))
  const twice = await reprise(
    'create',
    '--array',
    '1-2%1',
    '--concurrency-key',
    'k',
    '--concurrency-limit',
    '3',
    '--',
    'a',
  )
  expect([twice.status, twice.stderr]).toEqual([2, expect.stringContaining('not both')])
  const { status, stderr } = await reprise('create', '--starts-at', '2027-02-30', '--', 'true')
  expect([status, stderr]).toEqual([2, expect.stringContaining('no such day')])
})

test('a member of one project needs no --project', async () => {
  await reprise('projects', 'create', 'lab')
  const { stdout } = await reprise('tokens', 'create', 'ada', '--role', 'member', '-p', 'lab')
  const member = commandLine({ ...environment, REPRISE_TOKEN: stdout.trim() })
  await writeFile(join(directory, 'work.sh'), 'true\n')
  const uploaded = ['--upload', join(directory, 'work.sh'), '--', 'sh', 'work.sh']
  expect((await member('create', '-n', 'in-lab', ...uploaded)).status).toBe(0)
  expect((await member('create', '-n', 'in-lab', '--array', '1-2', '--', 'true')).status).toBe(0)
  expect((await member('schedules', 'create', 'in-lab', '--every', '1h', ...uploaded)).status).toBe(0)
  expect((await member('deployments', 'create', 'in-lab', '--', 'true')).status).toBe(0)
  const { rows } = await server.db.query(
    `SELECT count(*) AS things FROM (SELECT project_id, name FROM sessions UNION ALL SELECT project_id, name FROM schedules
       UNION ALL SELECT project_id, name FROM deployments) AS things JOIN projects p ON p.id = project_id
     WHERE things.name = 'in-lab' AND p.name = 'lab'`,
  )
  expect(rows).toEqual([{ things: 5 }])
  const wrong = await member('create', '-p', 'default', '--', 'true')
  expect([wrong.status, wrong.stderr]).toEqual([3, expect.stringContaining('no project default; yours is lab')])
})

test('users, members and tokens come from a file, once', async () => {
  const path = join(directory, 'team.yaml')
  await reprise('projects', 'create', 'atlas')
  await writeFile(
    path,
    `- user: nina
  projects: {atlas: member}
  tokens: [{name: nina-laptop}, {name: nina-ci, role: viewer, expires: 90d}]
- user: omar
  projects: {atlas: viewer, nowhere: member}
`,
  )
  const first = await reprise('users', 'import', path)
  expect(first.stdout).toMatch(/^nina\tnina-laptop\trpr_\S{43}\nnina\tnina-ci\trpr_\S{43}\n$/)
  expect(first.stderr).toContain('nina: created, MEMBER of atlas\n')
  expect([first.status, first.stderr]).toEqual([3, expect.stringContaining(`${path}:2 omar: no project nowhere`)])
  const again = await reprise('users', 'import', path)
  expect([again.stdout, again.stderr]).toEqual([
    '',
    expect.stringContaining('nina: already existed, MEMBER of atlas\nnina: has a token nina-laptop of atlas already\n'),
  ])
  expect((await reprise('users')).stdout).toMatch(/^nina +atlas \(MEMBER\) /m)

  const nina = commandLine({ ...environment, REPRISE_TOKEN: first.stdout.split(/[\t\n]/)[2]! })
  await nina('create', '-n', 'of-nina', '--', 'true')
  await reprise('create', '-n', 'of-nobody', '-p', 'atlas', '--', 'true')
  const names = async (...args: string[]) =>
    JSON.parse((await nina(...args, '--json')).stdout).map(({ name }: { name: string }) => name)
  expect(await names('list')).toEqual(['of-nobody', 'of-nina'])
  expect(await names('list', '--mine')).toEqual(['of-nina'])
  expect(await names('chains', '--mine')).toEqual(['of-nina'])
  expect((await nina('list')).stdout).toMatch(/^\S+ +of-nina .* nina$/m)
  const mine = await reprise('list', '--mine')
  expect([mine.status, mine.stderr]).toEqual([2, expect.stringContaining('has no user')])
  const foreign = await nina('cancel', 'of-nobody')
  expect([foreign.status, foreign.stderr]).toEqual([4, expect.stringContaining('--members-end all')])
  const update = async (...args: string[]) => reprise('projects', 'update', 'atlas', ...args)
  const allMembers = await update('--members-end', 'all')
  expect(allMembers.stdout).toBe('atlas: members end all work; outputs are kept as long as the server says\n')
  expect((await update('--output-keep-days', '90')).stdout).toMatch(/kept for 90 days\n$/)
  expect((await update()).status).toBe(2)
  expect((await update('--output-keep-days', 'none')).stdout).toMatch(/server says\n$/)
  expect((await nina('cancel', 'of-nobody')).status).toBe(0)

  for (const [text, message] of [
    ['- user: x\n  project: atlas\n', 'there is no field project, but user, projects and tokens'],
    ['- user: x\n  projects: {atlas: boss}\n', 'Allowed values are'],
    ['- user: x\n  tokens: [{name: t}]\n', 'the token t needs a project'],
  ] as const) {
    await writeFile(path, text)
    const { status, stderr } = await reprise('users', 'import', path)
    expect([status, stderr]).toEqual([2, expect.stringContaining(message)])
  }
})

test('users are deleted, and tokens say whose they are', async () => {
  await reprise('users', 'create', 'pia')
  await reprise('projects', 'grant', 'default', 'pia', 'member')
  const made = await reprise('tokens', 'create', 'desk', '--role', 'member', '-p', 'default', '--user', 'pia')
  expect(made.stderr).toMatch(/, MEMBER of default for pia; shown once:\n$/)
  const agent = await reprise('tokens', 'create', 'node', '--role', 'agent', '--resource-group', 'default')
  expect(agent.stderr).toMatch(/, AGENT of the resource group default; shown once:\n$/)
  const lines = (await reprise('tokens')).stdout
  expect(lines).toMatch(/ desk +MEMBER +default +pia /)
  expect(lines).toMatch(/ node +AGENT +group default +– /)
  expect(await reprise('users', 'delete', 'pia')).toMatchObject({ status: 0, stdout: 'pia: deleted\n' })
  expect((await reprise('users')).stdout).not.toContain('pia')
  expect((await reprise('tokens', 'list', '--all')).stdout).toMatch(/ desk .* revoked$/m)
  expect(await reprise('users', 'delete', 'pia')).toMatchObject({ status: 3 })
})

test('webhooks are created, tested, rotated, disabled and replayed', async () => {
  const url = 'https://hooks.example.com/reprise'
  const made = JSON.parse((await reprise('webhooks', 'create', url, '--event', 'session.retry_*', '--json')).stdout)
  const { webhookId } = made.webhook
  expect(made).toMatchObject({
    secret: expect.stringMatching(/^whsec_/),
    webhook: { url, eventTypes: ['session.retry_*'] },
  })
  expect(await reprise('webhooks', 'test', webhookId)).toMatchObject({ status: 0 })
  const [delivery] = JSON.parse((await reprise('webhooks', 'deliveries', webhookId, '--json')).stdout)
  expect(delivery).toMatchObject({ eventType: 'webhook.test', status: 'PENDING' })
  expect((await reprise('webhooks', 'rotate', webhookId)).stdout).toMatch(/^whsec_/)
  expect(await reprise('webhooks', 'replay', webhookId, '--since', '1h')).toMatchObject({
    stdout: '0 deliveries are sent again\n',
  })
  expect(await reprise('webhooks', 'disable', webhookId)).toMatchObject({ status: 0 })
  expect((await reprise('webhooks')).stdout).toMatch(/ off /)
  expect(await reprise('webhooks', 'test', webhookId)).toMatchObject({ status: 5 })
  expect(await reprise('webhooks', 'delete', webhookId)).toMatchObject({ status: 0 })
  expect(await reprise('webhooks', 'delete', webhookId)).toMatchObject({ status: 3 })
})

test('policy preview shows delays, a plot, and the delays of Airflow', async () => {
  const growing = ['--retries', '3', '--retry-delay', '30s', '--backoff', 'exponential', '--jitter', 'none']
  const { stdout } = await reprise('policy', 'preview', ...growing)
  const rows = stdout.trim().split('\n').slice(-3)
  expect(rows.map((row) => row.replaceAll(/ +/g, ' ').trim().replace(/ █+$/, ''))).toEqual([
    '1 30 s 30 s',
    '2 1 m 1 m 30 s',
    '3 2 m 3 m 30 s',
  ])
  const [first, second, third] = rows.map((row) => row.match(/█/g)!.length)
  expect([second! / first!, third! / second!]).toEqual([2, 2])

  const unbounded = await reprise('policy', 'preview', ...growing, '--max-retry-delay', 'none', '--max-elapsed', '40')
  expect(unbounded).toMatchObject({ status: 0, stdout: expect.stringMatching(/ 30 s +30 s +█+\n$/) })

  const settings = '{"owner": "ada", "retries": 2, "retry_delay": "0:05:00", "retry_exponential_backoff": true}'
  const airflow = startCommand(['policy', 'preview', '--from-airflow', '-', '--json'], environment, settings)
  expect(JSON.parse((await airflow.ended).stdout)).toMatchObject({
    policy: { maxRetries: 2, retryDelay: 300, backoff: 'EXPONENTIAL' },
    schedule: [{ earliestSeconds: 300 }, { earliestSeconds: 600 }],
    airflowDelays: [{ retry: 1 }, { retry: 2 }],
  })
  expect(await reprise('policy', 'preview', '--from-airflow', '{"owner": "ada"}')).toMatchObject({ status: 2 })
})

describe('doctor', () => {
  const findings = async (more: Record<string, string | undefined>) => {
    const { status, stdout } = await commandLine({ ...environment, ...more })('doctor', '--json')
    const found = JSON.parse(stdout) as { findings: { what: string; state: string; found: string; advice?: string }[] }
    return { status, of: (what: string) => found.findings.find((finding) => finding.what.startsWith(what)) }
  }

  test('finds no fault', async () => {
    await server.factory.agent('healthy')
    const { status, of } = await findings({})
    expect(status).toBe(0)
    const states = ['Node', 'server', 'clock', 'token', 'schema', 'agents'].map((what) => of(what)?.state)
    expect(states).toEqual(['ok', 'ok', 'ok', 'ok', 'ok', 'ok'])
    expect(of('token')?.found).toContain('ADMIN of the whole cluster')
  })

  test('finds faults, and says what to do', async () => {
    const dataDir = join(directory, 'open')
    await mkdir(dataDir)
    await writeFile(join(dataDir, 'admin-token'), 'rpr_old')
    await chmod(join(dataDir, 'admin-token'), 0o644)
    const { status, of } = await findings({ REPRISE_TOKEN: undefined, REPRISE_DATA_DIR: dataDir })
    expect(status).toBe(1)
    expect(of('data directory')).toMatchObject({ state: 'fault', advice: expect.stringContaining('chmod 600') })
    expect(of('token')).toMatchObject({ state: 'fault', found: expect.stringContaining('rpr_old') })
    const away = await findings({ REPRISE_URL: 'http://127.0.0.1:2' })
    expect(away.status).toBe(1)
    expect(away.of('server')).toMatchObject({ state: 'fault', found: expect.stringContaining('ECONNREFUSED') })
  })
})
