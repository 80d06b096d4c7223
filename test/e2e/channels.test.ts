import { createServer, connect } from 'node:net'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { readAdminToken } from '../../src/cli/demo/server-process.ts'
import { openDatabase, type Database } from '../../src/store/database.ts'
import { testDatabase, type TestDatabase } from '../support/database/database.ts'
import { eventually } from '../support/eventually.ts'
import { commandLine, MAIN, startCommand, type Ended } from '../support/programs/command-line.ts'
import { countRunning, makeToken, SHELL, startInTerminal, walkTerminal } from '../support/programs/entering.ts'
import { logInBrowser } from '../support/servers/browser-login.ts'
import { type SpawnedProgram, spawnProgram } from '../support/programs/spawned-program.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'

/**
 * `reprise exec` and `reprise port-forward` with two servers on one database, of which the agent asks one and the
 * command line the other.
 */

let database: TestDatabase
let db: Database
let directory: string
let servers: SpawnedProgram[]
let agent: SpawnedProgram
let agentToken: string | undefined
let reprise: (...args: string[]) => Promise<Ended>
let environment: Record<string, string>
const created: string[] = []

const ready = /^reprise ready (http:\S+)$/

const startServer = (name: string) =>
  spawnProgram({
    args: [MAIN, 'serve'],
    environment: {
      REPRISE_DATABASE_URL: database.connectionString,
      REPRISE_PORT: '0',
      REPRISE_ROLES: name === 'a' ? 'api,scheduler' : 'api',
      REPRISE_DATA_DIR: join(directory, 'data'),
    },
    ready,
  })

async function startAgent(): Promise<SpawnedProgram> {
  return spawnProgram({
    args: [MAIN, 'agent'],
    environment: {
      // It stays with the first that answers; the channels are wanted at the other.
      REPRISE_SERVER_URL: servers.map(({ ready: url }) => url).join(),
      REPRISE_TOKEN: (agentToken ??= await tokenOf('--role', 'agent')),
      REPRISE_DATA_DIR: join(directory, 'agent'),
    },
    ready: /^reprise agent ready (http:\S+)$/,
  })
}

async function tokenOf(...args: string[]): Promise<string> {
  const { secret } = await makeToken(reprise, ...args)
  return secret
}

async function create(...command: string[]): Promise<string> {
  const { stdout, stderr } = await reprise('create', '--', ...command)
  const sessionId = stdout.trim()
  expect(stderr).toBe('')
  created.push(sessionId)
  await eventually(async () => JSON.parse((await reprise('info', sessionId, '--json')).stdout).status === 'RUNNING')
  return sessionId
}

async function audited(sessionId: string, action: string) {
  const values = [sessionId, action]
  const { rows } = await db.query<{ actor: string; details: Record<string, unknown> }>(
    'SELECT actor, details FROM audit_log WHERE session_id = $1 AND action = $2 ORDER BY id',
    values,
  )
  return rows
}

beforeAll(async () => {
  database = await testDatabase()
  db = openDatabase({ connectionString: database.connectionString, connectionsMax: 2, onError: () => {} })
  directory = await temporaryDirectory('channels')
  servers = [await startServer('a'), await startServer('b')]
  const token = await readAdminToken(join(directory, 'data'))
  environment = { REPRISE_URL: servers[1]!.ready, REPRISE_TOKEN: token, REPRISE_DATA_DIR: join(directory, 'none') }
  reprise = commandLine(environment)
  agent = await startAgent()
})
/** The agent has room for as many as the machine has processors. */
afterEach(async () => {
  for (const sessionId of created.splice(0)) await reprise('cancel', sessionId)
})
afterAll(async () => {
  await agent.stop()
  for (const server of servers) await server.stop()
  await db.close()
  await database.close()
})

test('a command has its input, output and exit status, and is in the audit log', async () => {
  const sessionId = await create('sleep', '1000')
  const { status, stdout, stderr } = await startCommand(
    ['exec', sessionId, '--', 'sh', '-c', 'cat; echo aside >&2; exit 42'],
    environment,
    'over there',
  ).ended
  expect({ status, stdout, stderr }).toEqual({ status: 42, stdout: 'over there', stderr: 'aside\n' })
  expect(await audited(sessionId, 'session.exec')).toMatchObject([
    { actor: 'admin', details: { kernel: 'main1', command: 'sh -c cat; echo aside >&2; exit 42', tty: false } },
  ])
  const ended = () => audited(sessionId, 'session.exec.ended')
  await eventually(async () => (await ended()).length === 1)
  expect(await ended()).toMatchObject([{ details: { exitCode: 42, bytesIn: 10, bytesOut: 16 } }])
})

