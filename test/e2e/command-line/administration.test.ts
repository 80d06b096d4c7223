import { execFile } from 'node:child_process'
import { chmod, mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { bundleUi } from '../../../scripts/bundle-ui.ts'
import { readUiFiles } from '../../../src/http/ui-files.ts'
import { ROOT } from '../../guard/source-files.ts'
import type { SessionEventType } from '../../../src/domain/events.ts'
import { writeEvents } from '../../support/database/outbox.ts'
import { commandLine, MAIN, startCommand } from '../../support/programs/command-line.ts'
import { logInBrowser } from '../../support/servers/browser-login.ts'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'
import { CTRL_C, PSEUDO_TERMINAL, startInTerminal } from '../../support/programs/pseudo-terminal.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'

/** What needs no agent: on a server behind which nothing drives sessions, so that all stays as a test has put it. */

const UNKNOWN = '00000000-0000-7000-8000-00000000dead'
/** More than are done when the call is answered. */
const MANY = 600

let server: TestServer
let directory: string
let environment: Record<string, string>
let reprise: ReturnType<typeof commandLine>

beforeAll(async () => {
  server = await startGraphQLServer()
  directory = await temporaryDirectory('administration')
  const config = { XDG_CONFIG_HOME: directory, REPRISE_DATA_DIR: join(directory, 'none') }
  environment = { ...config, REPRISE_URL: server.url, REPRISE_TOKEN: server.adminToken }
  reprise = commandLine(environment)
})
afterAll(() => server?.close())

describe('the web UI', () => {
  test('is opened by an address that logs in once, with the rights of the token', async () => {
    await using served = await startGraphQLServerWithUi()
    const ui = commandLine({ ...environment, REPRISE_URL: served.url, REPRISE_TOKEN: served.adminToken })
    const { status, stdout } = await ui('ui', '--no-open', '--json')
    expect(status).toBe(0)
    const { url, opened } = JSON.parse(stdout) as { url: string; opened: boolean }
    expect(opened).toBe(false)
    const [address, code] = url.split('#code=')
    expect(address).toBe(`${served.url}/login`)
    const { headers } = await logInBrowser(served.url, `Code ${code}`)
    await expect(logInBrowser(served.url, `Code ${code}`)).rejects.toThrow('401')
    const seen = await fetch(`${served.url}/v2/sessions`, { headers })
    expect(seen.status).toBe(200)
    const stranger = commandLine({ ...environment, REPRISE_URL: served.url, REPRISE_TOKEN: 'rpr_nothing' })
    expect(await stranger('ui', '--no-open')).toMatchObject({ status: 4, stdout: '' })
  })

  test('is not there on a server that serves none', async () => {
    const { status, stderr } = await reprise('ui', '--no-open')
    expect({ status, stderr }).toEqual({ status: 2, stderr: expect.stringContaining('serves no web UI') })
  })
})

async function startGraphQLServerWithUi() {
  const started = await startGraphQLServer({ ui: await readUiFiles(await bundleUi(ROOT)) })
  return { ...started, [Symbol.asyncDispose]: () => started.close() }
}

describe('exit statuses and what to do', () => {
  const ask = (more: Record<string, string | undefined>) => commandLine({ ...environment, ...more })

  test('2: the command is wrong', async () => {
    const wrong = await reprise('list', '--status', 'finished')
    expect(wrong).toMatchObject({ status: 2, stdout: '', stderr: expect.stringContaining('terminated, error') })
    expect(await reprise('lits')).toMatchObject({ status: 2, stderr: expect.stringContaining('list') })
    expect(await reprise('agents', 'drian', 'node-7')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining(
        "unknown command 'drian' of reprise agents, which has list, drain, resume, remove",
      ),
    })
  })

  test('2: the server finds the input wrong, and tells all that is', async () => {
    const { status, stderr } = await reprise('create', '--retries', '101', '--retry-delay', '0', '--', 'true')
    expect({ status, lines: stderr.match(/^ {2}retryPolicy\.\w+/gm) }).toEqual({
      status: 2,
      lines: ['  retryPolicy.maxRetries', '  retryPolicy.retryDelay'],
    })
  })

  test('3: there is no such thing; as JSON, too', async () => {
    expect(await reprise('info', UNKNOWN)).toMatchObject({ status: 3, stderr: expect.stringContaining(UNKNOWN) })
    const { status, stdout, stderr } = await reprise('info', 'nobody', '--json')
    expect({ status, stdout, error: JSON.parse(stderr) }).toMatchObject({
      status: 3,
      stdout: '',
      error: { error: { code: 'SESSION_NOT_FOUND', message: expect.stringContaining('nobody') } },
    })
  })

  test('4: which token was used, and where it came from', async () => {
    const bad = await ask({ REPRISE_TOKEN: 'rpr_nothing' })('list')
    expect(bad.status).toBe(4)
    expect(bad.stderr).toContain('rpr_noth… from REPRISE_TOKEN')
    expect(bad.stderr).not.toContain('rpr_nothing')
    const none = await ask({ REPRISE_TOKEN: undefined })('list')
    expect(none).toMatchObject({ status: 4, stderr: expect.stringContaining('No token was found') })
  })

  test('69: nobody answers', async () => {
    const { status, stderr } = await ask({ REPRISE_URL: 'http://127.0.0.1:2' })('list')
    expect(status).toBe(69)
    expect(stderr).toContain('Is the server running at http://127.0.0.1:2?')
    expect(stderr).toContain('comes from the environment')
  })
})

