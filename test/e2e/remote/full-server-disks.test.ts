import { execFileSync } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { text as textIn } from 'node:stream/consumers'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readAdminToken, startServer } from '../../../src/cli/demo/server-process.ts'
import { connectionString, openCluster } from '../../../src/store/postgres/cluster.ts'
import { EMBEDDED_DATABASE } from '../../../src/store/postgres/embedded.ts'
import { addressOf, readPidFile } from '../../../src/store/postgres/postmaster.ts'
import { copyPreparedCluster } from '../../support/database/prepared-cluster.ts'
import { eventually } from '../../support/eventually.ts'
import { commandLine } from '../../support/programs/command-line.ts'
import { whyNoMounts } from '../../support/run/mounts.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { type RemoteFleet, startRemoteFleet } from './remote-fleet.ts'
import { empty, fill, limitOpenFiles, noLimits, openFilesOf, reached, steps, useSmallDisks } from './small-disks.ts'

/** Disks of a server that are full, and have space again: calls say so, and all goes on by itself. */

const mountAt = useSmallDisks()

let fleet: RemoteFleet

beforeAll(async () => {
  fleet = await startRemoteFleet()
})
afterAll(() => fleet?.[Symbol.asyncDispose]())

async function newArchive(): Promise<{ sha256: string; archive: Buffer }> {
  const content = await temporaryDirectory('content')
  writeFileSync(join(content, 'hello.sh'), `echo ${randomUUID()}\n`.repeat(10_000))
  const archive = execFileSync('tar', ['--format=ustar', '-C', content, '-cf', '-', 'hello.sh'])
  return { archive, sha256: createHash('sha256').update(archive).digest('hex') }
}

/** A connection that is there before the disk is full. @returns what makes the database write until it ends */
async function holdDatabase(directory: string): Promise<() => Promise<void>> {
  const cluster = await openCluster(directory)
  const address = addressOf((await readPidFile(cluster))!)
  const client = new pg.Client({ connectionString: connectionString(cluster, address, EMBEDDED_DATABASE) })
  client.on('error', () => {})
  await client.connect()
  return async () => {
    for (let segments = 0; segments < 100; segments++) {
      try {
        await client.query(`SELECT pg_logical_emit_message(false, 'test', 'x')`)
        await client.query('SELECT pg_switch_wal()')
      } catch {
        return client.end().catch(() => {})
      }
    }
    throw new Error('the database has space for 100 further files of its log')
  }
}

const noMounts = whyNoMounts()

