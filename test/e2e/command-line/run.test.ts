import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { readAdminToken, startServer, type ServerProcess } from '../../../src/cli/demo/server-process.ts'
import { createClient, type Client } from '../../../src/client/node/index.ts'
import { commandLine, startCommand } from '../../support/programs/command-line.ts'
import { hold, untilBlocked } from '../../support/database/blocked.ts'
import { testDatabase, type TestDatabase } from '../../support/database/database.ts'
import { fixedPort } from '../../support/agents/fixed-port.ts'
import { CTRL_C, PSEUDO_TERMINAL, startInTerminal } from '../../support/programs/pseudo-terminal.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'

/** Work from the command line, on a server with an agent that really runs it. */

let database: TestDatabase
let dataDir: string
let server: ServerProcess
let client: Client
let environment: Record<string, string>
let reprise: ReturnType<typeof commandLine>

const WITHIN = { timeout: 120_000, interval: 100 }

beforeAll(async () => {
  const directory = await temporaryDirectory('command-line')
  dataDir = join(directory, 'data')
  database = await testDatabase()
  server = await startServer({
    dataDir,
    port: await fixedPort(),
    onLog: () => {},
    env: { REPRISE_DATABASE_URL: database.connectionString },
  })
  client = createClient({ url: server.url, token: await readAdminToken(dataDir) })
  // The token is found by itself.
  environment = { REPRISE_URL: server.url, REPRISE_DATA_DIR: dataDir, XDG_CONFIG_HOME: directory }
  reprise = commandLine(environment)
})

afterAll(async () => {
  await client?.close()
  await server?.stop()
  await database?.close()
})

const FLAKY =
  'echo attempt $REPRISE_ATTEMPT; echo complaint $REPRISE_ATTEMPT >&2; test $REPRISE_ATTEMPT -ge 3 || exit 7'

async function newest(name: string) {
  const { nodes } = await client.sessionPage({ filter: { name: { equals: name } }, first: 1 })
  return nodes[0]
}