test('a local terminal works in the session: keys, Ctrl-C, size; it is restored afterwards', async () => {
  const sessionId = await create('sleep', '1000')
  await walkTerminal(sessionId, environment, directory)
})

test('both commands refuse a token that may not enter at once', async () => {
  const sessionId = await create('sleep', '1000')
  await reprise('projects', 'create', 'theirs')
  const refusals = {
    FORBIDDEN: { secret: await tokenOf('--role', 'viewer', '--project', 'default'), status: 4 },
    SESSION_NOT_FOUND: { secret: await tokenOf('--role', 'member', '--project', 'theirs'), status: 3 },
  }
  for (const [code, { secret, status }] of Object.entries(refusals)) {
    const as = commandLine({ ...environment, REPRISE_TOKEN: secret })
    const told = { status, stdout: '', stderr: expect.stringContaining(code) as string }
    expect(await as('exec', '--no-stdin', sessionId, '--', 'echo', 'inside')).toMatchObject(told)
    expect(await as('port-forward', sessionId, '0:8888')).toMatchObject(told)
  }
  expect(await reprise('port-forward', sessionId, '--kernel', 'sub7', '0:8888')).toMatchObject({
    status: 3,
    stdout: '',
    stderr: expect.stringContaining('KERNEL_NOT_FOUND') as string,
  })
  const all = ['session.exec', 'session.connect'].map((action) => audited(sessionId, action))
  expect((await Promise.all(all)).flat()).toEqual([])
  await eventually(async () => {
    const operations = "SELECT DISTINCT details ->> 'operation' AS operation FROM audit_log WHERE action = 'refused'"
    const { rows } = await db.query<{ operation: string }>(`${operations} AND details ->> 'code' = 'FORBIDDEN'`, [])
    return rows.length === 2 && rows.every(({ operation }) => /^session\.(exec|connect)$/.test(operation))
  })
  await reprise('cancel', sessionId)
  expect(await reprise('port-forward', sessionId, '0:8888')).toMatchObject({
    status: 5,
    stdout: '',
    stderr: expect.stringContaining('SESSION_NOT_RUNNING') as string,
  })
})

test('a revoked token loses its open connections', async () => {
  const echo =
    'const s=require("net").createServer(c=>c.pipe(c)).listen(0,"127.0.0.1",()=>console.log("port "+s.address().port+"!"))'
  const sessionId = await create(process.execPath, '-e', echo)
  const port = await eventually(async () => /port (\d+)!/.exec((await reprise('logs', sessionId)).stdout)?.[1])
  const { secret, tokenId } = await makeToken(reprise, '--role', 'member', '--project', 'default')
  const theirs = { ...environment, REPRISE_TOKEN: secret }
  const mark = `: ${tokenId}; `
  const terminal = startInTerminal(['exec', sessionId, '--', 'sh', '-c', mark + SHELL], theirs, directory)
  await terminal.shows(/ready/)
  // Besides the command line itself, and the terminal's shell.
  expect(countRunning(mark)).toBeGreaterThan(2)
  const forward = startCommand(['port-forward', sessionId, `0:${port}`], theirs)
  const [, here] = await eventually(() => /:(\d+) is forwarded/.exec(forward.output.stdout))
  const socket = connect({ host: '127.0.0.1', port: Number(here) })
  socket.write('first')
  expect(String((await once(socket, 'data'))[0])).toBe('first')
  const broken = once(socket, 'error')

  expect(await reprise('tokens', 'revoke', tokenId)).toMatchObject({ status: 0 })
  await terminal.shows(/UNAUTHENTICATED[^]*status 4[^]* icanon[^]* echo /)
  await terminal.ended()
  expect(await broken).toMatchObject([{ code: 'ECONNRESET' }])
  expect(await forward.ended).toMatchObject({
    status: 4,
    stderr: expect.stringContaining('UNAUTHENTICATED') as string,
  })
  await eventually(() => countRunning(mark) === 0, { withinMs: 120_000 })
  for (const action of ['session.exec.ended', 'session.connect.ended']) {
    await eventually(async () => (await audited(sessionId, action)).length === 1)
    expect(await audited(sessionId, action)).toMatchObject([{ details: { reason: 'The token is no longer valid' } }])
  }
})