describe.skipIf(noMounts !== null)(`disks that are full${noMounts === null ? '' : ` (skipped: ${noMounts})`}`, () => {
  test('of a server and its embedded database: errors say so, running sessions go on; with space all goes on', async () => {
    const disk = await temporaryDirectory('embedded')
    mountAt(disk, '400m')
    const dataDir = join(disk, 'data')
    mkdirSync(dataDir, { mode: 0o711 })
    await copyPreparedCluster(join(dataDir, 'postgres'))
    const env = { REPRISE_ISOLATION: 'none' }
    const said: string[] = []
    let server = await startServer({ dataDir, port: 0, onLog: (line) => said.push(line), env })
    const adminToken = await readAdminToken(dataDir)
    const headers = { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' }
    const answered = async (path: string, body: object) => {
      const response = await fetch(`${server.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
      return { status: response.status, body: await response.json() }
    }
    const create = (command: string[]) => answered('/v2/sessions', { name: 'embedded', command })
    const statusOf = async (id: string) =>
      ((await (await fetch(`${server.url}/v2/sessions/${id}`, { headers })).json()) as { status?: string }).status
    const work = await temporaryDirectory('steps')
    const running = (await create(steps(work))).body.id
    await reached(work, 1)

    const useUpLog = await holdDatabase(join(dataDir, 'postgres'))
    fill(disk)
    await useUpLog()
    const refused = await eventually(async () => {
      const answer = await create(['true'])
      return answer.status !== 201 && answer
    })
    expect(refused).toMatchObject({ status: 507, body: { code: 'SERVER_DISK_FULL' } })
    const graphql = await answered('/graphql', { query: '{ sessions(first: 1) { edges { node { id } } } }' })
    expect(graphql).toMatchObject({ status: 507, body: { errors: [{ extensions: { code: 'SERVER_DISK_FULL' } }] } })
    const changed = await answered('/graphql', {
      query: `mutation { createSession(input: { name: "embedded", command: ["true"] }) { __typename } }`,
    })
    expect(changed).toMatchObject({ status: 507, body: { errors: [{ extensions: { code: 'SERVER_DISK_FULL' } }] } })
    const { stdout } = await commandLine({ REPRISE_URL: server.url, REPRISE_TOKEN: adminToken })('doctor')
    expect(stdout).toContain('no database: its disk is full')
    const ready = await fetch(`${server.url}/readyz`)
    expect([ready.status, await ready.json()]).toMatchObject([503, { reason: 'no database: its disk is full' }])
    writeFileSync(join(work, 'go1'), '')
    await reached(work, 2)

    empty(disk)
    let answer = await create(['true'])
    const begun = await eventually(async () => {
      answer = await create(['true'])
      return answer.status === 201 && answer
    }).catch((error: Error) => {
      throw new Error([error.message, JSON.stringify(answer), ...said.slice(-30)].join('\n'))
    })
    await eventually(async () => (await statusOf(begun.body.id)) === 'TERMINATED')
    const page = await (await fetch(`${server.url}/metrics`, { headers })).text()
    expect(page).toMatch(/^bai_disk_full_total [1-9]/m)
    for (const step of [2, 3]) writeFileSync(join(work, `go${step}`), '')
    await eventually(async () => (await statusOf(running)) === 'ERROR')

    // The next start finds it full, and so does the very first one of another server.
    expect(await server.stop()).toBe(0)
    for (const path of [dataDir, join(disk, 'another')]) {
      fill(disk)
      const log: string[] = []
      const starting = startServer({ dataDir: path, port: 0, onLog: (line) => log.push(line), env })
      await eventually(() => log.some((line) => line.includes('a disk is full; trying again')))
      empty(disk)
      server = await starting
      expect((await fetch(`${server.url}/readyz`)).status).toBe(200)
      expect(await server.stop()).toBe(0)
    }
  })

  test('of the server: an upload is refused with its own error code, and accepted once there is space', async () => {
    const disk = await temporaryDirectory('uploads')
    mountAt(disk, '4m')
    await fleet.server.stop()
    await fleet.restartServer({ REPRISE_CHECKPOINT_DIR: disk })
    const { sha256, archive } = await newArchive()
    const upload = async () => {
      const response = await fetch(`${fleet.url}/v2/code/${sha256}?project=default`, {
        method: 'PUT',
        headers: { authorization: `Bearer ${fleet.adminToken}`, 'content-type': 'application/x-tar' },
        body: archive as unknown as BodyInit,
      })
      return { status: response.status, body: await response.text() }
    }
    fill(disk)
    const refused = await upload()
    expect({ status: refused.status, code: (JSON.parse(refused.body) as { code: string }).code }).toEqual({
      status: 507,
      code: 'SERVER_DISK_FULL',
    })
    const ready = await (await fetch(`${fleet.url}/readyz`)).text()
    expect(ready).toContain('the disk of uploads and copies of checkpoints is full')
    const reprise = commandLine({ REPRISE_URL: fleet.url, REPRISE_TOKEN: fleet.adminToken })
    const doctor = await reprise('doctor')
    expect(doctor.stdout).toContain('the disk of uploads and copies of checkpoints is full')
    expect(doctor.status).not.toBe(0)
    const metrics = await (
      await fetch(`${fleet.url}/metrics`, { headers: { authorization: `Bearer ${fleet.adminToken}` } })
    ).text()
    expect(metrics).toMatch(/^bai_disk_full_total [1-9]/m)
    empty(disk)
    expect((await upload()).status).toBeLessThan(300)
    await fleet.server.stop()
    await fleet.restartServer()
  })
})

test.skipIf(noLimits !== '')(
  `no further file can be opened by a server: an upload is refused for now, and accepted later${noLimits}`,
  async () => {
    const { sha256, archive } = await newArchive()
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const ask = (method: string, path: string, body?: Buffer) =>
      new Promise<{ status: number; text: string }>((resolve, reject) => {
        const headers = { authorization: `Bearer ${fleet.adminToken}`, 'content-type': 'application/x-tar' }
        const asking = request(`${fleet.url}${path}`, { method, headers, agent }, (response) => {
          textIn(response).then((said) => resolve({ status: response.statusCode!, text: said }), reject)
        })
        asking.on('error', reject).end(body)
      })
    const path = `/v2/code/${sha256}?project=default`
    // With a connection, and those to the database, that are there already.
    expect((await ask('GET', '/v2/sessions')).status).toBe(200)
    const most = openFilesOf(fleet.server.pid)
    limitOpenFiles(fleet.server.pid, 3)
    const refused = await ask('PUT', path, archive)
    limitOpenFiles(fleet.server.pid, most)
    expect([refused.status, (JSON.parse(refused.text) as { code: string }).code]).toEqual([429, 'TOO_MANY_REQUESTS'])
    expect((await ask('PUT', path, archive)).status).toBeLessThan(300)
    agent.destroy()
  },
)