describe('run', () => {
  test('follows all attempts, says why each is retried and when, and ends as the work ends', async () => {
    const policy = ['--retries', '3', '--retry-delay', '0.5', '--backoff', 'exponential', '--jitter', 'none']
    const { status, stdout, stderr } = await reprise('run', '-n', 'flaky', ...policy, '--', 'sh', '-c', FLAKY)
    expect({ status, stdout }).toEqual({ status: 0, stdout: 'attempt 1\nattempt 2\nattempt 3\n' })
    const said = stderr.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'ID').replaceAll('─', '-')
    const expected = [
      'session ID\n',
      '-- attempt 1 · up to 3 retries · session ID -',
      'complaint 1\n',
      '-- attempt 1 ended: exit code 7\n   retry 1 of 3: exit code 7; waits 0.5 s\n',
      '-- attempt 2 · retry 1 of 3 · session ID -',
      'complaint 2\n',
      '-- attempt 2 ended: exit code 7\n   retry 2 of 3: exit code 7; waits 1 s\n',
      '-- attempt 3 · retry 2 of 3 · session ID -',
      'complaint 3\n',
      '-- attempt 3 succeeded\n',
    ]
    const places = expected.map((part) => said.indexOf(part))
    expect({ places, said }).toEqual({ places: places.toSorted((a, b) => a - b), said })
    expect(places).not.toContain(-1)
    expect(stderr).toMatch(/next attempt (now|in \d\S* s|\S+ s ago), at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d/)
  })

  test('many: names those that did not succeed after all attempts', async () => {
    const retries = ['--retries', '1', '--retry-delay', '0.2']
    const work = ['--', 'sh', '-c', 'test {i} -ne 2']
    const { status, stdout, stderr } = await reprise('run', '--array', '1..3', '-n', 'part-{i}', ...retries, ...work)
    expect({ status, ids: stdout.match(/^[0-9a-f-]{36}$/gm)?.length }).toEqual({ status: 1, ids: 3 })
    expect(stderr).toMatch(/^3 sessions created\npart-2 \S{36}: failed after 2 attempts: .*\n2 succeeded, 1 failed\n$/)
    const keyed = ['run', '--array', '1..3', '--creation-id', 'kept', '-n', 'kept-{i}', '--', 'true']
    expect(await reprise(...keyed)).toMatchObject({ status: 0, stderr: '3 sessions created\n3 succeeded\n' })
    const lines = [1, 2, 3].map((n) => `--array\\[${n}\\] kept-${n} \\S{36}: already existed, succeeded\n`)
    expect(await reprise(...keyed)).toMatchObject({
      status: 0,
      stderr: expect.stringMatching(
        new RegExp(`^0 sessions created, 3 already existed\n${lines.join('')}3 succeeded\n$`),
      ),
    })
  })

  test('many: a file that is run again reports what has become of each line', async () => {
    const path = join(await temporaryDirectory('jobs'), 'jobs.jsonl')
    const job = (name: string, script: string) => JSON.stringify({ name, command: script })
    await writeFile(path, `${job('line-well', 'true')}\n${job('line-failed', 'exit 4')}\n`)
    const args = ['run', '--file', path, '--creation-id', 'lines']
    expect(await reprise(...args)).toMatchObject({ status: 1 })
    await writeFile(path, `${job('line-well', 'true')}\n${job('line-failed', 'exit 4')}\n${job('line-new', 'true')}\n`)
    const { status, stderr } = await reprise(...args)
    expect(stderr.replaceAll(/ [0-9a-f-]{36}:/g, ' ID:').split('\n')).toEqual([
      '1 session created, 2 already existed',
      `${path}:1 line-well ID: already existed, succeeded`,
      expect.stringMatching(/:2 line-failed ID: already existed, failed: .*exit code 4/),
      '2 succeeded, 1 failed',
      '',
    ])
    expect(status).toBe(1)
    const json = await reprise(...args, '--json')
    const known = json.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string; place?: string; state?: string })
      .filter(({ type }) => type === 'known')
    expect(known.map(({ place, state }) => [place, state])).toEqual([
      [`${path}:1`, 'SUCCEEDED'],
      [`${path}:2`, 'FAILED'],
      [`${path}:3`, 'SUCCEEDED'],
    ])
  })

  test('a session that no agent can ever run is warned of at once, with the nearest agent', async () => {
    const warning =
      /^warning: it cannot start: no agent .* has more than mem \S+ \S+, it asks for 900 TiB; the nearest is \S+ with .*mem \d/m
    const { status, stderr, stdout } = await reprise('create', '-n', 'in-vain', '--mem', '900t', '--', 'true')
    expect({ status, id: stdout.trim().length }).toEqual({ status: 0, id: 36 })
    expect(stderr).toMatch(warning)
    expect((await reprise('info', 'in-vain')).stdout).toMatch(/impossible: no agent/)
    const many = await reprise('create', '--array', '1..2', '-n', 'vain-{i}', '--slot', 'quantum=1', '--', 'true')
    expect(many.stderr).toMatch(
      /^warning: 2 of them, such as vain-1 \S{36}, cannot start: .* quantum 0, it asks for 1/m,
    )
    await reprise('cancel', '--with-name', 'in-vain', '--status', 'pending')
    await reprise('cancel', '--with-name', 'vain-1', '--status', 'pending')
    await reprise('cancel', '--with-name', 'vain-2', '--status', 'pending')
  })

  test('many: Ctrl-C leaves them, or ends them', async () => {
    for (const [what, status] of [
      ['detach', 'RUNNING'],
      ['terminate', 'TERMINATED'],
    ] as const) {
      const args = ['run', '--array', '1..2', '-n', what, '--on-interrupt', what, '--', 'sleep', '300']
      const { child, output, ended } = startCommand(args, environment)
      await vi.waitFor(async () => expect((await newest(what))?.status).toBe('RUNNING'), WITHIN)
      await vi.waitFor(() => expect(output.stderr).toBe('2 sessions created\n'), WITHIN)
      child.kill('SIGINT')
      expect(await ended).toMatchObject({ status: 130 })
      await vi.waitFor(async () => expect((await newest(what))?.status).toBe(status), WITHIN)
    }
    expect((await reprise('cancel', '--with-name', 'detach', '--status', 'running', '--force')).status).toBe(0)
  })

  test('many: Ctrl-C during creation ends those created so far, and creates no more', async () => {
    const release = await hold(database, `SELECT FROM projects WHERE name = 'default' FOR UPDATE`)
    const args = ['run', '--array', '1..600', '-n', 'many-{i}', '-l', 'cut=1', '--starts-at', '1h']
    const run = startCommand([...args, '--on-interrupt', 'terminate', '--', 'true'], environment)
    // Others wait for the project, too, before the command has begun to listen.
    await untilBlocked(database.db, 1, 'sharedNumber')
    run.child.kill('SIGINT')
    await vi.waitFor(() => expect(run.output.stderr).toContain('ending the work'), WITHIN)
    await release()
    const { status, stderr } = await run.ended
    expect({ status, stderr }).toMatchObject({ status: 130 })
    expect(stderr).toContain('250 sessions created, 350 not requested\n')
    const { nodes } = await client.sessionPage({ filter: { label: { key: 'cut', value: '1' } }, first: 100 })
    expect(new Set(nodes.map((session) => session.status))).toEqual(new Set(['CANCELLED']))
  })

  test('ends with the exit status of the last attempt', async () => {
    const run = await reprise('run', '--retries', '1', '--retry-delay', '0.2', '--', 'sh', '-c', 'exit 42')
    expect(run.status).toBe(42)
    expect(run.stderr).toContain('exhausted')
  })

  test('passes variables, slots, labels, rules, and a policy from standard input', async () => {
    const spec = ['-e', 'GREETING=hello=you', '-e', 'HANDED', '--mem', '64m', '--slot', 'cpu=2', '-l', 'study=7']
    const rule = ['--rule', 'fail exit=3', '--rule', 'retry cause=oom-killed scale=mem:2:1g delay=1m avoid=agent']
    const args = ['run', '-n', 'asked', ...spec, ...rule, '--policy', '-', '--retries', '2', '--json', '--']
    const script = 'echo $GREETING $HANDED; exit 3'
    const run = startCommand(
      [...args, 'sh', '-c', script],
      { ...environment, HANDED: 'over' },
      '{"maxRetries": 9, "retryDelay": 5}',
    )
    const { status, stdout } = await run.ended
    expect(status).toBe(3)
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string; text?: string })
    // Whether it waits depends on how busy the machine is.
    const types = lines.map(({ type }) => type).filter((type) => type !== 'waiting')
    expect(types).toEqual(['created', 'attempt', 'log', 'attempt_ended', 'ended'])
    expect(lines.find(({ type }) => type === 'log')!.text).toBe('hello=you over\n')
    const session = await client.session((await newest('asked'))!.sessionId)
    expect(session).toMatchObject({
      labels: [{ key: 'study', value: '7' }],
      resourceSlots: [
        { slot: 'cpu', amount: '2' },
        { slot: 'mem', amount: String(64 * 2 ** 20) },
      ],
      retryPolicy: { maxRetries: 2, retryDelay: 5, rules: [{ action: 'FAIL' }, { action: 'RETRY', delay: 60 }] },
    })
  })

  test('a session that cannot begin yet says why, and stays when the command ends', async () => {
    for (const follow of [
      ['run', '-n', 'too-large', '--mem', '900t', '--', 'true'],
      ['logs', '--follow', 'too-large'],
    ]) {
      const command = startCommand(follow, environment)
      await vi.waitFor(() => expect(command.output.stderr).toMatch(/^ {3}waiting: impossible: \S/m), WITHIN)
      command.child.kill('SIGTERM')

      const { status } = await command.ended
      expect(status).toBe(130)
    }
    expect((await newest('too-large'))?.status).toBe('PENDING')
    await reprise('cancel', 'too-large')
  })

  test('a cancelled session has no exit status', async () => {
    const run = startCommand(['run', '-n', 'endless', '--', 'sleep', '1000'], environment)
    await vi.waitFor(async () => expect((await newest('endless'))?.status).toBe('RUNNING'), WITHIN)
    expect(await reprise('cancel', 'endless', '--reason', 'enough')).toMatchObject({ status: 0 })
    expect((await run.ended).status).toBe(125)
  })

  test('the output of several kernels is labelled, and one kernel can be chosen', async () => {
    // The end of the main kernel stops the other one, so it waits until that has written everything.
    const script =
      'echo one; printf two; cd "$REPRISE_CHAIN_DIR"; [ $REPRISE_KERNEL_ROLE = sub ] && exec touch written; until [ -e written ]; do sleep 0.05; done'
    const run = await reprise('run', '-n', 'pair', '--cluster-size', '2', '--', 'sh', '-c', script)
    expect(run.status).toBe(0)
    expect(run.stdout.split('\n').toSorted().join('\n').trim()).toBe('main1 | one\nmain1 | two\nsub1 | one\nsub1 | two')
    expect((await reprise('logs', 'pair', '--kernel', 'sub1')).stdout).toBe('one\ntwo')
    expect(await reprise('logs', 'pair', '--kernel', 'sub9')).toMatchObject({ status: 3 })
  })

  describe.skipIf(!PSEUDO_TERMINAL)('Ctrl-C (needs `script` of util-linux)', () => {
    const inTerminal = (name: string, ...more: string[]) =>
      startInTerminal(['run', '-n', name, ...more, '--', 'sh', '-c', 'echo begun; exec sleep 1000'], {
        columns: 80,
        environment,
      })

    test('detaches: the session goes on', async () => {
      const run = inTerminal('left')
      await vi.waitFor(() => expect(run.seen.text).toContain('begun'), WITHIN)
      run.press(CTRL_C)
      const { status, text } = await run.ended
      expect(status).toBe(130)
      const { sessionId, status: now } = (await newest('left'))!
      expect(text).toContain(`reprise logs --follow ${sessionId}`)
      expect(now).toBe('RUNNING')
      await client.terminateSession(sessionId)
    })

    test('ends the session, if an option says so', async () => {
      const run = inTerminal('ended', '--on-interrupt', 'terminate', '--retries', '3')
      await vi.waitFor(() => expect(run.seen.text).toContain('begun'), WITHIN)
      run.press(CTRL_C)
      const { status, text } = await run.ended
      expect(status).toBe(130)
      expect(text).toContain('cancelled')
      expect(await newest('ended')).toMatchObject({ status: 'TERMINATED', attempt: 1 })
    })
  })
})

