import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readAdminToken } from '../../src/cli/demo/server-process.ts'
import { commandLine, MAIN } from '../support/programs/command-line.ts'
import { testDatabase, type TestDatabase } from '../support/database/database.ts'
import { eventually } from '../support/eventually.ts'
import { type SpawnedProgram, spawnProgram } from '../support/programs/spawned-program.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'

/** A machine on which nothing keeps kernels apart: on the path of these programs there is nothing at all. */

let database: TestDatabase
let directory: string
let environment: Record<string, string>

beforeAll(async () => {
  database = await testDatabase()
  directory = await temporaryDirectory('isolation')
  const nothing = join(directory, 'nothing')
  mkdirSync(nothing)
  environment = {
    PATH: nothing,
    REPRISE_DATABASE_URL: database.connectionString,
    REPRISE_PORT: '0',
    REPRISE_DATA_DIR: join(directory, 'data'),
  }
})
afterAll(() => database.close())

describe.each(['namespaces', 'user'])('a configured isolation that does not work: %s', (mode) => {
  test.each([
    ['a server', ['serve'], {}],
    ['an agent', ['agent'], { REPRISE_SERVER_URL: 'http://127.0.0.1:2', REPRISE_TOKEN: 'rpr_none' }],
  ])('%s does not start, and says why', async (_, args, more) => {
    const reprise = commandLine({ ...environment, ...more, REPRISE_ISOLATION: mode })
    const { status, stdout, stderr } = await reprise(...args)
    expect(status).toBe(78)
    expect(stdout + stderr).toContain(`REPRISE_ISOLATION=${mode} does not work here`)
    expect(stdout + stderr).toMatch(
      mode === 'user' ? /setpriv is not installed|only root/ : /bwrap is not installed.*unshare is not installed/,
    )
    expect(stdout).not.toContain('ready')
  })
})

/** Sends the request as a client without the command line. */
async function send(server: SpawnedProgram, query: string): Promise<any> {
  const response = await fetch(`${server.ready}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${await adminToken()}` },
    body: JSON.stringify({ query }),
  })
  const { data, errors } = (await response.json()) as { data: unknown; errors?: object[] }
  if (errors !== undefined) throw new Error(JSON.stringify(errors))
  return data
}

const adminToken = () => readAdminToken(environment['REPRISE_DATA_DIR']!)

/** Returns what the start, the doctor and the probe say about isolation. */
async function warnings(server: SpawnedProgram) {
  const { warnings: ready = [] } = (await (await fetch(`${server.ready}/readyz`)).json()) as { warnings?: string[] }
  const { PATH: _, ...rest } = environment
  const reprise = commandLine({ ...rest, REPRISE_URL: server.ready, REPRISE_TOKEN: await adminToken() })
  const { status, stdout } = await reprise('doctor', '--json')
  const { findings } = JSON.parse(stdout) as { findings: { what: string; state: string; found: string }[] }
  const doctor = findings.filter(({ what, state }) => what === 'warning of the server' && state === 'warning')
  // The database of tests belongs to a superuser, and is open to all roles.
  const ofIsolation = (found: string[]) => found.filter((each) => each.includes('REPRISE_ISOLATION'))
  return { ready: ofIsolation(ready), doctor: ofIsolation(doctor.map(({ found }) => found)), status }
}

const MEMBER =
  'mutation { createToken(input: { name: "m", role: MEMBER, project: "default" }) { __typename ... on Error { code message } } }'
const PROJECT = 'mutation { createProject(input: { name: "p" }) { __typename ... on Error { code message } } }'
const start = (more: Record<string, string>) =>
  spawnProgram({ args: [MAIN, 'serve'], environment: { ...environment, ...more }, ready: /^reprise ready (http:\S+)$/ })

test('without any isolation nobody else is let in until it is set by hand, and then it is warned of', async () => {
  const automatic = await start({})
  // The log comes by another pipe than the line that the server is ready.
  await eventually(() => automatic.log.join('\n').includes('kernels are not isolated (REPRISE_ISOLATION)'))
  await eventually(async () => (await send(automatic, '{ agents { totalCount } }')).agents.totalCount === 1)
  const { createToken: refused } = await send(automatic, MEMBER)
  expect(refused).toMatchObject({
    code: 'ISOLATION_REQUIRED',
    message: expect.stringContaining('REPRISE_ISOLATION=none'),
  })
  const { createProject } = await send(automatic, PROJECT)
  expect(createProject).toMatchObject({ code: 'ISOLATION_REQUIRED' })
  const alone = [expect.stringContaining('kernels are not isolated (REPRISE_ISOLATION)')]
  expect(await warnings(automatic)).toEqual({ ready: alone, doctor: alone, status: 0 })
  await automatic.stop()

  const byHand = await start({ REPRISE_ISOLATION: 'none' })
  const told = async () => (await send(byHand, MEMBER)).createToken.__typename === 'CreateTokenPayload'
  await eventually(told)
  const { ready, doctor } = await warnings(byHand)
  expect(ready).toEqual([expect.stringContaining('without isolation (REPRISE_ISOLATION)')])
  expect(doctor).toEqual(ready)
  await byHand.stop()
})