test('130: Ctrl-C ends what waits for a server', async () => {
  const waiting = { ...environment, REPRISE_URL: 'http://127.0.0.1:2', REPRISE_NETWORK_RETRY_SECONDS: '600' }
  for (const args of [
    ['info', UNKNOWN],
    ['run', '--', 'true'],
  ]) {
    const { child, output, ended } = startCommand(args, waiting)
    await vi.waitFor(() => expect(output.stderr).toContain('trying again'), { timeout: 120_000 })
    child.kill('SIGINT')
    expect(await ended).toMatchObject({ status: 130, stdout: '' })
  }
})

test('a reader that goes away early is no fault', async () => {
  // More than a pipe holds.
  await Promise.all(Array.from({ length: 150 }, () => server.factory.session({ name: 'piped' })))
  const script = '"$0" "$1" list --limit 0 --json | head -c 1; echo " ${PIPESTATUS[0]}"'
  const env = { PATH: process.env['PATH'], ...environment }
  const { stdout } = await promisify(execFile)('bash', ['-c', script, process.execPath, MAIN], { env })
  expect(stdout).toBe('[ 0\n')
})

test('lists what was asked for', async () => {
  await server.factory.session({ name: 'wanted', status: 'ERROR', failureCause: 'OOM_KILLED' })
  await server.factory.session({ name: 'other', status: 'ERROR', failureCause: 'KERNEL_NONZERO_EXIT' })
  const names = async (...args: string[]) => {
    const { stdout } = await reprise('list', '--json', ...args)
    return (JSON.parse(stdout) as { name: string }[]).map(({ name }) => name)
  }
  expect(await names('--cause', 'oom-killed')).toEqual(['wanted'])
  expect(await names('--exit-code', '3,4', '--reason', 'exit code 3', '--with-name', 'wanted')).toEqual(['wanted'])
  expect(await names('--exit-code', '4')).toEqual([])
  expect(await names('--with-reason', 'disk')).toEqual([])
  expect(await names('--with-name', 'oth*', '--status', 'error,running')).toEqual(['other'])
  expect(await names('--with-name', 'wanted', '--before', '2020-01-01')).toEqual([])
  const limited = await reprise('list', '--limit', '3')
  expect(limited.stdout.trim().split('\n')).toHaveLength(4)
  expect(limited.stderr).toContain('--limit')
})