test('create, logs --follow, info and chain show the same session', async () => {
  const script = 'echo part $REPRISE_ATTEMPT; echo >$REPRISE_CHAIN_DIR/state; test $REPRISE_ATTEMPT -ge 2'
  const args = [
    '-n',
    'looked-at',
    '--creation-id',
    'once',
    '--retries',
    '2',
    '--retry-delay',
    '0.2',
    '--',
    'sh',
    '-c',
    script,
  ]
  const created = await reprise('create', ...args)
  const id = created.stdout.trim()
  expect(id).toMatch(/^[0-9a-f-]{36}$/)
  expect(await reprise('create', ...args)).toMatchObject({ stdout: `${id}\n`, stderr: 'it already existed\n' })
  const followed = await reprise('logs', '--follow', id)
  expect(followed).toMatchObject({ status: 0, stdout: 'part 1\npart 2\n' })
  expect((await reprise('logs', 'looked-at', '--attempt', '1')).stdout).toBe('part 1\n')
  expect((await reprise('logs', 'looked-at', '--tail', '1')).stdout).toBe('part 2\n')
  expect((await reprise('logs', id, '--tail', '0', '--follow')).stdout).toBe('part 2\n')
  expect(await reprise('logs', 'looked-at', '--attempt', '3')).toMatchObject({ status: 3, stdout: '' })

  const [first, second] = (await client.chain(id)).map(({ sessionId }) => sessionId)
  const info = (await reprise('info', id)).stdout
  for (const part of ['  1 · up to 2 retries', `child    ${second}`, 'retry 1 of 2: exit code 1', '← this']) {
    expect(info).toContain(part)
  }
  expect((await reprise('info', second!)).stdout).toMatch(new RegExp(`parent +${first}`))
  const chain = (await reprise('chain', 'looked-at')).stdout.split('\n')
  expect(chain[0]).toMatch(new RegExp(`^├─ 1  ${first}  ERROR  exit code 1`))
  expect(chain[2]).toMatch(new RegExp(`^└─ 2  ${second}  SUCCEEDED  succeeded`))
  expect(chain[3]).toMatch(
    /^ {5}continued from the checkpoint of attempt 1 \(\d+ B\), of \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\S+$/,
  )
  const [line] = JSON.parse((await reprise('chains', '--search', 'looked', '--json')).stdout)
  expect(line).toMatchObject({ chainId: first, state: 'SUCCEEDED', attempts: 2 })
})

