import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { readAdminToken, startServer, type ServerProcess } from '../../../src/cli/demo/server-process.ts'
import { createClient, type Client } from '../../../src/client/node/index.ts'
import { fixedPort } from '../../support/agents/fixed-port.ts'
import { testDatabase, type TestDatabase } from '../../support/database/database.ts'
import { commandLine, startCommand } from '../../support/programs/command-line.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'

/** Commands that wait for work, and those that show what became of it, on a server with an agent that really runs it. */

let database: TestDatabase
let dataDir: string
let port: number
let server: ServerProcess
let client: Client
let environment: Record<string, string>
let reprise: ReturnType<typeof commandLine>

const WITHIN = { timeout: 120_000, interval: 100 }

beforeAll(async () => {
  const directory = await temporaryDirectory('following')
  dataDir = join(directory, 'data')
  port = await fixedPort()
  database = await testDatabase()
  await start()
  client = createClient({ url: server.url, token: await readAdminToken(dataDir) })
  environment = { REPRISE_URL: server.url, REPRISE_DATA_DIR: dataDir, XDG_CONFIG_HOME: directory }
  reprise = commandLine(environment)
})

afterAll(async () => {
  await client?.close()
  await server?.stop()
  await database?.close()
})

async function start(): Promise<void> {
  const env = { REPRISE_DATABASE_URL: database.connectionString, REPRISE_SLOTS: 'cpu=64,mem=64g' }
  server = await startServer({ dataDir, port, onLog: () => {}, env })
}

async function create(name: string, script: string, input: object = {}): Promise<string> {
  const { session } = await client.createSession({ name, command: ['sh', '-c', script], ...input })
  return session.sessionId
}

const labelled = (value: string) => ({ labels: [{ key: 'study', value }] })
/** Retries that come at once, and retries that a person has to bring forward. */
const RETRIES = { maxRetries: 1, retryDelay: 0.1, jitter: 'NONE' } as const
const LATE = { maxRetries: 1, retryDelay: 3_600 } as const

async function phaseOf(id: string): Promise<string> {
  return (await client.session(id)).retryState.phase
}