test('what depends on others names them by name or by the beginning of an id', async () => {
  const [first, second] = [
    await server.factory.session({ name: 'first' }),
    await server.factory.session({ name: 'second' }),
  ]
  const options = ['--depends-on', 'first', '--depends-on', second.id.slice(0, 30)]
  const { stdout } = await reprise('create', ...options, '--json', '--', 'true')
  const { sessionId } = (JSON.parse(stdout) as { session: { sessionId: string } }).session
  const { data } = await server.query(
    'query ($id: UUID!) { session(id: $id) { dependsOn { sessionId } } }',
    { id: sessionId },
    server.adminToken,
  )
  expect(data.session.dependsOn).toEqual([{ sessionId: first.id }, { sessionId: second.id }])
  expect(await reprise('create', '--depends-on', 'nobody', '--', 'true')).toMatchObject({ status: 3 })
})

describe('many sessions of a file', () => {
  interface Made {
    name: string
    command: string[]
    labels: { key: string; value: string }[]
    maxRetries: number
    dependsOn: { name: string }[]
  }
  const created = async (label: string) => {
    const { data } = await server.query(
      `query ($label: String!) { sessions(first: 100, orderBy: { field: CREATED_AT }, filter: { label: { key: "of", value: $label } }) {
        edges { node { name command labels { key value } maxRetries dependsOn { name } } } } }`,
      { label },
      server.adminToken,
    )
    return data.sessions.edges.map(({ node }: { node: Made }) => node) as Made[]
  }
  const write = async (name: string, text: string) => {
    const path = join(directory, name)
    await writeFile(path, text)
    return path
  }

  test('arrays, dependencies by name and what the options say; the same again is nothing new', async () => {
    const path = await write(
      'jobs.yaml',
      `- name: prepare
  command: echo prepare {i}
- name: step-{i}
  array: 2..4
  command: [work, '--seed={i}']
  labels: { n: '{i}', of: yaml }
  dependsOn: [prepare]
  retryPolicy: { maxRetries: 7 }
`,
    )
    const args = ['create', '--file', path, '--label', 'of=yaml', '--retries', '1', '--creation-id', 'study']
    const first = await reprise(...args)
    expect(first).toMatchObject({ status: 0, stderr: '4 sessions created\n' })
    const made = await created('yaml')
    expect(made.map(({ name }) => name)).toEqual(['prepare', 'step-2', 'step-3', 'step-4'])
    expect(made[0]).toMatchObject({ command: ['sh', '-c', 'echo prepare {i}'], maxRetries: 1, dependsOn: [] })
    expect(made[2]).toMatchObject({
      command: ['work', '--seed=3'],
      labels: expect.arrayContaining([{ key: 'n', value: '3' }]),
      maxRetries: 7,
      dependsOn: [{ name: 'prepare' }],
    })
    const again = await reprise(...args)
    expect(again).toMatchObject({
      status: 0,
      stdout: first.stdout,
      stderr: '0 sessions created, 4 already existed\n',
    })
    expect(await created('yaml')).toHaveLength(4)
  })

  test('what is refused is told with its place, and the others are created', async () => {
    const path = await write(
      'jobs.jsonl',
      '{"name": "fine", "command": ["true"]}\n\n{"name": "bad", "command": ["true"], "priority": 1000}\n{"command": ["/bin/fine"]}\n',
    )
    const { status, stdout, stderr } = await reprise('create', '--file', path, '--label', 'of=jsonl', '--json')
    expect(status).toBe(2)
    expect(stderr).toMatch(/jobs\.jsonl:3 bad: .*priority.*\n2 sessions created, 1 refused\n/)
    expect(
      stdout
        .trim()
        .split('\n')
        .map((line) => (JSON.parse(line) as Made).name),
    ).toEqual(['fine', 'fine'])
  })

  test('a thousand of the command line, in their order, and more than one call takes', async () => {
    const args = ['--array', '1..1000', '--name', 'member-{i}', '--label', 'of=array']
    const { status, stdout, stderr } = await reprise('create', ...args, '--', 'work', '{i}')
    expect({ status, stderr, lines: stdout.split('\n').length }).toEqual({
      status: 0,
      stderr: '1000 sessions created\n',
      lines: 1001,
    })
    expect((await created('array'))[99]).toMatchObject({ name: 'member-100', command: ['work', '100'] })
  })

  test.each([
    ['nowhere.yaml', undefined, 'no such file'],
    ['empty.yaml', '', 'it has no jobs'],
    ['field.yaml', '- comand: [true]', 'there is no field comand, but name, command'],
    ['array.yaml', '- {array: 3.., command: [true]}', 'not an array'],
    ['line.jsonl', '{"command": ["a"]}\n{"command"', 'line 2:'],
    ['none.jsonl', '{"name": "idle"}', 'none.jsonl:1: it has no command'],
  ])('%s is wrong, and nothing is created', async (name, text, message) => {
    const path = text === undefined ? name : await write(name, text)
    const { status, stdout, stderr } = await reprise('create', '--file', path)
    expect({ status, stdout, stderr }).toEqual({ status: 2, stdout: '', stderr: expect.stringContaining(message) })
  })
})