test('retry now and cancel, cancel of a chain that waits, and resubmission with overrides', async () => {
  const policy = ['--retries', '2', '--retry-delay', '1h']
  const fail = async (name: string) => {
    await reprise('create', '-n', name, ...policy, '--', 'sh', '-c', 'exit $((3 - ${FIXED:-0}))')
    await vi.waitFor(async () => expect((await newest(name))?.retryState.phase).toBe('SCHEDULED'), WITHIN)
  }
  await Promise.all([fail('hurried'), fail('dropped'), fail('ended-while-waiting')])
  expect(await reprise('retry', 'now', 'hurried')).toMatchObject({ status: 0 })
  await vi.waitFor(async () => expect((await newest('hurried'))?.attempt).toBe(2), WITHIN)
  expect(await reprise('retry', 'cancel', 'dropped')).toMatchObject({ status: 0 })
  expect((await newest('dropped'))?.retryState.phase).toBe('CANCELLED')
  const again = await reprise('retry', 'now', 'dropped')
  expect(again).toMatchObject({ status: 5, stderr: expect.stringContaining('NO_PENDING_RETRY') })
  const updated = await reprise('retry', 'update', 'ended-while-waiting', '--retries', '7', '--retry-delay', '2h')
  expect(updated).toMatchObject({ status: 0, stdout: expect.stringMatching(/retry 1 of 7: exit code 3; waits \d+/) })
  expect(await reprise('retry', 'update', 'ended-while-waiting')).toMatchObject({ status: 2 })
  const ended = await reprise('cancel', 'ended-while-waiting')
  expect(ended.stdout).toContain('its retry is cancelled')
  expect(await reprise('cancel', 'ended-while-waiting')).toMatchObject({ status: 5 })

  const overrides = ['-e', 'FIXED=3', '--mem', '32m', '--retries', '0']
  const resubmitted = await reprise('resubmit', '--with-name', 'dropped', '--result', 'failure', ...overrides)
  expect(resubmitted).toMatchObject({ status: 0, stdout: expect.stringContaining('1 chain resubmitted') })
  await vi.waitFor(async () => expect((await newest('dropped'))?.result).toBe('SUCCESS'), WITHIN)
  const refused = await reprise('resubmit', 'dropped')
  expect(refused).toMatchObject({ status: 5, stderr: expect.stringContaining('SESSION_SUCCEEDED') })
  const rerun = await reprise('resubmit', 'dropped', '--include-succeeded')
  expect(rerun).toMatchObject({ status: 0, stdout: expect.stringContaining('1 chain resubmitted') })
  expect(await reprise('resubmit')).toMatchObject({ status: 2 })
  expect((await reprise('resubmissions')).stdout).toMatch(/COMPLETED +1 +0 +1 /)
})