test('connections lead to a port of the session, and to no other port of the machine', async () => {
  const script =
    'const s=require("net").createServer({allowHalfOpen:true},c=>c.pipe(c)).listen(0,"127.0.0.1",()=>console.log("port "+s.address().port+"!"))'
  const sessionId = await create(process.execPath, '-e', script)
  const port = await eventually(async () => /port (\d+)!/.exec((await reprise('logs', sessionId)).stdout)?.[1])
  const others = createServer((socket) => socket.end('not for you')).listen(0, '127.0.0.1')
  await once(others, 'listening')
  const { port: other } = others.address() as { port: number }
  const forward = startCommand(['port-forward', sessionId, `0:${port}`, `0:${other}`], environment)
  const [, mine, foreign] = await eventually(() =>
    /:(\d+) is forwarded[^]*:(\d+) is forwarded/.exec(forward.output.stdout),
  )
  const echo = async (to: number, what: string) => {
    const socket = connect({ host: '127.0.0.1', port: to, allowHalfOpen: true })
    socket.end(what)
    return text(socket).catch((error: NodeJS.ErrnoException) => error.code)
  }
  const sizes = [1, 1_000, 1_000_000]
  const answers = await Promise.all(sizes.map((size) => echo(Number(mine), 'x'.repeat(size))))
  expect(answers.map((answer) => answer?.length)).toEqual(sizes)
  expect(await echo(Number(foreign), 'let me in')).toBe('ECONNRESET')
  await eventually(() => forward.output.stderr.includes(`no program of the kernel listens on port ${other}`))
  forward.child.kill('SIGINT')
  expect((await forward.ended).status).toBe(130)
  others.close()
  expect((await audited(sessionId, 'session.connect')).length).toBe(4)
})

test('a token that may not change a session may not enter it, and cookies are ignored', async () => {
  const sessionId = await create('sleep', '1000')
  const viewer = await tokenOf('--role', 'viewer', '--project', 'default')
  await reprise('projects', 'create', 'elsewhere')
  const stranger = await tokenOf('--role', 'member', '--project', 'elsewhere')
  const as = (token: string) => statusOf(sessionId, { authorization: `Bearer ${token}` })
  expect(await as(viewer)).toBe(403)
  expect(await as(stranger)).toBe(404)
  expect(await as('rpr_nonsense')).toBe(401)
  const { REPRISE_TOKEN: token } = environment
  const origin = servers[1]!.ready
  const { headers } = await logInBrowser(origin, `Bearer ${token}`)
  expect(await statusOf(sessionId, { ...headers, origin })).toBe(401)
  expect(await as(token!)).toBe(101)
  expect(await statusOf('00000000-0000-7000-8000-00000000000a', { authorization: `Bearer ${token}` })).toBe(404)
})

async function statusOf(sessionId: string, headers: Record<string, string>): Promise<number> {
  const url = `${servers[1]!.ready.replace('http', 'ws')}/v2/sessions/${sessionId}/exec`
  const socket = new WebSocket(url, { headers })
  const { promise, resolve } = Promise.withResolvers<number>()
  socket.once('open', () => resolve(101))
  socket.once('unexpected-response', (_, { statusCode }) => resolve(statusCode!))
  socket.on('error', () => resolve(0))
  const status = await promise
  socket.terminate()
  return status
}

test('a command ends with its session, its agent or its server, and says why', async () => {
  const sessionId = await create('sleep', '1000')
  const stubborn = ['--no-stdin', '--', 'sh', '-c', 'trap "" HUP TERM; echo ready; while :; do sleep 0.1; done']
  const start = async (id: string) => {
    const command = startCommand(['exec', id, ...stubborn], environment)
    await eventually(() => command.output.stdout.includes('ready'))
    return command
  }
  const first = await start(sessionId)
  await reprise('cancel', sessionId)
  const { status, stderr } = await first.ended
  // The command is told to end, hung up, and killed: which of these ends its shell depends on the isolation.
  expect([137, 129, 143]).toContain(status)
  expect(stderr).toContain('the kernel has ended\n')

  const other = await create('sleep', '1000')
  const second = await start(other)
  await agent.kill()
  expect(await second.ended).toMatchObject({ status: 5, stderr: expect.stringContaining('CHANNEL_LOST') })
  agent = await startAgent()

  const third = await start(other)
  await servers[1]!.kill()
  expect(await third.ended).toMatchObject({ status: 69, stderr: expect.stringContaining('CONNECTION_LOST') })
  servers[1] = await startServer('b')
  environment['REPRISE_URL'] = servers[1].ready
  reprise = commandLine(environment)
})
