import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import { bundlePython } from '../../scripts/bundle-python.ts'
import { startServer, type ServerProcess } from '../../src/cli/demo/server-process.ts'
import { ROOT } from '../guard/source-files.ts'
import { findPython, whyNoPythonModule, whyNotInstalled } from '../support/distribution.ts'
import { testDatabase, type TestDatabase } from '../support/database/database.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'

/** The Python client: its own tests, which start a server, its types, and its wheel. */

const CLIENT = join(ROOT, 'clients/python')
const python = findPython()
const functions = whyNotInstalled('python3') ?? whyNoPythonModule('cloudpickle')
const types = whyNotInstalled('python3') ?? whyNoPythonModule('mypy')
const environments = whyNotInstalled('python3') ?? whyNoPythonModule('venv')
const skipped = (why: string | null) => (why === null ? '' : `: skipped, ${why}`)

let directory: string
let database: TestDatabase
let other: TestDatabase

beforeAll(async () => {
  directory = await temporaryDirectory('python-client')
  database = await testDatabase()
  other = await testDatabase()
})
afterAll(async () => {
  await database?.close()
  await other?.close()
})

async function run(program: string, args: string[], options: { env?: NodeJS.ProcessEnv; cwd?: string } = {}) {
  try {
    return await promisify(execFile)(program, args, { cwd: CLIENT, timeout: 400_000, maxBuffer: 64 << 20, ...options })
  } catch (error) {
    const { message, stdout, stderr } = error as Error & { stdout: string; stderr: string }
    throw new Error(`${message}\n${stdout}\n${stderr}`, { cause: error })
  }
}

test.skipIf(functions !== null)(`its own tests pass${skipped(functions)}`, { timeout: 480_000 }, async () => {
  const env = {
    ...process.env,
    PYTHONPATH: `${join(CLIENT, 'src')}:${join(CLIENT, 'tests')}`,
    PYTHONDONTWRITEBYTECODE: '1',
    TEST_SERVER_COMMAND: `${process.execPath}\n${join(ROOT, 'bin/reprise.mjs')}`,
    TEST_DIRECTORY: directory,
    REPRISE_DATABASE_URL: database.connectionString,
    REPRISE_SLOTS: 'cpu=8,mem=4g',
  }
  const modules = ['test_unit', 'test_server']
  const { stderr } = await run(python!, ['-W', 'error', '-m', 'unittest', '-v', ...modules], { env, cwd: directory })
  expect(stderr).toMatch(/^Ran [1-9]\d+ tests in .*\n\nOK$/m)
})

test.skipIf(types !== null)(`its types are complete${skipped(types)}`, async () => {
  const env = { ...process.env, MYPYPATH: 'src' }
  const cache = ['--cache-dir', join(directory, 'mypy')]
  const { stdout } = await run(python!, ['-m', 'mypy', ...cache, '--config-file', 'pyproject.toml', 'src', 'tests'], {
    env,
  })
  expect(stdout).toMatch(/^Success: no issues found in \d\d source files$/m)
})

test('its version is that of the server', async () => {
  const text = await readFile(join(CLIENT, 'src/reprise_client/_version.py'), 'utf8')
  expect(text).toContain(`__version__ = "${packageJson.version}"\n`)
})

test('its runner has less than 100 lines', async () => {
  const text = await readFile(join(CLIENT, 'src/reprise_client/_runner.py'), 'utf8')
  expect(text.split('\n').length).toBeLessThan(100)
})

describe('the wheel', () => {
  let server: ServerProcess

  beforeAll(async () => {
    const env = { REPRISE_DATABASE_URL: other.connectionString, REPRISE_ROLES: 'api' }
    server = await startServer({ dataDir: join(directory, 'data'), port: 0, onLog: () => {}, env })
  })
  afterAll(() => server?.stop())

  test('has a stable address, and a page for pip', async () => {
    const [name] = await readdir(await bundlePython(ROOT))
    const served = await fetch(`${server.url}/clients/python/reprise-client.whl`)
    expect(served.url).toBe(`${server.url}/clients/python/${name}`)
    expect(Buffer.from(await served.arrayBuffer())).toEqual(await readFile(join(await bundlePython(ROOT), name!)))
    const page = await (await fetch(`${server.url}/clients/python/`)).text()
    expect(page).toContain(`href="/clients/python/${name}#sha256=`)
    expect((await fetch(`${server.url}/clients/python/`, { method: 'POST' })).status).toBe(405)
    expect((await fetch(`${server.url}/clients/python/other.whl`)).status).toBe(404)
  })

  test.skipIf(environments !== null)(`is installed from a running server${skipped(environments)}`, async () => {
    const place = join(directory, 'venv')
    await run(python!, ['-m', 'venv', place])
    const pip = ['-m', 'pip', '--isolated', '--disable-pip-version-check', '--no-cache-dir', 'install', '--no-deps']
    const program = join(place, 'bin/python')
    await run(program, [...pip, '--index-url', `${server.url}/clients/python/`, 'reprise-client'])
    const code = 'import reprise_client as rp; print(rp.__version__, rp.__file__); rp.Executor, rp.AsyncClient'
    const { stdout } = await run(program, ['-W', 'error', '-c', code], { cwd: place })
    expect(stdout).toContain(`${packageJson.version} ${place}/lib`)
    const check = await run(program, ['-m', 'pip', '--isolated', 'show', '-f', 'reprise-client'])
    expect(check.stdout).toContain('reprise_client/py.typed')
  })
})