test('watch goes on over a restart of the server: each event once, in order', async () => {
  const watch = startCommand(['watch', '--json'], environment)
  await vi.waitFor(() => expect(watch.output.stderr).toContain('watching from'), WITHIN)
  const before = await client.createSession({ name: 'before', command: ['true'] })
  await client.waitForChain(before.session.sessionId)
  await server.kill()
  const port = Number(new URL(server.url).port)
  server = await startServer({
    dataDir,
    port,
    onLog: () => {},
    env: { REPRISE_DATABASE_URL: database.connectionString },
  })
  const after = await client.createSession({ name: 'after', command: ['true'] })
  const last = after.session.sessionId
  const events = () =>
    watch.output.stdout
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Record<string, string>)
  await vi.waitFor(() => {
    expect(events().some((event) => event['sessionId'] === last && event['toStatus'] === 'TERMINATED')).toBe(true)
  }, WITHIN)
  watch.child.kill('SIGINT')
  expect((await watch.ended).status).toBe(130)
  const cursors = events().map(({ cursor }) => cursor)
  expect(new Set(cursors).size).toBe(cursors.length)
  const statuses = (id: string) =>
    events()
      .filter(({ sessionId }) => sessionId === id)
      .flatMap(({ toStatus }) => toStatus ?? [])
  expect(statuses(last)).toEqual(statuses(before.session.sessionId))
  expect(statuses(last).length).toBeGreaterThan(4)
})
