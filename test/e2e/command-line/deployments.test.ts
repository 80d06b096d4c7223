import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { readAdminToken, startServer, type ServerProcess } from '../../../src/cli/demo/server-process.ts'
import { createClient, type DeploymentEvent } from '../../../src/client/node/index.ts'
import { commandLine, startCommand } from '../../support/programs/command-line.ts'
import { testDatabase, type TestDatabase } from '../../support/database/database.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'

/** Deployments from the command line and the client, on a server with an agent that runs real processes. */

const PROGRAM = `require('node:http').createServer((_request, response) => response.end(process.env.COLOUR ?? 'none'))
  .listen(process.env.PORT, '127.0.0.1')`

let database: TestDatabase
let server: ServerProcess
let token: string
let discovery: string
let environment: Record<string, string>
let reprise: ReturnType<typeof commandLine>

beforeAll(async () => {
  const directory = await temporaryDirectory('deployments')
  database = await testDatabase()
  const dataDir = join(directory, 'data')
  discovery = join(directory, 'discovery')
  const env = {
    REPRISE_DISCOVERY_DIR: discovery,
    REPRISE_DATABASE_URL: database.connectionString,
    REPRISE_SLOTS: 'cpu=8',
    REPRISE_AGENT_ADDRESS: '127.0.0.1',
  }
  server = await startServer({ dataDir, port: 0, onLog: () => {}, env })
  token = await readAdminToken(dataDir)
  const config = { XDG_CONFIG_HOME: directory, REPRISE_DATA_DIR: join(directory, 'none') }
  environment = { ...config, REPRISE_URL: server.url, REPRISE_TOKEN: token }
  reprise = commandLine(environment)
})
afterAll(async () => {
  await server?.stop()
  await database?.close()
})

async function answers(name: string): Promise<string[]> {
  const shown = JSON.parse((await reprise('deployments', 'info', name, '--json')).stdout)
  return Promise.all(shown.endpoints.map(async ({ url }: { url: string }) => (await fetch(url)).text()))
}

/** What the files name, when it is so many. */
async function discovered(count: number): Promise<string[]> {
  const targets = async () => {
    const groups = JSON.parse(await readFile(join(discovery, 'prometheus.json'), 'utf8')) as { targets: string[] }[]
    return groups.flatMap((group) => group.targets)
  }
  await vi.waitFor(async () => expect(await targets()).toHaveLength(count), { timeout: 120_000, interval: 20 })
  return targets()
}

test('a deployment from its creation to its end', async () => {
  const watching = startCommand(['deployments', 'watch', '--json'], environment)
  await vi.waitFor(() => expect(watching.output.stderr).toContain('watching from'), { timeout: 120_000 })

  const options = ['--replicas', '2', '--cpu', '0.1', '--health-interval', '200ms', '--drain', '0s']
  const created = await reprise(
    'deployments',
    'create',
    'web',
    ...options,
    '--wait',
    '--',
    process.execPath,
    '-e',
    PROGRAM,
  )
  expect(created.status, created.stderr).toBe(0)
  const id = created.stdout.trim()
  expect(id).toMatch(/^[0-9a-f-]{36}$/)
  expect(created.stderr).toContain('web: READY, 2 of 2 healthy, revision 1')
  expect(await answers('web')).toEqual(['none', 'none'])
  for (const target of await discovered(2)) expect((await fetch(`http://${target}/`)).status).toBe(200)

  const again = await reprise('deployments', 'create', 'web', '--', 'true')
  expect(again).toMatchObject({ status: 5, stderr: expect.stringContaining('NAME_TAKEN') })
  const { stdout: shown } = await reprise('deployments', 'info', 'web')
  expect(shown).toMatch(/healthy +2 of 2\n[^]*check +GET \/ every 0.2 s[^]*\nROUTE[^]*HEALTHY +1 +127\.0\.0\.1:\d+/)

  const updated = await reprise('deployments', 'update', 'web', '-e', 'COLOUR=blue', '--wait')
  expect(updated.status, updated.stderr).toBe(0)
  expect(updated.stdout).toBe('web: READY, 2 of 2 healthy, revision 2\n')
  expect(await answers(id)).toEqual(['blue', 'blue'])

  const scaled = await reprise('deployments', 'scale', 'web', '1', '--wait')
  expect(scaled.stdout, scaled.stderr).toBe('web: READY, 1 of 1 healthy, revision 2\n')
  expect(await reprise('deployments', 'scale', 'web', 'many')).toMatchObject({ status: 2 })
  const listed = JSON.parse((await reprise('deployments', '--json')).stdout)
  expect(listed).toMatchObject([{ deploymentId: id, settled: true, healthyReplicas: 1, revision: { number: 2 } }])

  const destroyed = await reprise('deployments', 'destroy', 'web', '--reason', 'over', '--wait')
  expect(destroyed.stdout, destroyed.stderr).toMatch(/^web: DESTROYED, 0 of 1 healthy/)
  expect(await discovered(0)).toEqual([])
  expect(await reprise('deployments')).toMatchObject({ status: 0, stdout: '', stderr: 'no deployments\n' })
  expect(await reprise('deployments', 'info', 'nothing')).toMatchObject({ status: 3 })

  const events = () =>
    watching.output.stdout
      // The last may not be whole yet.
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as DeploymentEvent)
  await vi.waitFor(() => expect(events().at(-1)).toMatchObject({ type: 'DESTROYED' }), { timeout: 120_000 })
  watching.child.kill('SIGINT')
  expect((await watching.ended).status).toBe(130)
  const types = events().map(({ type }) => type)
  expect(types[0]).toBe('CREATED')
  expect(types).toEqual(expect.arrayContaining(['UPDATED', 'SCALED', 'ROUTE_STATUS_CHANGED', 'DESTROYED']))
  expect(events().filter(({ toStatus }) => toStatus === 'HEALTHY')).toHaveLength(4)
})

