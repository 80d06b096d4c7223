/** Groups of sessions from the command line, on a server with an agent that really runs them. */
import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readAdminToken, startServer, type ServerProcess } from '../../../src/cli/demo/server-process.ts'
import { fixedPort } from '../../support/agents/fixed-port.ts'
import { type TestDatabase, testDatabase } from '../../support/database/database.ts'
import { cleanEnvironment, commandLine, MAIN } from '../../support/programs/command-line.ts'
import { blocksOfTest } from '../../support/document-blocks.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'

let database: TestDatabase
let server: ServerProcess
let environment: Record<string, string>
let reprise: ReturnType<typeof commandLine>

beforeAll(async () => {
  const directory = await temporaryDirectory('groups')
  const dataDir = join(directory, 'data')
  database = await testDatabase()
  server = await startServer({
    dataDir,
    port: await fixedPort(),
    onLog: () => {},
    env: { REPRISE_DATABASE_URL: database.connectionString },
  })
  const token = await readAdminToken(dataDir)
  environment = { REPRISE_URL: server.url, REPRISE_TOKEN: token, XDG_CONFIG_HOME: directory }
  reprise = commandLine(environment)
})

afterAll(async () => {
  await server?.stop()
  await database?.close()
})

test('the commands of docs/groups.md work', async () => {
  const here = await temporaryDirectory('groups')
  const type = (text: string) => {
    const npx = `npx() { shift; '${process.execPath}' '${MAIN}' "$@"; }`
    const options = { cwd: here, env: cleanEnvironment(environment) }
    return promisify(execFile)('bash', ['-ec', `${npx}\n${text}`], options)
  }
  const [first, chained, second] = await blocksOfTest('test/e2e/command-line/groups.test.ts')
  const made = await type(first!.text)
  expect(made.stdout).toMatch(/^sweep \S+: SUCCEEDED: 20 of 20 succeeded; 20 succeeded\n/m)
  expect(made.stdout).toMatch(/ sweep +SUCCEEDED +20\/20 +0 +0 /)
  expect(made.stdout).toMatch(/^7 of 20\n$/m)
  expect(await readdir(join(here, 'results'))).toHaveLength(20)
  expect(await readFile(join(here, 'results/20/result'), 'utf8')).toBe('20 of 20\n')
  const merged = await type(chained!.text)
  expect(merged.stdout).toMatch(/^merged \S+: SUCCEEDED: 2 of 2 succeeded/m)
  const checked = await reprise('groups', 'show', 'checked')
  expect(checked.stdout).toMatch(/^after +parts \(same-index\)$/m)
  expect(checked.stdout).toMatch(/^state +SUCCEEDED$/m)
  const used = await type(second!.text)
  expect(used.stdout).toMatch(/^members +20: 20 succeeded$/m)
  expect(used.stdout).toMatch(/^limits +fails with 10 % failed$/m)
  expect(used.stdout).toMatch(/^partly \S+: FAILED: 1 of 3 failed; 2 succeeded$/m)
  expect(used.stderr).toMatch(/^\[2\] sh \S+: /m)
  expect(used.stdout).toMatch(/^1 chain resubmitted$/m)
})

test('a group is created once, ends the rest when it fails, and is cancelled as a whole', async () => {
  const run = ['run', '--array', '1-6%2', '--group', 'strict', '--max-failed', '1', '--', 'sh', '-c']
  const script = 'test "$REPRISE_INDEX" != 1 || exit 3; sleep 0.2'
  const failed = await reprise(...run, script)
  expect(failed).toMatchObject({ status: 1, stdout: expect.stringMatching(/^strict \S+: FAILED: 1 of 6 failed/) })
  expect(failed.stderr).toMatch(/^\[1\] sh \S+: .*exit code 3/m)
  const again = await reprise(...run, script)
  expect(again).toMatchObject({ status: 1, stderr: expect.stringContaining('6 members; it already existed') })
  const other = await reprise(...run, 'true')
  expect(other).toMatchObject({ status: 5, stderr: expect.stringContaining('created with another input') })

  const long = ['--array', '1-4%2', '--group', 'long', '--', 'sleep', '1000']
  expect((await reprise('create', ...long)).status).toBe(0)
  expect(await reprise('wait', 'long', '--timeout', '0')).toMatchObject({ status: 124 })
  const cancelled = await reprise('cancel', 'long', '--wait', '--reason', 'wrong input')
  expect(cancelled).toMatchObject({ status: 0, stdout: expect.stringMatching(/^long \S+: CANCELLED: cancelled by /) })
  expect(await reprise('cancel', 'long')).toMatchObject({ status: 5 })
  expect((await reprise('groups', 'show', 'long')).stdout).toMatch(/^members +4: 4 cancelled$/m)

  expect(await reprise('run', '--group', 'x', '--', 'true')).toMatchObject({ status: 2 })
  expect(await reprise('run', '--array', '1-2', '--max-failed', '1', '--', 'true')).toMatchObject({ status: 2 })
  expect(await reprise('groups', 'show', 'nowhere')).toMatchObject({ status: 3 })
  expect((await reprise('logs', 'nowhere', '--failed')).status).toBe(2)
})

test('each member can have a command of its own', async () => {
  const made = await reprise('create', '--array', '0-1', '--group', 'own', '--', 'echo', 'seed-{i}')
  expect(made.status).toBe(0)
  expect(await reprise('wait', 'own')).toMatchObject({ status: 0 })
  expect((await reprise('logs', 'own')).stdout).toMatch(/seed-0\n(.*\n)*.*seed-1\n/)
})