describe('wait', () => {
  test('the id of the first attempt waits for the whole chain, and the exit status is that of the last', async () => {
    const id = await create('twice', 'exit $((2 + $REPRISE_ATTEMPT))', { retryPolicy: RETRIES })
    const { status, stdout } = await reprise('wait', id)
    const last = (await client.chain(id)).at(-1)!
    expect({ status, attempt: last.attempt }).toEqual({ status: 4, attempt: 2 })
    const line = `twice ${last.sessionId}: FAILED after 2 attempts: exit code 4`
    expect(stdout).toMatch(new RegExp(`^${line}(; ran .*)?\n$`))
    expect(await reprise('wait', last.sessionId, '--timeout', '0')).toMatchObject({ status: 4, stdout })
  })

  test('several: prints each as it ends, and succeeds if all did', async () => {
    const good = await create('good', 'true', labelled('wait'))
    const bad = await create('bad', 'exit 9', { ...labelled('wait'), retryPolicy: LATE })
    await vi.waitFor(async () => expect(await phaseOf(bad)).toBe('SCHEDULED'), WITHIN)
    const wait = startCommand(['wait', '--label', 'study=wait', '--json'], environment)
    await vi.waitFor(() => expect(wait.output.stdout).toContain(good), WITHIN)
    await vi.waitFor(() => expect(wait.output.stderr).toBe('waiting for 1 of 2 chains\n'), WITHIN)
    await client.retryNow(bad)
    const { status, stdout } = await wait.ended
    const ended = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { chainId: string })
    expect(status).toBe(1)
    expect(ended).toMatchObject([
      { type: 'ended', chainId: good, state: 'SUCCEEDED', attempts: 1, exitCode: 0 },
      { type: 'ended', chainId: bad, state: 'FAILED', attempts: 2, exitCode: 9 },
    ])
    expect((await reprise('wait', 'good', good)).status).toBe(0)
    expect((await reprise('wait', bad, good)).status).toBe(1)
  })

  test('--any ends with the first, --timeout with 124, Ctrl-C with 130, and the work continues', async () => {
    const id = await create('lasting', 'sleep 1000')
    await create('brief', 'exit 9')
    expect((await reprise('wait', 'lasting', 'brief', '--any')).status).toBe(9)
    expect(await reprise('wait', 'lasting', '--timeout', '0')).toMatchObject({ status: 124, stdout: '' })
    expect(await reprise('wait', 'lasting', 'brief', '--timeout', '0.5')).toMatchObject({
      status: 124,
      stderr: expect.stringMatching(/not ended yet; the work continues\n$/),
    })
    // Longer than one timer can last.
    const wait = startCommand(['wait', 'lasting', '--timeout', '60d'], environment)
    await vi.waitFor(() => expect(wait.output.stderr).toBe('waiting\n'), WITHIN)
    wait.child.kill('SIGINT')
    expect(await wait.ended).toMatchObject({ status: 130, stderr: 'waiting\nnot ended yet; the work continues\n' })
    expect(['PENDING', 'RUNNING']).toContain(
      (await client.session(id)).status.replace(/^(PRE|CREA|SCHED).*/, 'PENDING'),
    )
    await client.terminateSession(id, { force: true })
    expect((await reprise('wait', 'lasting')).status).toBe(125)
  })

  test('sessions that are never retried end, too', async () => {
    const id = await create('visit', 'sleep 1000', { sessionType: 'INTERACTIVE' })
    const wait = startCommand(['wait', id], environment)
    await vi.waitFor(() => expect(wait.output.stderr).toBe('waiting\n'), WITHIN)
    await client.terminateSession(id, { force: true })
    expect((await wait.ended).status).toBe(125)
  })

  test('refuses what selects nothing', async () => {
    expect(await reprise('wait', '--label', 'study=none')).toMatchObject({ status: 3, stdout: '' })
    expect((await reprise('wait', '00000000-0000-7000-8000-000000000000')).status).toBe(3)
    expect((await reprise('wait')).status).toBe(2)
    expect((await reprise('wait', 'good', '--label', 'study=wait')).status).toBe(2)
  })

  test('a chain that is resubmitted at once has ended with its earlier outcome', async () => {
    const after = await client.eventCursor()
    const id = await create('again', 'test $REPRISE_ATTEMPT -gt 1 && sleep 1000; exit 6')
    for await (const _end of client.chainEnds([id]));
    await client.resubmitSessions({ select: { sessionIds: [id] } })
    const ends = []
    for await (const end of client.chainEnds([id], { after })) ends.push(end)
    expect(ends).toMatchObject([{ chainId: id, state: 'FAILED', attempts: 1, last: { sessionId: id, exitCode: 6 } }])
    await client.terminateSession(id, { force: true })
  })
})