test('chains: by what was asked for, in the order that was, and counted', async () => {
  const project = 'chains-of-the-command-line'
  const projectId = await server.factory.project(project)
  const createdAt = new Date(Date.now() - 60_000)
  await server.factory.session({ projectId, name: 'due-later', status: 'ERROR', phase: 'SCHEDULED' })
  await server.factory.session({ projectId, name: 'due', status: 'ERROR', phase: 'HELD', createdAt })
  await server.factory.session({ projectId, name: 'over', status: 'TERMINATED' })
  const names = async (...options: string[]) => {
    const { stdout } = await reprise('chains', '--in-project', project, '--json', ...options)
    return (JSON.parse(stdout) as { name: string }[]).map(({ name }) => name)
  }
  expect(await names('--order-by', 'name')).toEqual(['due', 'due-later', 'over'])
  expect(await names('--order-by', 'due-at', '--descending')).toEqual(['due-later', 'due'])
  expect(await names('--due-before', '30s')).toEqual(['due'])
  expect(await names('--hold-reason', 'quota', '--exit-code', '3,4')).toEqual(['due'])
  expect(await names('--exit-code', '0', '--in-group', 'default')).toEqual(['over'])
  expect(await names('--of-user', 'nobody')).toEqual([])
  expect(await names('--on-agent', UNKNOWN)).toEqual([])
  const { stdout } = await reprise('chains', '--in-project', project, '--state', 'live', '--counts')
  expect(stdout).toMatch(/WAITING_RETRY +1\n.*HELD +1\n.*SUCCEEDED +1\n/)
})

test('events: what has happened, and then what happens, without a gap', async () => {
  const [mine, other] = [
    await server.factory.session({ name: 'told' }),
    await server.factory.session({ name: 'untold' }),
  ]
  const tell = async (type: SessionEventType, { id: sessionId, chainId }: typeof mine) => {
    await writeEvents(server.db, [{ type, sessionId, chainId }])
    server.wake.wake('events')
  }
  await tell('session.created', mine)
  await tell('session.created', other)
  await tell('session.error', mine)
  const types = (stdout: string) =>
    stdout.split('\n').flatMap((line) => (line === '' ? [] : [(JSON.parse(line) as { type: string }).type]))
  await vi.waitFor(
    async () => {
      const { stdout } = await reprise('events', 'told', '--since', '1h', '--json')
      expect(types(stdout)).toEqual(['CREATED', 'ERROR'])
    },
    { timeout: 120_000 },
  )
  const limited = await reprise('events', 'told', '--limit', '1')
  expect(limited).toMatchObject({
    stdout: expect.stringMatching(/^[^\n]+ERROR\n$/),
    stderr: expect.stringContaining('--limit'),
  })
  expect(types((await reprise('events', 'told', '--type', 'created', '--json')).stdout)).toEqual(['CREATED'])
  expect((await reprise('events', '--since', '2100-01-01')).stdout).toBe('')

  const { child, output, ended } = startCommand(['events', 'told', '--json', '--follow'], environment)
  await vi.waitFor(() => expect(output.stderr).toContain('watching from'), { timeout: 120_000 })
  expect(types(output.stdout)).toEqual(['CREATED', 'ERROR'])
  await tell('chain.failed', mine)
  const all = ['CREATED', 'ERROR', 'CHAIN_FAILED']
  await vi.waitFor(() => expect(types(output.stdout)).toEqual(all), { timeout: 120_000 })
  child.kill('SIGINT')
  expect(await ended).toMatchObject({ status: 130 })
})

