import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, cp, mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import { readAdminToken, type ServerProcess, startServer } from '../../src/cli/demo/server-process.ts'
import { installPacked } from '../support/programs/packed-package.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'
import { ROOT } from '../guard/source-files.ts'
import { testDatabase, type TestDatabase } from '../support/database/database.ts'
import { blocksOfTest } from '../support/document-blocks.ts'
import { bundleForBrowsers, findChromium, runInBareContext, runInChromium } from '../support/browsers.ts'

describe('installed', () => {
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

  test('it offers the Python client', async () => {
    const served = await fetch(`${server.url}/clients/python/reprise-client.whl`)
    expect(served.url).toMatch(/\/reprise_client-[\d.]+-py3-none-any\.whl$/)
    expect(Buffer.from(await served.arrayBuffer()).toString('latin1')).toContain('reprise_client/_runner.py')
  })

  test('publint has nothing to say about the package', async () => {
    // Not a literal, so that the types of the package are not needed.
    const name: string = 'publint'
    const { publint } = (await import(name)) as {
      publint: (options: { pkgDir: string; pack: false; strict: true }) => Promise<{ messages: { code: string }[] }>
    }
    const { messages } = await publint({ pkgDir: root, pack: false, strict: true })
    expect(messages).toEqual([])
  })

  test('the package has no sources of the program', async () => {
    expect(await readdir(join(root, 'src'), { recursive: true })).not.toContain('main.ts')
    const names = await readdir(root)
    expect(names).not.toContain('scripts')
    expect(names).toContain('LICENSE')
  })

  describe('with a Node that is too old', () => {
    const old = `data:text/javascript,${encodeURIComponent(
      `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.19.0' } })`,
    )}`
    const onOldNode = () => run(process.execPath, ['--import', old, program, '--version'])
    const nodePackage = `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`
    const own = join(ROOT, 'node_modules', nodePackage)

    test('the first line is a command to run, for this very installation', async () => {
      const { code, stdout, stderr } = (await onOldNode().catch((error: unknown) => error)) as Record<string, unknown>
      const prefix = JSON.stringify(join(root, '../../..'))
      expect({ code, stdout, stderr }).toEqual({
        code: 1,
        stdout: '',
        stderr: existsSync(own)
          ? `Node ${process.version} is too old for Reprise. Run: npm install --global --prefix ${prefix} ${nodePackage}@24\n`
          : expect.stringContaining('https://nodejs.org'),
      })
    })

    test.skipIf(!existsSync(own))('it runs with the one that this command installs', async () => {
      const beside = join(root, '..', nodePackage)
      await symlink(own, beside)
      try {
        const { stdout } = await onOldNode()
        expect(stdout.trim()).toBe(packageJson.version)
      } finally {
        await rm(beside)
      }
    })
  })

  describe('without a build', () => {
    let checkout: string
    beforeAll(async () => {
      checkout = await temporaryDirectory('no-build')
      for (const name of ['package.json', '.npmrc', 'bin']) {
        await cp(join(ROOT, name), join(checkout, name), { recursive: true })
      }
    })

    test('`npm pack` fails instead of making a package without the program', async () => {
      const packing = run('npm', ['pack'], { cwd: checkout, shell: process.platform === 'win32' })
      await expect(packing).rejects.toMatchObject({ stderr: expect.stringContaining('dist') as string })
      expect((await readdir(checkout, { recursive: true })).filter((name) => name.endsWith('.tgz'))).toEqual([])
    })

    test('a package that was made nevertheless has one line to say so', async () => {
      await expect(run(process.execPath, [join(checkout, 'bin/reprise.mjs')])).rejects.toMatchObject({
        code: 1,
        stderr: 'This package was packed without a build. Where it was packed, run: npm run build && npm pack\n',
      })
    })
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
      const settings = {
        REPRISE_SERVER_URL: server.url,
        REPRISE_TOKEN: 'rpr_unknown',
        REPRISE_DATA_DIR: `${root}/data`,
      }
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
})

describe('client package', () => {
  /** `reprise/client` as others get it: packed, installed, and used from plain JavaScript, TypeScript and browsers. */

  const run = promisify(execFile)
  const START_OF_TIME = btoa('0:0').replaceAll('=', '')

  let directory: string
  let database: TestDatabase
  let server: ServerProcess
  let token: string

  beforeAll(async () => {
    directory = await temporaryDirectory('package')
    database = await testDatabase()
    const dataDir = join(directory, 'data')
    const env = { REPRISE_DATABASE_URL: database.connectionString }
    const starting = startServer({ dataDir, port: 0, onLog: () => {}, env })
    await installPacked(directory)
    server = await starting
    token = await readAdminToken(dataDir)
  })

  afterAll(async () => {
    await server?.stop()
    await database?.close()
  })

  /** A program of somebody who installed the package; answers with what it prints. */
  async function runProgram(name: string, code: string): Promise<string> {
    const path = join(directory, name)
    await writeFile(path, code)
    const env = { PATH: process.env['PATH'], TOKEN: token, SPARE_URL: 'http://127.0.0.1:1', CURSOR: START_OF_TIME }
    const { stdout } = await run(process.execPath, ['--unhandled-rejections=strict', path], { env, timeout: 120_000 })
    return stdout
  }

  test('the examples of docs/client.md do what it says', async () => {
    const examples = (await blocksOfTest('test/e2e/installed.test.ts')).map(({ text }) => text)
    expect(examples).toHaveLength(3)
    const outputs: string[] = []
    for (const [index, code] of examples.entries()) {
      expect(code).toContain('http://127.0.0.1:4000')
      outputs.push(await runProgram(`example-${index}.mjs`, code.replaceAll('http://127.0.0.1:4000', server.url)))
    }
    expect(outputs[0]).toBe('1: attempt 1\n2: attempt 2\nSUCCEEDED after 2 attempts, exit code 0\n')
    expect(outputs[1]).toMatch(/^SESSION_NOT_FOUND\n(.*\n)*RETRY_SUCCEEDED 2 4\n$/)
    expect(outputs[2]).toBe('mine\n')
  })

  test('the package has the command line, which talks to the server', async () => {
    const bin = join(directory, 'node_modules/reprise/bin/reprise.mjs')
    const env = { PATH: process.env['PATH'], REPRISE_URL: server.url, REPRISE_TOKEN: token, XDG_CONFIG_HOME: directory }
    const { stdout } = await run(process.execPath, [bin, 'run', '-n', 'packed', '--', 'echo', 'from afar'], { env })
    expect(stdout).toBe('from afar\n')
    expect((await run(process.execPath, [bin, '--version'], { env })).stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
  })

  /** Returns the errors of the compiler in a module that uses the installed package. */
  async function compiled(code: string): Promise<string> {
    await writeFile(join(directory, 'types.mts'), code)
    const args = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2022', '--types', '', 'types.mts']
    return run(join(ROOT, 'node_modules/.bin/tsc'), args, { cwd: directory }).then(
      () => '',
      (error: { stdout: string }) => error.stdout,
    )
  }

  test('the package has types, and they hold', async () => {
    const head = `import { createClient, type Session } from 'reprise/client'\nconst client = createClient()\n`
    const use = `const session: Session = await client.session('x')\nexport const phase: 'HELD' | string = session.retryState.phase\n`
    expect(await compiled(`${head}${use}`)).toBe('')
    const wrong = await compiled(`${head}export const exitCode: string = (await client.waitForChain('x')).exitCode\n`)
    expect(wrong).toContain("Type 'number | null' is not assignable to type 'string'")
  })

  test('the package has the entry for custom operations, with types', async () => {
    const complaint = await compiled(`
    import { createConnection, type Connection } from 'reprise/client/connection'
    const connection: Connection = createConnection({ url: 'http://localhost' })
    const data = await connection.request<{ now: string }>('{ now }')
    for await (const { changes } of connection.stream<{ changes: { cursor: string } }>('', {})) changes.cursor.at(0)
    export const now: number = data.now`)
    expect(complaint.trim().split('\n')).toEqual([
      expect.stringContaining("'string' is not assignable to type 'number'"),
    ])
  })

  describe('in browsers', () => {
    const story = (url: string) => `
    const client = createClient({ url: ${JSON.stringify(url)}, token: ${JSON.stringify(token)} })
    const { session } = await client.createSession({ name: 'web', command: ['sh', '-c', 'echo seen; exit 3'],
      retryPolicy: { maxRetries: 1, retryDelay: 0.2 } })
    let log = ''
    for await (const { text } of client.chainLogs(session.sessionId)) log += text
    const { outcome, exitCode, attempts } = await client.waitForChain(session.sessionId)
    await client.close()
    return JSON.stringify({ outcome, exitCode, attempts: attempts.length, log })`
    const expected = { outcome: 'FAILED', exitCode: 3, attempts: 2, log: 'seen\nseen\n' }

    test('the bundle needs nothing of Node', async () => {
      const bundle = await bundleForBrowsers(directory)
      expect(JSON.parse(await runInBareContext(bundle, story(server.url)))).toEqual(expected)
    })

    test.skipIf(findChromium() === undefined)('Chromium runs it', async () => {
      const bundle = await bundleForBrowsers(directory)
      const outcome = await runInChromium({ bundle, story, target: server.url, directory: join(directory, 'profile') })
      expect(JSON.parse(outcome)).toEqual(expected)
    })
  })
})
