import { randomOf } from '../../support/seeds.ts'
import { testServer } from '../../support/servers/test-server.ts'
import { simulateMonth, storeMonth } from '../../support/sessions/simulated-months.ts'
import { serveCommands } from './command-server.ts'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readAdminToken, startServer, type ServerProcess } from '../../../src/cli/demo/server-process.ts'
import { createClient, type Client } from '../../../src/client/node/index.ts'
import { commandLine, startCommand } from '../../support/programs/command-line.ts'
import { testDatabase, type TestDatabase } from '../../support/database/database.ts'
import { PSEUDO_TERMINAL, startInTerminal } from '../../support/programs/pseudo-terminal.ts'
import { eventually } from '../../support/eventually.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'

/** The names of failures on the command line, on a server whose agent runs real programs. */

let directory: string
let database: TestDatabase
let server: ServerProcess
let client: Client
let environment: Record<string, string>
let reprise: ReturnType<typeof commandLine>

beforeAll(async () => {
  directory = await temporaryDirectory('failures')
  const dataDir = join(directory, 'data')
  database = await testDatabase()
  // Its kernels see the temporary directory of this test.
  const env = { REPRISE_DATABASE_URL: database.connectionString, REPRISE_ISOLATION: 'none' }
  server = await startServer({ dataDir, port: 0, onLog: () => {}, env })
  client = createClient({ url: server.url, token: await readAdminToken(dataDir) })
  environment = { REPRISE_URL: server.url, REPRISE_DATA_DIR: dataDir, XDG_CONFIG_HOME: directory }
  reprise = commandLine(environment)
})

afterAll(async () => {
  await client?.close()
  await server?.stop()
  await database?.close()
})

test('each failure has its own words, and is found by its name', async () => {
  const timedOut = await reprise('run', '--name', 'slow', '--timeout', '0.2', '--', 'sleep', '1000')
  expect(timedOut.stderr).toMatch(/attempt 1 ended: timed out after 0\.2 s\n/)
  const missing = await reprise('run', '--name', 'missing', '--', 'no-such-program', '--epochs', '3')
  expect(missing).toMatchObject({ status: 127, stdout: '' })
  expect(missing.stderr).toMatch(/attempt 1 ended: command not found/)
  const absent = 'command not found: no-such-program is not on the agent’s PATH'
  expect((await reprise('info', 'missing')).stdout).toContain(absent)
  const dependent = await client.createSession({
    name: 'dependent',
    command: ['true'],
    dependsOn: [(await client.sessionPage({ filter: { name: { equals: 'missing' } }, first: 1 })).nodes[0]!.chainId],
  })
  await client.waitForChain(dependent.session.sessionId)
  const table = (await reprise('list')).stdout
  expect(table).toMatch(/ slow .* timed out after 0\.2 s /)
  expect(table).toMatch(/ missing .* command not found /)
  expect(table).toMatch(/ dependent .* dependency failed /)
  for (const [reason, name] of [
    ['task-timeout', 'slow'],
    ['command-not-found', 'missing'],
    ['dependency-failed', 'dependent'],
  ] as const) {
    const { nodes } = await client.sessionPage({ filter: { failureReason: [reason] } })
    expect(nodes.map((session) => [session.name, session.failureReason])).toEqual([[name, reason]])
    expect(
      (await reprise('list', '--failure-reason', `none,${reason}`)).stdout.match(/^\S+ +(slow|missing|dependent)/gm),
    ).toHaveLength(1)
  }
})

test('a program may be named relative to the working directory', async () => {
  const place = join(directory, 'project')
  await mkdir(join(place, 'scripts'), { recursive: true })
  await writeFile(join(place, 'scripts/train.sh'), '#!/bin/sh\necho trained with "$1"\n')
  await chmod(join(place, 'scripts/train.sh'), 0o755)
  const { ended } = startCommand(['run', '--', 'scripts/train.sh', 'scripts/train.sh'], environment, undefined, place)
  expect(await ended).toMatchObject({ status: 0, stdout: 'trained with scripts/train.sh\n' })
  const elsewhere = await reprise('run', '--', 'scripts/train.sh')
  expect(elsewhere).toMatchObject({ status: 127 })
  expect(elsewhere.stderr).toContain('command not found')
})

