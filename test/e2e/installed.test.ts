import { execFile } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import { readAdminToken, startServer, type ServerProcess } from '../../src/cli/demo/server-process.ts'
import { installPacked } from '../support/programs/packed-package.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'

/** `reprise` as those have it who installed the package: no sources, nothing for development, a database of its own. */

const run = promisify(execFile)

let root: string
let program: string
let server: ServerProcess
let env: NodeJS.ProcessEnv

beforeAll(async () => {
  const directory = await temporaryDirectory('installed')
  root = await installPacked(directory)
  program = join(root, 'bin/reprise.mjs')
  const dataDir = join(directory, 'data')
  server = await startServer({ program, dataDir, port: 0, onLog: () => undefined })
  env = { PATH: process.env['PATH'], REPRISE_URL: server.url, REPRISE_TOKEN: await readAdminToken(dataDir) }
})

afterAll(() => server?.stop(), 60_000)

const reprise = (...args: string[]) => run(process.execPath, [program, ...args], { env, timeout: 120_000 })

test('it serves, its agent runs and retries programs, and each command is there', async () => {
  const script = '[ $REPRISE_ATTEMPT = 2 ] && echo second time'
  const ran = await reprise('run', '--retries', '1', '--retry-delay', '0.1', '--', 'sh', '-c', script)
  expect(ran.stdout).toContain('second time')
  expect((await reprise('agents', '--json')).stdout).toContain('ALIVE')
  expect((await reprise('--version')).stdout.trim()).toBe(packageJson.version)
  for (const command of ['serve', 'agent', 'migrate', 'demo', 'doctor']) {
    expect((await reprise(command, '--help')).stdout).toContain(`Usage: reprise ${command}`)
  }
})

test('the package has no sources of the program', async () => {
  expect(await readdir(join(root, 'src'), { recursive: true })).not.toContain('main.ts')
  expect(await readdir(root)).not.toContain('scripts')
})

test('its web UI is served', async () => {
  const page = await (await fetch(`${server.url}/chains`)).text()
  const [, path] = /src="(\/assets\/[^"]+\.js)"/.exec(page) ?? []
  expect(path).toBeDefined()
  const asset = await fetch(server.url + path)
  expect([asset.status, asset.headers.get('content-type')]).toEqual([200, 'text/javascript; charset=utf-8'])
})
