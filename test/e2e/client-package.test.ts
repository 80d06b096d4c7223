import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readAdminToken, startServer, type ServerProcess } from '../../src/cli/demo/server-process.ts'
import { readUiFiles } from '../../src/http/ui-files.ts'
import { ROOT } from '../guard/source-files.ts'
import { testDatabase, type TestDatabase } from '../support/database/database.ts'
import { blocksOfTest } from '../support/document-blocks.ts'
import { installPacked } from '../support/programs/packed-package.ts'
import { bundleForBrowsers, findChromium, runInBareContext, runInChromium } from '../support/browsers.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'

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
  const examples = (await blocksOfTest('test/e2e/client-package.test.ts')).map(({ text }) => text)
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

test('the command line comes along, and talks to the server', async () => {
  const bin = join(directory, 'node_modules/reprise/bin/reprise.mjs')
  const env = { PATH: process.env['PATH'], REPRISE_URL: server.url, REPRISE_TOKEN: token, XDG_CONFIG_HOME: directory }
  const { stdout } = await run(process.execPath, [bin, 'run', '-n', 'packed', '--', 'echo', 'from afar'], { env })
  expect(stdout).toBe('from afar\n')
  expect((await run(process.execPath, [bin, '--version'], { env })).stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
})

test('the web UI comes along', async () => {
  const { build, routes } = await readUiFiles(join(directory, 'node_modules/reprise/dist/ui'))
  expect(build).toMatch(/^[0-9a-f]{16}$/)
  expect(routes).toContainEqual({ method: 'GET', path: '/chains' })
})

/** What the compiler says of a module of somebody who installed the package. */
async function compiled(code: string): Promise<string> {
  await writeFile(join(directory, 'types.mts'), code)
  const args = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2022', '--types', '', 'types.mts']
  return run(join(ROOT, 'node_modules/.bin/tsc'), args, { cwd: directory }).then(
    () => '',
    (error: { stdout: string }) => error.stdout,
  )
}

test('the types come along, and hold', async () => {
  const head = `import { createClient, type Session } from 'reprise/client'\nconst client = createClient()\n`
  const use = `const session: Session = await client.session('x')\nexport const phase: 'HELD' | string = session.retryState.phase\n`
  expect(await compiled(`${head}${use}`)).toBe('')
  const wrong = await compiled(`${head}export const exitCode: string = (await client.waitForChain('x')).exitCode\n`)
  expect(wrong).toContain("Type 'number | null' is not assignable to type 'string'")
})

test('the entry for operations of others comes along, with types', async () => {
  const complaint = await compiled(`
    import { createConnection, type Connection } from 'reprise/client/connection'
    const connection: Connection = createConnection({ url: 'http://localhost' })
    const data = await connection.request<{ now: string }>('{ now }')
    for await (const { changes } of connection.stream<{ changes: { cursor: string } }>('', {})) changes.cursor.at(0)
    export const now: number = data.now`)
  expect(complaint.trim().split('\n')).toEqual([expect.stringContaining("'string' is not assignable to type 'number'")])
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