test('a resubmission by a filter counts chains, and shows each refusal once', async () => {
  const failing = { command: ['sh', '-c', 'exit 3'], retryPolicy: { maxRetries: 1, retryDelay: 0.1 } }
  const made = await Promise.all(
    Array.from({ length: 3 }, (_, n) => client.createSession({ ...failing, name: `study-${n}` })),
  )
  const ok = await client.createSession({ name: 'study-done', command: ['true'] })
  await Promise.all([...made, ok].map(({ session }) => client.waitForChain(session.sessionId)))
  const selection = ['resubmit', '--with-name', 'study-*', '--retries', '0']
  const earlier = '3 were earlier attempts of chains; only the newest can be resubmitted (SESSION_HAS_CHILD)\n'

  const tried = await reprise(...selection, '--dry-run')
  expect(tried.stdout).toMatch(/\n3 chains would be resubmitted\n$/)
  const succeeded = `session ${ok.session.sessionId} succeeded; includeSucceeded would run it again (SESSION_SUCCEEDED)\n`
  expect(tried.stderr).toBe(`${earlier}1 would be refused: ${succeeded}`)
  const done = await reprise(...selection)
  expect(done).toMatchObject({ status: 0, stderr: `${earlier}1 refused: ${succeeded}` })
  expect(done.stdout).toMatch(/\n3 chains resubmitted\n$/)

  await Promise.all(made.map(({ session }) => client.waitForChain(session.sessionId)))
  const one = await reprise('resubmit', 'study-0', '--json')
  expect(JSON.parse(one.stdout)).toMatchObject({ resubmission: { done: 1, total: 1 }, refused: [], refusals: [] })
  const none = await reprise('resubmit', 'study-done', '--json')
  expect(none.status).toBe(5)
  expect(JSON.parse(none.stdout)).toMatchObject({
    refused: [{ sessionId: ok.session.sessionId, code: 'SESSION_SUCCEEDED' }],
    refusals: [{ code: 'SESSION_SUCCEEDED', count: 1 }],
  })
})

test('a resubmission offers to bring back sessions that were cancelled because of the failure', async () => {
  const first = await client.createSession({ name: 'import', command: ['sh', '-c', 'exit 3'] })
  const behind = await client.createSession({ name: 'report', command: ['true'], dependsOn: [first.session.sessionId] })
  await Promise.all([first, behind].map(({ session }) => client.waitForChain(session.sessionId)))
  const tried = await reprise('resubmit', 'import', '--include-dependents', '--dry-run', '--json')
  expect(JSON.parse(tried.stdout)).toMatchObject({ total: 2, count: 2, cancelledDependents: 1 })
  expect(await reprise('resubmit', 'import')).toMatchObject({
    status: 0,
    stderr: '1 session was cancelled because these failed: --include-dependents resubmits it, too\n',
  })
  await client.waitForChain(first.session.sessionId)
  const both = await reprise('resubmit', 'import', '--include-dependents')
  expect(both).toMatchObject({ status: 0, stdout: expect.stringMatching(/report  attempt 2\n2 chains resubmitted\n$/) })
  expect(both.stderr).toBe('')
})

test('a policy is tried on sessions that failed', async () => {
  const label = ['--label', 'trial=1']
  for (const [name, code] of [
    ['usage', '64'],
    ['flaky', '1'],
    ['flaky', '1'],
  ] as const) {
    await reprise('run', '--name', name, ...label, '--', 'sh', '-c', `exit ${code}`)
  }
  const path = join(directory, 'policy.json')
  const rules = [{ match: { exitCodes: [64] }, action: 'FAIL' }]
  await writeFile(path, JSON.stringify({ delays: ['20s', '5m'], rules }))
  const { status, stdout } = await reprise('policy', 'try', '--file', path, ...label, '--since', '7d', '--limit', '2')
  expect(status).toBe(0)
  const [counts, , head, ...rows] = stdout.trimEnd().split('\n')
  expect(counts).toBe('3 sessions: 2 retried, 1 not retried by rules[0]')
  expect(head).toMatch(/^NAME +ATTEMPT +ENDED +DECISION +DELAY +REASON$/)
  expect(rows[0]).toMatch(/^flaky +1 .* retried +20 s +retry 1 of 2: exit code 1; waits 20 s \(delays\[0\]\)$/)
  expect(rows[2]).toBe('and 1 more')
  const named = await reprise('policy', 'try', 'usage', '--delays', '1m', '--json')
  expect(JSON.parse(named.stdout)).toMatchObject({
    matched: 1,
    counts: [{ phase: 'SCHEDULED', counted: true, matchedRule: null, count: 1 }],
    decisions: [{ name: 'usage', delaySeconds: 60 }],
  })
  expect((await reprise('policy', 'try', '--with-name', 'nobody')).stdout).toBe('no sessions failed\n')
  expect(await reprise('policy', 'try', 'usage', '--since', '1d')).toMatchObject({ status: 2 })
  const faulty = await reprise('policy', 'try', '--rule', 'retry scale-peak=mem:0')
  expect(faulty.stderr).toContain('policy.rules.0.scaleResources.0.factor')
})