describe('cancel --wait', () => {
  /** A number that no other process has in its arguments. */
  const MARK = `10${process.pid}`
  const STUBBORN = `trap '' TERM; echo ready; while :; do sleep ${MARK}; done`

  beforeAll(() => client.updateResourceGroup({ name: 'default', stopGrace: 600, terminateTimeout: 1_200 }))
  afterAll(() => client.updateResourceGroup({ name: 'default', stopGrace: 1 }))

  async function stubborn(name: string, input: object = {}): Promise<string> {
    const id = await create(name, STUBBORN, input)
    for await (const { text } of client.sessionLogs(id)) if (text.includes('ready')) break
    return id
  }

  async function marked(): Promise<string[]> {
    const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
    const lines = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')))
    return lines.filter((line) => line.includes(`sleep\0${MARK}`))
  }

  test('says when the stop is only requested, and waits until no process is left', async () => {
    const id = await stubborn('stubborn')
    expect(await reprise('cancel', id)).toMatchObject({
      status: 0,
      stdout: `stubborn ${id}: stop requested; it is TERMINATING\n`,
    })
    expect(await reprise('cancel', id, '--wait', '--timeout', '0')).toMatchObject({
      status: 124,
      stdout: '',
      stderr: expect.stringContaining('not stopped yet; the stop continues\n'),
    })
    expect(await marked()).not.toEqual([])
    const { status, stdout } = await reprise('cancel', id, '--wait', '--force')
    expect({ status, stdout }).toEqual({ status: 0, stdout: `stubborn ${id}: stopped; it is TERMINATED\n` })
    expect(await marked()).toEqual([])
    expect((await reprise('cancel', id, '--wait')).status).toBe(5)
  })

  test('many, by label or by ids of earlier attempts', async () => {
    await stubborn('first', labelled('stop'))
    const id = await create('second', `test $REPRISE_ATTEMPT -eq 1 && exit 1; ${STUBBORN}`, {
      ...labelled('stop'),
      retryPolicy: RETRIES,
    })
    const running = { attempt: 2, status: 'RUNNING' }
    await vi.waitFor(async () => expect((await client.chain(id)).at(-1)).toMatchObject(running), WITHIN)
    const asked = await reprise('cancel', '--label', 'study=stop', '--status', 'running')
    expect(asked).toMatchObject({ status: 0, stdout: expect.stringContaining('2 of 2 sessions: stop requested\n') })
    const waited = await reprise('cancel', 'first', id, '--wait', '--force')
    expect(waited).toMatchObject({ status: 0, stderr: '2 chains have stopped\n' })
    expect(await marked()).toEqual([])
  })

  test('refuses options that exclude each other', async () => {
    expect((await reprise('cancel', 'first', '--timeout', '1')).status).toBe(2)
    expect((await reprise('cancel', 'first', '--wait', '--detach')).status).toBe(2)
  })
})

test('wait goes on over a restart of the server', async () => {
  const id = await create('outage', 'exit $((2 + $REPRISE_ATTEMPT))', { retryPolicy: LATE })
  await vi.waitFor(async () => expect(await phaseOf(id)).toBe('SCHEDULED'), WITHIN)
  const wait = startCommand(['wait', id], environment)
  const logs = startCommand(['logs', '--follow', id], environment)
  await vi.waitFor(() => expect(wait.output.stderr).toBe('waiting\n'), WITHIN)
  await vi.waitFor(() => expect(logs.output.stderr).toContain('attempt 1 ended'), WITHIN)
  await server.kill()
  await start()
  await client.retryNow(id)
  expect((await wait.ended).status).toBe(4)
  expect((await logs.ended).status).toBe(4)
})

test('the id of an earlier attempt names the retry that its chain waits for', async () => {
  const id = await create('held-back', 'exit 1', { retryPolicy: { maxRetries: 2, retryDelay: 3_600 } })
  const newest = async () => (await client.chain(id)).at(-1)!
  await vi.waitFor(async () => expect((await newest()).retryState.phase).toBe('SCHEDULED'), WITHIN)
  expect(await reprise('retry', 'now', id)).toMatchObject({ status: 0 })
  await vi.waitFor(
    async () => expect(await newest()).toMatchObject({ attempt: 2, retryState: { phase: 'SCHEDULED' } }),
    WITHIN,
  )
  const { sessionId } = await newest()
  const updated = await reprise('retry', 'update', id, '--retries', '7')
  expect(updated).toMatchObject({ status: 0, stdout: expect.stringContaining(`held-back ${sessionId}: retry 2 of 7`) })
  expect(await reprise('retry', 'cancel', id)).toMatchObject({
    stdout: `held-back ${sessionId}: its retry is cancelled\n`,
  })
  expect(await reprise('wait', id)).toMatchObject({ status: 1, stdout: expect.stringContaining('CANCELLED after 2') })
})

