import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { CONFIGURATION } from '../../../src/program/config.ts'
import { ROOT } from '../../guard/source-files.ts'
import { blocksOfTest } from '../../support/document-blocks.ts'
import { type SpawnedProgram, spawnProgram } from '../../support/programs/spawned-program.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { endKernelsOf } from './kernel-notes.ts'
import { PATIENT_LEASE, type RemoteFleet, SHORT_LEASE, startRemoteFleet, textOf } from './remote-fleet.ts'
import { eventually, pause } from '../../support/eventually.ts'
import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { emptyDatabase } from '../../support/database/database.ts'

describe('remote agents', () => {
  /** A server and agents, each a process of its own. */

  let fleet: RemoteFleet
  let token: string

  beforeAll(async () => {
    fleet = await startRemoteFleet({ lease: PATIENT_LEASE })
    token = await fleet.token()
  })
  afterAll(async () => {
    await endKernelsOf(fleet)
    await fleet[Symbol.asyncDispose]()
  })

  const COUNT = 'i=0; while [ $i -lt 60 ]; do i=$((i+1)); echo "line $i"; sleep 0.1; done'
  const COUNTED = Array.from({ length: 60 }, (_, index) => `line ${index + 1}\n`).join('')

  test('sessions run on an agent elsewhere, with their logs', async () => {
    const agent = await fleet.startAgent({ name: 'near', token, args: ['--label', 'zone=a', '--label', 'disk=ssd'] })
    const ids = await Promise.all(
      [0, 3].map((code) => fleet.createSession({ command: ['sh', '-c', `echo out; echo err >&2; exit ${code}`] })),
    )
    const [fine, failed] = await Promise.all(
      ids.map((id) => fleet.until(id, ([first]) => first!.result === 'SUCCESS' || first!.failureCause !== null)),
    )
    expect(fine).toMatchObject([{ status: 'TERMINATED', result: 'SUCCESS', kernels: [{ agent: { name: 'near' } }] }])
    expect(failed).toMatchObject([{ status: 'ERROR', failureCause: 'KERNEL_NONZERO_EXIT' }])
    for (const chain of [fine!, failed!]) expect(textOf(chain[0]!).split('\n').toSorted()).toEqual(['', 'err', 'out'])
    const { agents } = await fleet.graphql('{ agents { edges { node { labels { key value } } } } }')
    expect(agents.edges[0].node.labels).toHaveLength(2)
    expect(await agent.stop()).toBe(0)
  })

  test('an agent that is killed finds its kernels again, and no line is missing', async () => {
    const agent = await fleet.startAgent({ name: 'near', token })
    const id = await fleet.createSession({ command: ['sh', '-c', COUNT] })
    await fleet.until(id, ([first]) => textOf(first!).includes('line 5\n'))
    await agent.kill()
    const again = await fleet.startAgent({ name: 'near', token })
    const [seen] = await fleet.until(id, ([first]) => first!.status === 'TERMINATED')
    expect(seen).toMatchObject({ attempt: 1, result: 'SUCCESS' })
    expect(textOf(seen!)).toBe(COUNTED)
    expect(await fleet.chain(id)).toHaveLength(1)
    await again.stop()
  })

  test('a server that is killed costs no attempt', async () => {
    const agent = await fleet.startAgent({ name: 'near', token })
    const running = await fleet.createSession({ command: ['sh', '-c', COUNT] })
    const ends = await fleet.createSession({ command: ['sh', '-c', 'echo begun; sleep 3; exit 0'] })
    await fleet.until(running, ([first]) => textOf(first!).includes('line 3\n'))
    await fleet.until(ends, ([first]) => first!.status === 'RUNNING')
    await fleet.server.kill()
    // Longer than an agent's silence may last: nobody was there to hear it.
    await pause(6_000)
    await fleet.restartServer()
    for (const id of [running, ends]) {
      const chain = await fleet.until(id, ([first]) => first!.status === 'TERMINATED')
      expect(chain).toMatchObject([{ attempt: 1, result: 'SUCCESS' }])
    }
    expect(textOf((await fleet.chain(running))[0]!)).toBe(COUNTED)
    await agent.stop()
  })

  test('a second agent of a directory, or one with a refused token, says so and ends', async () => {
    const agent = await fleet.startAgent({ name: 'near', token })
    await expect(fleet.startAgent({ name: 'near', token })).rejects.toThrow(/belongs to an agent that runs/)
    await expect(fleet.startAgent({ name: 'far', token: `rpr_${'x'.repeat(43)}` })).rejects.toThrow(
      /ended with 78:\n[^]*refuses this agent \(UNAUTHENTICATED\): A valid token is needed/,
    )
    await expect(fleet.startAgent({ name: 'far', token, args: ['--resource-group', 'nowhere'] })).rejects.toThrow(
      /ended with 78:\n[^]*RESOURCE_GROUP_NOT_FOUND/,
    )
    expect(await agent.stop()).toBe(0)
  })

  describe('as docs/agents.md starts one', () => {
    let blocks: Record<string, string>
    let directory: string
    /** Replaces the names of a real machine in the page. */
    let here: (text: string) => string

    beforeAll(async () => {
      const found = await blocksOfTest('test/e2e/remote/remote-agents.test.ts')
      blocks = Object.fromEntries(found.map(({ language, text }) => [language, text]))
      directory = await temporaryDirectory('documented-agent')
      await writeFile(join(directory, 'token'), token)
      here = (text) =>
        text
          .replaceAll('https://reprise.example.org', fleet.url)
          .replaceAll('/etc/reprise/', `${directory}/`)
          .replaceAll('/var/lib/reprise', join(directory, 'data'))
          .replaceAll('/opt/reprise', ROOT)
      await fleet.graphql('mutation { createResourceGroup(input: { name: "gpu" }) { __typename } }')
    })

    test('from a shell', async () => {
      const command = here(blocks['sh']!).replace(/^npx reprise /, '"$0" bin/reprise.mjs ')
      const through = ['bash', '-ec', `cd '${ROOT}'; exec ${command}`]
      const agent = await spawnProgram({
        through,
        args: [],
        environment: {},
        ready: /^reprise agent ready (http:\S+)$/,
      })
      const { agents } = await fleet.graphql(
        '{ agents(first: 100) { edges { node { status labels { key value } resourceGroup { name } slots { slot capacity } } } } }',
      )
      const own = agents.edges.map(({ node }: any) => node).find((node: any) => node.resourceGroup.name === 'gpu')
      expect(own).toMatchObject({ status: 'ALIVE', labels: [{ key: 'zone', value: 'a' }] })
      expect(own.slots).toContainEqual({ slot: 'cuda.device', capacity: '4' })
      expect(await agent.stop()).toBe(0)
    })

    test('under systemd', async () => {
      const lines = here(blocks['ini']!).trim().split('\n').slice(1)
      const unit = Object.fromEntries(lines.map((line) => line.split(/=(.*)/s).slice(0, 2) as [string, string]))
      const environment = Object.fromEntries(
        unit['Environment']!.split(' ').map((pair) => pair.split(/=(.*)/s).slice(0, 2) as [string, string]),
      )
      expect(CONFIGURATION.map(({ name }) => name)).toEqual(expect.arrayContaining(Object.keys(environment)))
      expect(unit).toMatchObject({ KillMode: 'process', Restart: 'always', RestartPreventExitStatus: '78' })
      const through = ['bash', '-ec', `cd '${unit['WorkingDirectory']}'; exec ${unit['ExecStart']}`]
      const agent = await spawnProgram({ through, args: [], environment, ready: /^reprise agent ready (http:\S+)$/ })
      expect(agent.ready).toBe(fleet.url)
      expect(await agent.stop()).toBe(0)
    })
  })
})