test('defaults, switch, quotas: set, shown, taken away', async () => {
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
  expect((await reprise('quotas')).stdout).toMatch(/PROJECT +default +\d+\/∞ +0\/7 +0 B\/∞ +cpu 0\/3/)
  expect(await reprise(...quota, '--max-running', 'none')).toMatchObject({ status: 0 })
  expect((await reprise('quotas')).stdout).toMatch(/ 0\/∞ +0 B\/∞ +cpu 0\/3/)
  expect((await reprise('projects')).stdout).toMatch(/default +default/)
})

test('users, projects and groups: made, granted, drained, taken away', async () => {
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

  expect(await reprise('groups', 'create', 'tpu')).toMatchObject({ status: 0 })
  expect(await reprise('groups', 'drain', 'tpu', '--reason', 'new driver')).toMatchObject({ status: 0 })
  expect((await reprise('groups')).stdout).toMatch(/^tpu +DRAINING +0 .* new driver$/m)
  expect(await reprise('groups', 'resume', 'tpu')).toMatchObject({ status: 0 })
  expect((await reprise('groups')).stdout).toMatch(/^tpu +OPEN /m)
  const timeouts = ['groups', 'timeouts', 'tpu'] as const
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
    /^pending +2 h\n.*\ncreate +no limit\nqueue +1 d\nterminate +2 m\nstop grace +30 s\nfence/m,
  )
  expect(await reprise(...timeouts)).toEqual(changed)
  expect(await reprise(...timeouts, '--terminate', '1s')).toMatchObject({ status: 2 })
  expect(await reprise('groups', 'timeouts', 'nowhere')).toMatchObject({ status: 3 })
  const options = ['groups', 'options', 'tpu'] as const
  expect((await reprise(...options)).stdout).toMatch(/^options +none\nsessions may set +none$/m)
  const set = await reprise(...options, '--option', 'qos=low', '--option', 'partition=a', '--allow', 'qos')
  expect(set.stdout).toMatch(/^options +qos=low, partition=a\nsessions may set +qos$/m)
  expect((await reprise(...options, '--option', 'none')).stdout).toMatch(/^options +none\nsessions may set +qos$/m)
  expect(await reprise(...options, '--allow', 'a b')).toMatchObject({ status: 2 })
  expect(await reprise('groups', 'delete', 'tpu')).toMatchObject({ status: 0 })
  expect((await reprise('groups')).stdout).not.toContain('tpu')
})

test('stats and history: what the server counted, and what it did', async () => {
  const counted = { name: 'counted', createdAt: new Date(Date.now() - 60_000) }
  const well = await server.factory.session({ ...counted, status: 'TERMINATED' })
  const { id } = await server.factory.session({ ...counted, status: 'ERROR', failureCause: 'OOM_KILLED' })
  await server.db.query(
    `INSERT INTO scheduling_history (entity, entity_id, phase, to_status, result, attempts, first_at, last_at)
     VALUES ('SESSION', $1, 'schedule-sessions', 'SCHEDULED', 'SUCCESS', 3, now(), now()),
       ('SESSION', $2, 'settle-sessions', 'TERMINATED', 'SUCCESS', 1, now(), now())`,
    [id, well.id],
  )
  const { stdout } = await reprise('stats', '--with-name', 'counted')
  expect(stdout).toContain('2: 1 succeeded, 1 failed, 0 cancelled')
  expect(stdout).toMatch(/^OOM_KILLED +1 +0 +0$/m)
  expect((await reprise('stats', '--with-name', 'counted', '--since', '2h', '--bucket', '1h')).stdout).toMatch(
    / 2 +1 +1 +0 +0$/m,
  )
  expect((await reprise('history', 'counted')).status).toBe(0)
  expect((await reprise('history', well.id)).stdout).toMatch(/ 1 +settle-sessions +SUCCESS +SUCCEEDED$/m)
  expect((await reprise('history', id)).stdout).toMatch(/ 3 +schedule-sessions +SUCCESS +SCHEDULED$/m)
})