test('a variable that nothing reads causes a warning with the nearest name, but not in completions', async () => {
  const set = { XDG_CONFIG_HOME: directory, REPRISE_AGENT_SLOTS: 'cpu=4', REPRISE_PROT: '1', REPRISE_PORT: 'none' }
  const { status, stdout, stderr } = await commandLine(set)('profiles', 'list', '--json')
  expect({ status, stdout: JSON.parse(stdout) as unknown }).toEqual({ status: 0, stdout: [] })
  expect(stderr.split('\n')).toEqual([
    'warning: REPRISE_AGENT_SLOTS is set, but nothing reads it: did you mean REPRISE_SLOTS?',
    'warning: REPRISE_PROT is set, but nothing reads it: did you mean REPRISE_PORT?',
    '',
  ])
  expect(await commandLine(set)('complete', '--', 'profile', '')).toMatchObject({ status: 0, stderr: '' })
})

test('a command loads only modules that it needs', async () => {
  const report = `process.on('exit', () => console.error(JSON.stringify(process.moduleLoadList)))`
  const listing = commandLine({
    ...environment,
    NODE_OPTIONS: `--import="data:text/javascript,${encodeURIComponent(report)}"`,
  })
  const { status, stderr } = await listing('list', '--json')
  const loaded = JSON.parse(stderr) as string[]
  expect(status).toBe(0)
  expect(loaded).toContain('NativeModule http')
  const unused = ['https', 'http2', 'tls', 'zlib', 'sqlite', 'internal/deps/undici/undici']
  expect(loaded.filter((name) => unused.some((each) => name === `NativeModule ${each}`))).toEqual([])
})

test('insights and usage are tables, plots, JSON and CSV', async () => {
  // Sums lag behind by some seconds.
  await eventually(async () => (JSON.parse((await reprise('insights', '--json')).stdout) as unknown[]).length > 1)
  const insights = (await reprise('insights', '--by', 'exit-code')).stdout
  expect(insights).toMatch(/^EXIT CODE +FAILED +RETRIES +SAVED +LOST +CPU HOURS LOST/)
  expect(insights).toMatch(/\n127 +[1-9]/)
  const usage = (await reprise('usage', '--by', 'name')).stdout
  expect(usage).toMatch(/^NAME +SESSIONS +CPU HOURS +USED/)
  expect(Math.max(...usage.split('\n').map(({ length }) => length))).toBeLessThanOrEqual(80)
  const lines = (await reprise('usage', '--by', 'name', '--csv')).stdout.split('\n')
  expect(lines[0]).toBe('key,title,sessions,runningSeconds,cpuSeconds,memoryByteSeconds,gpuSeconds,cpuSecondsUsed')
  expect(lines.some((line) => line.startsWith('slow,slow,1,'))).toBe(true)
  expect((await reprise('usage', '--by', 'label')).stderr).toContain('A label is given as label:KEY.')
  expect((await reprise('usage', '--by', 'label:team')).stderr).toContain('nothing')
})

test('advice is listed, tried on the past, applied and dismissed', async () => {
  const served = await serveCommands('advice')
  const { factory, db } = served.server
  const run = served.reprise
  try {
    const projectId = await factory.project('physics')
    const month = simulateMonth(randomOf(3), { uselessExits: 25, modest: 12, badAgent: true }, 400)
    await storeMonth(served.server, { projectId, agents: new Map() }, month)
    expect((await run('advice')).stderr).toContain('no advice')
    await testServer(db).run('find-advice')
    const { stdout: list } = await run('advice')
    expect(list).toContain('and no retry succeeded.\n→ End chains at exit code 64.')
    expect(list).toContain('· Request 1.15 GiB of memory for modest.')
    expect(Math.max(...list.split('\n').map(({ length }) => length))).toBeLessThanOrEqual(80)
    const all = JSON.parse((await run('advice', 'list', '--project', 'physics', '--json')).stdout) as any[]
    const idOf = (kind: string) => all.find((advice) => advice.kind === kind).adviceId as string
    const useless = idOf('NEVER_SUCCEEDS')
    const { stdout: tried } = await run('advice', 'show', useless)
    expect(tried).toMatch(/stop earlier +25 +−7\d/)
    expect(Math.max(...tried.split('\n').map(({ length }) => length))).toBeLessThanOrEqual(80)
    expect((await run('advice', 'apply', useless)).stdout).toBe('Applied: End chains at exit code 64.\n')
    expect((await run('defaults')).stdout).toContain('physics')
    expect(await run('advice', 'apply', idOf('MEMORY_TOO_HIGH'))).toMatchObject({ status: 2 })
    expect((await run('advice', 'dismiss', idOf('MEMORY_TOO_HIGH'))).stdout).toContain('Dismissed: modest requests')
    const { stdout: done } = await run('advice', 'list', '--all')
    expect(done).toMatch(/applied by .* ago|applied by .* now/)
    expect(await run('advice', 'show', UNKNOWN_ADVICE)).toMatchObject({ status: 3 })
  } finally {
    await served.server.close()
  }
})