describe('embedded agents', () => {
  const SERVER = join(import.meta.dirname, '../../support/programs/short-lease-program.ts')

  const programs: SpawnedProgram[] = []

  afterEach(async () => {
    await Promise.all(programs.splice(0).map((program) => program.stop()))
  })

  /** Servers without the role `api` can hear nobody but the agent of their own process. */
  test('an embedded agent that is silent is lost, and keeps its first registration', async () => {
    const database = await emptyDatabase()
    const root = await temporaryDirectory('embedded-agents')
    await writeFile(join(root, 'secrets-key'), randomBytes(32).toString('base64'), { mode: 0o600 })
    const start = async (roles: string) => {
      const program = await spawnProgram({
        args: [SERVER, JSON.stringify(SHORT_LEASE)],
        environment: {
          REPRISE_DATABASE_URL: database.connectionString,
          REPRISE_DATA_DIR: join(root, roles),
          REPRISE_ROLES: roles,
          REPRISE_EXECUTOR: 'noop',
          REPRISE_SECRETS_KEY_FILE: join(root, 'secrets-key'),
        },
        ready: /^reprise ready (.*)$/,
      })
      programs.push(program)
      return program
    }
    const db = new pg.Client({ connectionString: database.connectionString })
    const read = async () => {
      const sql = 'SELECT status, embedded, registered_at AS "registeredAt" FROM agents'
      return (await db.query<{ status: string; embedded: boolean; registeredAt: Date }>(sql)).rows
    }
    await start('scheduler')
    const holder = await start('agent')
    await db.connect()
    const first = await eventually(async () => (await read())[0])
    expect(first).toMatchObject({ status: 'ALIVE', embedded: true })
    await holder.kill()
    programs.pop()
    await eventually(async () => (await read())[0]!.status === 'LOST')
    await start('agent')
    await eventually(async () => (await read())[0]!.status === 'ALIVE')
    expect(await read()).toEqual([first])
    await db.end()
    await Promise.all(programs.splice(0).map((program) => program.stop()))
    await database.drop()
  })
})
