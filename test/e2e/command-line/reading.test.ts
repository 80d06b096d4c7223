import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
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
import { serveCommands } from './command-server.ts'

/** Reading and creating: exit statuses, lists, files of sessions, events, terminals. Nothing drives sessions. */

/** More sessions than are done when the call is answered. */
const MANY = 600

const UNKNOWN = '00000000-0000-7000-8000-00000000dead'

let server: TestServer
let directory: string
let environment: Record<string, string>
let reprise: ReturnType<typeof commandLine>

beforeAll(async () => {
  ;({ server, directory, environment, reprise } = await serveCommands('reading'))
})
afterAll(() => server?.close())

describe('the web UI', () => {
  test('opens by an address that logs in once, with the rights of the token', async () => {
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

  test('is missing on a server that serves none', async () => {
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
        "unknown command 'drian' of reprise agents, which has list, gpus, drain, resume, remove",
      ),
    })
  })

  test('2: the server lists all faults of the input', async () => {
    const { status, stderr } = await reprise('create', '--retries', '101', '--retry-delay', '0', '--', 'true')
    expect({ status, lines: stderr.match(/^ {2}retryPolicy\.\w+/gm) }).toEqual({
      status: 2,
      lines: ['  retryPolicy.maxRetries', '  retryPolicy.retryDelay'],
    })
  })

  test('3: the object does not exist; as JSON, too', async () => {
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

test('130: Ctrl-C ends a command that waits for a server', async () => {
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

test('a reader that closes the pipe early causes no error', async () => {
  // More than a pipe holds.
  await Promise.all(Array.from({ length: 150 }, () => server.factory.session({ name: 'piped' })))
  const script = '"$0" "$1" list --limit 0 --json | head -c 1; echo " ${PIPESTATUS[0]}"'
  const env = { PATH: process.env['PATH'], ...environment }
  const { stdout } = await promisify(execFile)('bash', ['-c', script, process.execPath, MAIN], { env })
  expect(stdout).toBe('[ 0\n')
})

test('lists the sessions of the filter', async () => {
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

test('dependencies are given by name or by the beginning of an id', async () => {
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
    sessionId: string
    name: string
    command: string[]
    labels: { key: string; value: string }[]
    maxRetries: number
    dependsOn: { name: string }[]
  }
  const created = async (label: string) => {
    const { data } = await server.query(
      `query ($label: String!) { sessions(first: 100, orderBy: { field: CREATED_AT }, filter: { label: { key: "of", value: $label } }) {
        edges { node { sessionId name command labels { key value } maxRetries dependsOn { name } } } } }`,
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

  test('creates arrays, dependencies by name and options; the same file again creates nothing', async () => {
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
    expect(again).toMatchObject({ status: 0, stdout: first.stdout })
    const [counts, ...lines] = again.stderr.trimEnd().split('\n')
    expect(counts).toBe('0 sessions created, 4 already existed')
    const places = [':1', ':2[2]', ':2[3]', ':2[4]']
    expect(lines).toEqual(
      made.map(
        ({ name, sessionId }, at) => `${path}${places[at]} ${name} ${sessionId}: already existed, not yet ended`,
      ),
    )
    expect(await created('yaml')).toHaveLength(4)
  })

  test('refused lines are listed with their place, and the others are created', async () => {
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

  test('creates a thousand in order, in more than one call', async () => {
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
    ['field.yaml', '- comand: [true]', 'there is no field comand, but name, sessionType'],
    ['array.yaml', '- {array: 3.., command: [true]}', 'not an array'],
    ['line.jsonl', '{"command": ["a"]}\n{"command"', 'line 2:'],
    ['none.jsonl', '{"name": "idle"}', 'none.jsonl:1: it has no command'],
  ])('%s is wrong, and nothing is created', async (name, text, message) => {
    const path = text === undefined ? name : await write(name, text)
    const { status, stdout, stderr } = await reprise('create', '--file', path)
    expect({ status, stdout, stderr }).toEqual({ status: 2, stdout: '', stderr: expect.stringContaining(message) })
  })
})

test('chains are filtered, ordered and counted', async () => {
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
  const { stdout } = await reprise('chains', '--in-project', project, '--state', 'queued', '--counts')
  expect(stdout).toMatch(/WAITING_RETRY +1\n.*HELD +1\n.*SUCCEEDED +1\n/)
})

test('events shows past events, and then new ones without a gap', async () => {
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

describe.skipIf(!PSEUDO_TERMINAL)('in a terminal (needs `script` of util-linux)', () => {
  const ESCAPES = /\u001b\[[0-9;]*[A-Za-z]/g // oxlint-disable-line no-control-regex -- they are what it is about

  test.each([60, 100])('tables fit into %i columns, with ids long enough to find them', async (columns) => {
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

  test('colours appear on a terminal, but not with NO_COLOR or in a pipe', async () => {
    await server.factory.session({ name: 'colourful', status: 'RUNNING' })
    const args = ['list', '--with-name', 'colourful']
    expect((await startInTerminal(args, { columns: 100, environment }).ended).text).toContain('\u001b[32mRUNNING')
    const plain = startInTerminal(args, { columns: 100, environment: { ...environment, NO_COLOR: '1' } })
    expect((await plain.ended).text).not.toContain('\u001b[')
    expect((await reprise(...args)).stdout).not.toContain('\u001b[')
  })

  test('a resubmission shows a bar, and Ctrl-C leaves the rest undone', async () => {
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
    expect((await reprise('bulk-actions')).stdout).toMatch(/ABORTED/)
  })
})

test('policy preview merges the defaults of the project', async () => {
  await reprise('projects', 'create', 'lenient')
  await reprise('defaults', 'set', 'project', 'lenient', '--retries', '1', '--jitter', 'none')
  const { stdout: merged } = await reprise('policy', 'preview', '--project', 'lenient', '--retry-delay', '5')
  expect(merged).toMatch(/^retried: 1 retry .*\ndefaults of the project: maxRetries, jitter\n\n[^]* 5 s/)
})