const UNKNOWN_ADVICE = '00000000-0000-7000-8000-00000000dead'

test('a backtest is a table that fits into 80 columns, with the successes that are lost by name', async () => {
  const label = ['--label', 'backtest=1']
  const mended = 'test "$REPRISE_ATTEMPT" = 2 || exit 1'
  await Promise.all([
    reprise('run', '--name', 'mended', ...label, '--retries', '1', '--retry-delay', '0.2s', '--', 'sh', '-c', mended),
    reprise(
      'run',
      '--name',
      'usage-error',
      ...label,
      '--retries',
      '1',
      '--retry-delay',
      '0.2s',
      '--',
      'sh',
      '-c',
      'exit 64',
    ),
    reprise('run', '--name', 'alone', ...label, '--', 'sh', '-c', 'exit 7'),
  ])
  const settings = JSON.stringify({ retries: 2, retry_delay: 60 })
  const words = [
    'backtest',
    '--rule',
    'fail exit=1',
    '--rule',
    'fail exit=64',
    ...label,
    '--retries',
    '3',
    '--airflow',
    settings,
  ]
  const { status, stdout } = await reprise(...words)
  expect(status).toBe(0)
  const lines = stdout.split('\n')
  expect(lines[0]).toMatch(/^3 chains, \d{4}-\d\d-\d\d .+ to /)
  expect(lines[1]).toMatch(/^5 attempts, .+ of CPU time, 1 succeeded$/)
  expect(lines[3]).toMatch(/^ +CHAINS +ATTEMPTS +CPU TIME +TIME +SUCCESSES$/)
  expect(lines[4]).toMatch(/^end alike +0 /)
  expect(lines[5]).toMatch(/^stop earlier +2 +−2 +−\S+ s +−\S+ s +−1$/)
  expect(lines[6]).toMatch(/^continue longer +0 /)
  expect(lines[7]).toMatch(/^unknown +1 +≤ \+3 +≤ \+\S+ s +– +–$/)
  expect(stdout).toContain('\nsuccesses lost:\n  1 × mended\nunknown: 1 with more retries')
  expect(stdout).toMatch(/\nunder Airflow's settings\n +CHAINS .+\nend alike +1 /)

  if (!PSEUDO_TERMINAL) return
  const { text } = await startInTerminal(words, { columns: 80, environment: { ...environment, NO_COLOR: '1' } }).ended
  const table = text
    .split('\r\n')
    .filter((line) => /^( +CHAINS|end alike|stop earlier|continue longer|unknown +\d)/.test(line))
  expect(table).toHaveLength(10)
  expect(table.slice(0, 5)).toEqual(lines.slice(3, 8))
  expect(Math.max(...table.map(({ length }) => length))).toBeLessThanOrEqual(80)
})

test('the rules by which failures are grouped are set, shown as a table or JSON, and cleared', async () => {
  const patterns = ['GPU memory=*CUDA out of memory, a=b*', 'GPU memory=*memory allocation failed*', 'disks=*No space*']
  const set = await reprise('failures', 'rules', 'set', 'default', ...patterns)
  expect(set).toMatchObject({ status: 0, stdout: 'default: 3 rules, for failures from now on\n' })
  const shown = (await reprise('failures', 'rules', 'show', 'default')).stdout
  expect(shown).toMatch(/^GROUP +PATTERN\nGPU memory +\*CUDA out of memory, a=b\*\n/)
  const json = JSON.parse((await reprise('failures', 'rules', 'show', 'default', '--json')).stdout) as unknown[]
  expect(json).toHaveLength(3)
  expect(json[2]).toEqual({ name: 'disks', pattern: '*No space*' })
  expect(await reprise('failures', 'rules', 'set', 'default', 'none')).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('`none` is no rule like') as string,
  })
  expect((await reprise('failures', 'rules', 'show', 'nowhere')).stderr).toContain('nowhere')
  expect(await reprise('failures', 'rules', 'clear', 'default')).toMatchObject({ status: 0 })
  expect(await reprise('failures', 'rules', 'show', 'default')).toMatchObject({
    status: 0,
    stderr: 'no rules: failures are grouped by what they say\n',
  })
})