test('graphql: a document, its variables, and what is wrong with it', async () => {
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

test('agents: listed, drained, resumed by name', async () => {
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

test('tokens: made, used, kept by login, revoked', async () => {
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

test('webhooks: made, tried out, rotated, switched off, replayed', async () => {
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

test('policy preview: delays, a plot, and what Airflow would do', async () => {
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

  test('finds all well', async () => {
    await server.factory.agent('healthy')
    const { status, of } = await findings({})
    expect(status).toBe(0)
    const states = ['Node', 'server', 'clock', 'token', 'schema', 'agents'].map((what) => of(what)?.state)
    expect(states).toEqual(['ok', 'ok', 'ok', 'ok', 'ok', 'ok'])
    expect(of('token')?.found).toContain('ADMIN of the whole cluster')
  })

  test('finds what is wrong, and says what to do', async () => {
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

describe.skipIf(!PSEUDO_TERMINAL)('in a terminal (needs `script` of util-linux)', () => {
  const ESCAPES = /\u001b\[[0-9;]*[A-Za-z]/g // oxlint-disable-line no-control-regex -- they are what it is about

  test.each([60, 100])('tables fit into %i columns, with as much of ids as finds them', async (columns) => {
    const { id } = await server.factory.session({ name: `${'long'.repeat(40)}-${columns}`, status: 'RUNNING' })
    const { text, status } = await startInTerminal(['list', '--with-name', 'longlong*', '--limit', '1'], {
      columns,
      environment,
    }).ended
    expect(status).toBe(0)
    const lines = text.replaceAll(ESCAPES, '').split('\r\n')
    expect(lines.map(({ length }) => length).filter((length) => length > columns)).toEqual([])
    const [shown] = lines[1]!.split(' ')
    expect(id.startsWith(shown!)).toBe(true)
    expect(shown!.length).toBeLessThan(id.length)
    expect((await reprise('info', shown!)).stdout).toContain(id)
    expect(lines[1]).toContain('…')
  })

  test('colours on a terminal, none with NO_COLOR, none in a pipe', async () => {
    await server.factory.session({ name: 'colourful', status: 'RUNNING' })
    const args = ['list', '--with-name', 'colourful']
    expect((await startInTerminal(args, { columns: 100, environment }).ended).text).toContain('\u001b[32mRUNNING')
    const plain = startInTerminal(args, { columns: 100, environment: { ...environment, NO_COLOR: '1' } })
    expect((await plain.ended).text).not.toContain('\u001b[')
    expect((await reprise(...args)).stdout).not.toContain('\u001b[')
  })

  test('the bar of a resubmission; Ctrl-C leaves undone what is not done yet', async () => {
    const failed = Array.from({ length: MANY }, () =>
      server.factory.session({ name: 'bulk', status: 'ERROR', failureCause: 'UNKNOWN' }),
    )
    await Promise.all(failed)
    const run = startInTerminal(['resubmit', '--with-name', 'bulk', '--result', 'failure'], {
      columns: 100,
      environment,
    })
    await vi.waitFor(() => expect(run.seen.text).toMatch(/░ +resubmitting \d+\/600 \d+ %/), { timeout: 120_000 })
    run.press(CTRL_C)
    const { status, text } = await run.ended
    expect(status).toBe(130)
    expect(text).toContain(' chains resubmitted, the rest aborted')
    expect((await reprise('resubmissions')).stdout).toMatch(/ABORTED/)
  })
})