describe('logs of several sessions', () => {
  const SCRIPT = 'echo "out $REPRISE_ATTEMPT"; echo "err $REPRISE_ATTEMPT" >&2; printf unfinished; '
  const lines = (name: string, attempt: number) => `${name} | out ${attempt}\n${name} | unfinished\n`
  let fine: string
  let flaky: string
  let broken: string

  beforeAll(async () => {
    fine = await create('fine', `${SCRIPT} true`, labelled('logs'))
    flaky = await create('flaky', `${SCRIPT} test $REPRISE_ATTEMPT -gt 1`, {
      ...labelled('logs'),
      retryPolicy: RETRIES,
    })
    broken = await create('broken', `${SCRIPT} exit 5`, labelled('logs'))
    for await (const _end of client.chainEnds([fine, flaky, broken]));
  }, 240_000)

  test('each line has the name of its session; failed ones come first on request', async () => {
    const all = await reprise('logs', '--label', 'study=logs')
    expect(all.stdout).toBe(lines('fine', 1) + lines('flaky', 2) + lines('broken', 1))
    const second = (await client.chain(flaky))[1]!.sessionId
    expect(all.stderr).toBe(
      [
        `── fine · attempt 1 · succeeded · ${fine}`,
        'fine | err 1',
        `── flaky · attempt 2 · succeeded · ${second}`,
        'flaky | err 2',
        `── broken · attempt 1 · exit code 5 · ${broken}`,
        'broken | err 1\n',
      ].join('\n'),
    )
    const failed = await reprise('logs', '--label', 'study=logs', '--failed-first', '--limit', '2')
    expect(failed.stdout).toBe(lines('broken', 1) + lines('fine', 1))
    expect((await reprise('logs', '-l', 'study=logs', '--result', 'failure')).stdout).toBe(
      lines('flaky', 1) + lines('broken', 1),
    )
  })

  test('all attempts, one attempt of each, the order of the arguments, and JSON', async () => {
    expect((await reprise('logs', 'broken', 'flaky', '--all-attempts')).stdout).toBe(
      lines('broken', 1) + lines('flaky#1', 1) + lines('flaky#2', 2),
    )
    expect((await reprise('logs', 'flaky', fine, '--attempt', '1')).stdout).toMatch(
      /^flaky \| out 1\n[^]*\nfine \| out 1\n/,
    )
    expect(await reprise('logs', 'flaky', 'fine', '--attempt', '2')).toMatchObject({ status: 3, stdout: '' })
    const { stdout } = await reprise('logs', flaky, 'broken', '--json')
    const items = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string; sessionId: string })
    expect(items.filter(({ type }) => type === 'session').map(({ sessionId }) => sessionId)).toEqual([flaky, broken])
    expect(
      items.filter(({ type }) => type === 'log').every(({ sessionId }) => [flaky, broken].includes(sessionId)),
    ).toBe(true)
  })

  test('sessions of one name are told apart by their ids', async () => {
    const other = await create('fine', 'echo other', labelled('twins'))
    for await (const _end of client.chainEnds([other]));
    expect((await reprise('logs', fine, other)).stdout).toBe(`${lines(`fine ${fine}`, 1)}fine ${other} | other\n`)
  })

  test('--follow follows them beside each other, and succeeds if all succeed', async () => {
    const late = await create('late', `${SCRIPT} test $REPRISE_ATTEMPT -gt 1`, {
      ...labelled('both'),
      retryPolicy: LATE,
    })
    await vi.waitFor(async () => expect(await phaseOf(late)).toBe('SCHEDULED'), WITHIN)
    const logs = startCommand(['logs', '--follow', late, 'fine'], environment)
    await vi.waitFor(() => expect(logs.output.stderr).toContain('── late · attempt 1 ended: exit code 1'), WITHIN)
    await client.retryNow(late)
    const { status, stdout } = await logs.ended
    expect(status).toBe(0)
    expect(stdout.match(/^late .*$/gm)).toEqual((lines('late', 1) + lines('late', 2)).trim().split('\n'))
    expect((await reprise('logs', '--follow', 'fine', 'broken')).status).toBe(1)
    expect((await reprise('logs', '--follow', 'broken')).status).toBe(5)
  })

  test('refuses what selects nothing, and options that exclude each other', async () => {
    expect((await reprise('logs')).status).toBe(2)
    expect((await reprise('logs', '--label', 'study=none')).status).toBe(3)
    expect((await reprise('logs', 'fine', '00000000-0000-7000-8000-000000000000')).status).toBe(3)
    expect((await reprise('logs', 'fine', '--follow', '--all-attempts')).status).toBe(2)
    expect((await reprise('logs', 'fine', '--attempt', '1', '--all-attempts')).status).toBe(2)
  })

  test('failures counts them as the web UI does', async () => {
    const { stdout } = await reprise('failures', '--label', 'study=logs', '--json')
    const counted = JSON.parse(stdout) as {
      from: string
      to: string
      failed: number
      groups: Record<'cause' | 'exitCode' | 'label', { failed: number; chains: number; lost: number }[]>
    }
    const figures = { failed: 2, chains: 2, lost: 1 }
    expect(counted).toMatchObject({
      ended: 4,
      failed: 2,
      groups: {
        cause: [{ cause: 'KERNEL_NONZERO_EXIT', ...figures, retries: 1, retriesSucceeded: 1 }],
        exitCode: { length: 2 },
        label: [{ label: { key: 'study', value: 'logs' }, ...figures }],
      },
    })
    expect(counted.groups.exitCode).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ exitCode: 5, failed: 1, chains: 1, lost: 1 }),
        expect.objectContaining({ exitCode: 1, failed: 1, chains: 1, lost: 0 }),
      ]),
    )
    const page = await readFile(join(import.meta.dirname, '../../../src/ui/pages/failures/failures.graphql'), 'utf8')
    const variables = { from: counted.from, bucketSeconds: 86_400, by: 'EXIT_CODE' }
    const shown = (await client.request(page, variables)) as { groups: { exitCode: number }[] }
    const everything = await reprise(
      'failures',
      '--since',
      counted.from,
      '--by',
      'exit-code',
      '--limit',
      '50',
      '--json',
    )
    expect((JSON.parse(everything.stdout) as typeof counted).groups.exitCode).toEqual(shown.groups)

    const text = (await reprise('failures', '--label', 'study=logs')).stdout
    expect(text).toMatch(/^2 of 4 attempts that ended since \S+ \S+ failed, 50 %\n\nCAUSE /)
    expect(text).toMatch(/^KERNEL_NONZERO_EXIT +2 +2 +1 +1 of 1 /m)
    expect((await reprise('failures', '--label', 'study=logs', '--cause', 'oom-killed')).stdout).toMatch(
      /^0 of 4 .*\n$/,
    )
    expect((await reprise('failures', '--label', 'a=1', '-l', 'b=2')).status).toBe(2)
    expect((await reprise('failures', '--limit', '101')).status).toBe(2)
  })
})

test('a retry that is held says who holds it and why: run, info and chain', async () => {
  const off = await reprise('switch', 'set', 'project', 'default', '--off', '--reason', 'storm', '--until', '2h')
  expect(off.status).toBe(0)
  const run = startCommand(['run', '-n', 'held', '--retries', '1', '--retry-delay', '0.2', '--', 'false'], environment)
  const words = /held: retries are switched off \(project default\), set by \S+, until 20\S+Z: storm; retry 1 of 1/
  await vi.waitFor(() => expect(run.output.stderr).toMatch(words), WITHIN)
  expect((await reprise('info', 'held')).stdout).toMatch(words)
  expect((await reprise('chain', 'held')).stdout).toMatch(words)
  expect((await reprise('chains', '--search', 'held', '--json')).stdout).toMatch(words)
  await reprise('switch', 'set', 'project', 'default', '--on')
  expect((await run.ended).status).toBe(1)
  expect(run.output.stderr.match(/storm; retry/g)).toHaveLength(1)
})