test('the client creates once, follows and waits', async () => {
  await using client = createClient({ url: server.url, token })
  const after = await client.eventCursor()
  const input = {
    name: 'sdk',
    command: [process.execPath, '-e', PROGRAM],
    resourceSlots: [{ slot: 'cpu', amount: '0.1' }],
    healthCheck: { interval: 0.2 },
    drain: 0,
    creationId: 'sdk-1',
  }
  const { deployment, created } = await client.createDeployment(input)
  const second = await client.createDeployment(input)
  expect([created, second.created, second.deployment.deploymentId]).toEqual([true, false, deployment.deploymentId])
  const { deploymentId } = deployment
  const seen: string[] = []
  const ready = await client.waitForDeployment(deploymentId, { onDeployment: ({ status }) => seen.push(status) })
  expect(ready).toMatchObject({ status: 'READY', settled: true, healthyReplicas: 1 })
  expect(seen.at(-1)).toBe('READY')
  expect((await client.updateDeployment({ deploymentId, priority: 20 })).revision.number).toBe(2)
  expect((await client.updateDeployment({ deploymentId, priority: 20 })).revision.number).toBe(2)
  expect(await client.waitForDeployment(deploymentId)).toMatchObject({ revision: { number: 2 }, healthyReplicas: 1 })
  await client.scaleDeployment({ deploymentId, replicas: 0 })
  expect(await client.waitForDeployment(deploymentId)).toMatchObject({ settled: true, healthyReplicas: 0, replicas: 0 })
  await client.destroyDeployment(deploymentId, 'over')
  expect(await client.waitForDeployment(deploymentId)).toMatchObject({ status: 'DESTROYED', settled: true })
  const types: string[] = []
  for await (const { type } of client.deploymentEvents(
    { deploymentId, types: ['CREATED', 'SCALED', 'UPDATED', 'DESTROYED'] },
    { after },
  )) {
    types.push(type)
    if (type === 'DESTROYED') break
  }
  expect(types).toEqual(['CREATED', 'UPDATED', 'SCALED', 'DESTROYED'])
  const names: string[] = []
  for await (const { name } of client.deployments({ orderBy: { field: 'NAME' } })) names.push(name)
  expect(names).toContain('sdk')
  await expect(client.scaleDeployment({ deploymentId, replicas: 1 })).rejects.toMatchObject({
    code: 'DEPLOYMENT_DESTROYED',
  })
})

test('--wait gives up on a revision that cannot start, and says how it ended', async () => {
  const options = ['--cpu', '0.1', '--health-interval', '200ms', '--drain', '0s', '--wait']
  const failing = ['sh', '-c', 'echo first; for n in 1 2 3 4 5 6 7 8 9 10; do echo line $n; done; exit 7']
  const { status, stdout, stderr } = await reprise('deployments', 'create', 'broken', ...options, '--', ...failing)
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
  expect(stderr).toMatch(/broken: SCALING: 0 of 1 replicas of revision 1 are healthy/)
  expect(stderr).toMatch(/error: revision 1 of broken cannot start: 3 routes in a row failed; the last exited with 7/)
  const lines = [...stderr.matchAll(/^ {2}\| (.*)$/gm)].map(([, line]) => line)
  expect(lines).toEqual(Array.from({ length: 10 }, (_, n) => `line ${n + 1}`))
  const [, session] = stderr.match(/`reprise logs (\S+)` shows all its output/)!
  expect((await reprise('logs', session!)).stdout).toContain('first\n')

  const mended = [...options, '--', process.execPath, '-e', PROGRAM]
  const good = await reprise('deployments', 'update', 'broken', ...mended)
  expect(good, good.stderr).toMatchObject({ status: 0, stdout: 'broken: READY, 1 of 1 healthy, revision 2\n' })
  const missing = await reprise('deployments', 'update', 'broken', '--wait', '--', 'no-such-program')
  expect(missing.status).toBe(1)
  expect(missing.stderr).toMatch(
    /revision 3 of broken cannot start: .* exited with 127 \(command not found: no-such-program/,
  )
  expect(await answers('broken')).toEqual(['none'])
  expect(await reprise('deployments', 'destroy', 'broken', '--wait')).toMatchObject({ status: 0 })
})
