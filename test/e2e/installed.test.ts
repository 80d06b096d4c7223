import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, cp, mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
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
  const names = await readdir(root)
  expect(names).not.toContain('scripts')
  expect(names).toContain('LICENSE')
})

test('its web UI is served', async () => {
  const page = await (await fetch(`${server.url}/chains`)).text()
  const [, path] = /src="(\/assets\/[^"]+\.js)"/.exec(page) ?? []
  expect(path).toBeDefined()
  const asset = await fetch(server.url + path)
  expect([asset.status, asset.headers.get('content-type')]).toEqual([200, 'text/javascript; charset=utf-8'])
})

describe.skipIf(process.getuid?.() !== 0)('as root', () => {
  const agent = async (more: NodeJS.ProcessEnv = {}) => {
    const settings = { REPRISE_SERVER_URL: server.url, REPRISE_TOKEN: 'rpr_unknown', REPRISE_DATA_DIR: `${root}/data` }
    const ended = await run(process.execPath, [program, 'agent'], { env: { ...env, ...settings, ...more } }).catch(
      (error: { code: number; stdout: string; stderr: string }) => error,
    )
    return { status: (ended as { code?: number }).code, output: ended.stdout + ended.stderr }
  }

  test('it does not start while another user can write its code, until that is accepted', async () => {
    const file = join(root, 'dist/program/reprise.mjs')
    await chmod(file, 0o666)
    const refused = await agent()
    const accepted = await agent({ REPRISE_ALLOW_UNSAFE_PATHS: 'true' })
    await chmod(file, 0o644)
    const unsafe = `${file}: another user can write this file of user 0 and group 0 with mode 0666`
    expect(refused).toMatchObject({ status: 78, output: expect.stringContaining(unsafe) })
    expect(accepted.output).not.toContain('another user')
    expect(accepted.output).toContain('token')
  })

  test('it loads no module that another user has put into a directory above', async () => {
    const [modules, planted] = [join(root, '..'), join(root, '../../../node_modules')]
    const [name, ran] = [join(planted, 'bufferutil'), join(planted, 'ran')]
    // The real one is looked for in the directories above it, and loads this one if it is anywhere there.
    await rm(join(modules, 'ws'))
    await cp(join(import.meta.dirname, '../../node_modules/ws'), join(modules, 'ws'), { recursive: true })
    await mkdir(name, { recursive: true })
    await writeFile(join(name, 'package.json'), '{"name":"bufferutil","main":"index.js"}')
    await writeFile(join(name, 'index.js'), `require('node:fs').writeFileSync('${ran}', '')`)
    await chmod(planted, 0o777)
    const { output } = await agent()
    const hasRun = existsSync(ran)
    // So it would have run.
    await run(process.execPath, ['-e', `require('${join(modules, 'ws')}')`])
    const found = existsSync(ran)
    await rm(planted, { recursive: true })
    expect(output).toContain('token')
    expect({ hasRun, found }).toEqual({ hasRun: false, found: true })
  })
})
