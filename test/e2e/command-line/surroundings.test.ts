import { spawn } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { text as textOf } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readAdminToken, startServer, type ServerProcess } from '../../../src/cli/demo/server-process.ts'
import { createClient, type Client } from '../../../src/client/node/index.ts'
import { fixedPort } from '../../support/agents/fixed-port.ts'
import { testDatabase, type TestDatabase } from '../../support/database/database.ts'
import { cleanEnvironment, commandLine, MAIN, startCommand } from '../../support/programs/command-line.ts'
import { PSEUDO_TERMINAL, startInTerminal } from '../../support/programs/pseudo-terminal.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { serveCommands } from './command-server.ts'

/** What a program gets from the place where `run` is typed, and what is seen of its output there. */

let database: TestDatabase
let server: ServerProcess
let client: Client
let environment: Record<string, string>
let reprise: ReturnType<typeof commandLine>

beforeAll(async () => {
  const directory = await temporaryDirectory('surroundings')
  const dataDir = join(directory, 'data')
  database = await testDatabase()
  server = await startServer({
    dataDir,
    port: await fixedPort(),
    onLog: () => {},
    env: { REPRISE_DATABASE_URL: database.connectionString },
  })
  client = createClient({ url: server.url, token: await readAdminToken(dataDir) })
  environment = { REPRISE_URL: server.url, REPRISE_DATA_DIR: dataDir, XDG_CONFIG_HOME: directory }
  reprise = commandLine(environment)
})

afterAll(async () => {
  await client?.close()
  await server?.stop()
  await database?.close()
})

test('--stdin gives standard input to each attempt, and without it a pipe is said to be unused', async () => {
  const retries = ['--retries', '1', '--retry-delay', '0.2']
  const script = ['sh', '-c', 'cat; test $REPRISE_ATTEMPT = 2']
  const run = startCommand(['run', '--stdin', ...retries, '--', ...script], environment, 'one\ntwo\n')
  expect(await run.ended).toMatchObject({ status: 0, stdout: 'one\ntwo\none\ntwo\n' })
  const words = [process.execPath, MAIN, 'run', '--', 'cat']
  const piped = spawn('sh', ['-c', 'echo lost | "$0" "$@"', ...words], {
    env: cleanEnvironment(environment),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [stdout, stderr] = await Promise.all([textOf(piped.stdout), textOf(piped.stderr)])
  expect(stdout).toBe('')
  expect(stderr).toContain('standard input is not passed to the program; with --stdin it is\n')
})

test('names of variables may have dots, those of secrets may not', async () => {
  expect((await reprise('run', '-e', 'app.mode=test one', '--', 'env')).stdout).toContain('\napp.mode=test one\n')
  const secret = startCommand(['run', '--secret', 'app.key', '--', 'env'], { ...environment, 'app.key': '1' })
  expect(await secret.ended).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('must be letters, digits and _'),
  })
})

describe.skipIf(!PSEUDO_TERMINAL)('output in a terminal (needs `script` of util-linux)', () => {
  test('a carriage return redraws the line, and a line without an end gets one', async () => {
    const command = ['sh', '-c', String.raw`printf '10 %%\r100 %%\033[2J'`]
    const { text } = await startInTerminal(['run', '-n', 'bar', '--', ...command], { columns: 80, environment }).ended
    expect(text).toMatch(/\r\n10 %\r100 %\\u001b\[2J\r\n[^─]*── attempt 1 succeeded/)
    const logs = await startInTerminal(['logs', 'bar'], { columns: 80, environment }).ended
    expect(logs.text).toBe('10 %\r100 %\\u001b[2J\r\n')
    expect((await reprise('logs', 'bar')).stdout).toBe('10 %\r100 %\u001b[2J')
  })
})

describe('from an activated environment', () => {
  /** A directory like one of `venv`, whose `python` tells which one it is. */
  async function activate(): Promise<Record<string, string>> {
    const root = join(await temporaryDirectory('venv'), 'mine')
    await mkdir(join(root, 'bin'), { recursive: true })
    await writeFile(join(root, 'bin/python'), '#!/bin/sh\necho "python of $VIRTUAL_ENV: $*"\n', { mode: 0o755 })
    return { VIRTUAL_ENV: root, PATH: `${join(root, 'bin')}:${process.env['PATH']}` }
  }
  const PYTHON = ['--', 'python', 'train.py']

  test('uses it, unless that is switched off', async () => {
    const own = await testDatabase()
    const directory = await temporaryDirectory('not-isolated')
    const open = await startServer({
      dataDir: directory,
      port: await fixedPort(),
      onLog: () => {},
      env: { REPRISE_DATABASE_URL: own.connectionString, REPRISE_ISOLATION: 'none' },
    })
    try {
      const venv = await activate()
      const here = { ...environment, REPRISE_URL: open.url, REPRISE_DATA_DIR: directory, ...venv }
      const used = await startCommand(['run', ...PYTHON], here).ended
      const root = venv['VIRTUAL_ENV']
      expect(used).toMatchObject({ status: 0, stdout: `python of ${root}: train.py\n` })
      expect(used.stderr).toContain(`with the environment ${root}\n`)
      const off = await startCommand(['run', '--env-from', 'none', ...PYTHON], here).ended
      expect(off.stdout).not.toContain('python of')
      const given = await startCommand(['run', '-e', 'VIRTUAL_ENV=given', ...PYTHON], here).ended
      expect(given.stdout).toBe('python of given: train.py\n')
    } finally {
      await open.stop()
      await own.close()
    }
  })

  test('says why it is not used where kernels cannot reach it', async () => {
    const agents = []
    for await (const agent of client.agents()) agents.push(agent)
    const venv = await activate()
    const { stderr } = await startCommand(['run', ...PYTHON], { ...environment, ...venv }).ended
    if (agents[0]!.isolation === 'none') return expect(stderr).toContain('with the environment')
    expect(stderr).toMatch(
      /^the environment \S+ is not used: kernels (have their own \S+|run as another user, who may not enter \S+)\. Move it/m,
    )
    expect(stderr).not.toContain('with the environment')
  })

  test('takes only named variables to another machine', async () => {
    const api = await serveCommands('env-from')
    const venv = await activate()
    const here = { ...api.environment, ...venv, OMP_A: '1', OMP_B: '2', REPRISE_X: '3' }
    const environOf = async (...args: string[]) => {
      const { stdout, stderr } = await startCommand(['create', ...args, ...PYTHON], here).ended
      const { data } = await api.server.query('query ($id: UUID!) { session(id: $id) { environ { name value } } }', {
        id: stdout.trim(),
      })
      return { environ: data.session.environ as { name: string; value: string }[], stderr }
    }
    try {
      const plain = await environOf()
      expect(plain.environ).toEqual([])
      expect(plain.stderr).toMatch(
        /^the environment \S+ is not used: the server is on another machine\. --env-from PATH/m,
      )
      const [wanted, missing] = ['VIRTUAL_ENV,OMP_*', 'NO_SUCH,REPRISE_*']
      const named = await environOf('--env-from', wanted, '--env-from', missing, '-e', 'OMP_B=own')
      expect(named.environ).toEqual([
        { name: 'VIRTUAL_ENV', value: venv['VIRTUAL_ENV'] },
        { name: 'OMP_A', value: '1' },
        { name: 'OMP_B', value: 'own' },
      ])
      expect(named.stderr).toContain('--env-from: NO_SUCH is not set here\n--env-from: REPRISE_* is not set here\n')
    } finally {
      await api.server.close()
    }
  })
})
