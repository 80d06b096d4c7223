import { execFileSync } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { Agent, request } from 'node:http'
import { dirname, join } from 'node:path'
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
import { endKernelsOf } from './kernel-notes.ts'
import { PATIENT_LEASE, type RemoteFleet, startRemoteFleet, textOf } from './remote-fleet.ts'

/** Disks of an agent and of a server that are full, and have space again: what runs goes on, and all else by itself. */

let fleet: RemoteFleet
let token: string
const mounts: string[] = []

beforeAll(async () => {
  fleet = await startRemoteFleet()
  token = await fleet.token()
})
afterAll(async () => {
  await endKernelsOf(fleet)
  await fleet?.[Symbol.asyncDispose]()
  for (const path of mounts) execFileSync('umount', ['--lazy', path])
})

function mountAt(path: string, size: string): void {
  mkdirSync(path, { recursive: true })
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size},mode=755`, 'reprise-test', path])
  mounts.push(path)
}

/** Fills the disk until not one more byte can be written. */
function fill(path: string): void {
  const fd = openSync(join(path, 'ballast'), 'w')
  try {
    for (let bytes = 65_536; bytes >= 1;) {
      try {
        writeSync(fd, Buffer.alloc(bytes, 1))
      } catch {
        bytes = Math.floor(bytes / 2)
      }
    }
  } finally {
    closeSync(fd)
  }
  expect(statfsSync(path).bavail).toBe(0)
}

const empty = (path: string) => rmSync(join(path, 'ballast'))

async function agentNamed(name: string): Promise<{ refuses: string | null; isolation: string; status: string }> {
  const { agents } = await fleet.graphql('{ agents { edges { node { name status isolation refuses } } } }')
  return agents.edges.map(({ node }: any) => node).find((node: any) => node.name === name)
}

/** An agent that is started, has nothing that it could write to, and says so. */
async function startsLater(name: string, environment: Record<string, string>) {
  const log = join(await temporaryDirectory('log'), 'log')
  const through = ['sh', '-c', `exec "$@" 2>>${log}`, 'sh']
  const agent = fleet.startAgent({ name, token, environment, through })
  await eventually(
    () => existsSync(log) && readFileSync(log, 'utf8').includes('the agent cannot start yet; trying again'),
  )
  return { agent }
}

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

const fenceOf = (name: string) => Number(readFileSync(join(fleet.agentDir(name), 'fence'), 'latin1').split(' ')[0])

/** Writes a line, and then each time that a step is allowed; ends with 3 at the last. */
function steps(directory: string): string[] {
  const script = `n=0; while [ $n -lt 3 ]; do n=$((n + 1)); echo step $n; echo $n >>${directory}/alive
    while [ ! -e ${directory}/go$n ]; do sleep 0.05; done; done; exit 3`
  return ['sh', '-c', script]
}
const reached = (directory: string, step: number) =>
  eventually(
    () => existsSync(join(directory, 'alive')) && readFileSync(join(directory, 'alive'), 'utf8').includes(`${step}\n`),
  )

const noMounts = whyNoMounts()

describe.skipIf(noMounts !== null)(`disks that are full${noMounts === null ? '' : ` (skipped: ${noMounts})`}`, () => {
  test('of an agent: it and its kernels live on, new kernels are refused, lost output is marked; with space all goes on', async () => {
    const disk = dirname(fleet.agentDir('filled'))
    mountAt(disk, '24m')
    let agent = await fleet.startAgent({ name: 'filled', token })
    const work = await temporaryDirectory('steps')
    const running = await fleet.createSession({ command: steps(work) })
    const ending = await temporaryDirectory('steps')
    const ends = await fleet.createSession({ command: steps(ending) })
    await reached(work, 1)
    await reached(ending, 1)
    const fence = fenceOf('filled')

    fill(disk)
    const refusal = await eventually(async () => (await agentNamed('filled')).refuses)
    expect(refusal).toMatch(/^the disk of .* is full/)
    // What it has to write down is renewed: without, its keeper would kill what runs.
    await eventually(() => fenceOf('filled') > fence + 2)
    writeFileSync(join(work, 'go1'), '')
    await reached(work, 2)
    for (const step of [1, 2, 3]) writeFileSync(join(ending, `go${step}`), '')
    const [ended] = await fleet.until(ends, ([first]) => first?.status === 'ERROR')
    expect(ended!.statusReason).not.toMatch(/vanished|lost/)
    await eventually(async () => textOf((await fleet.chain(ends))[0]!).includes('output may be missing here'))

    const reprise = commandLine({ REPRISE_URL: fleet.url, REPRISE_TOKEN: fleet.adminToken })
    const waits = await fleet.createSession({ command: ['echo', 'there was space again'] })
    const { stdout } = await reprise('doctor')
    expect(stdout).toContain('accepts no new kernels: the disk of')
    const page = await (
      await fetch(`${fleet.url}/metrics`, { headers: { authorization: `Bearer ${fleet.adminToken}` } })
    ).text()
    expect(page).toMatch(/^bai_agents_refusing 1$/m)
    expect((await fleet.chain(waits))[0]!.status).toBe('PENDING')

    // It is started again while there is no space: it takes up its kernels, and goes on to refuse others.
    expect(await agent.stop()).toBe(0)
    agent = await fleet.startAgent({ name: 'filled', token })
    await eventually(async () => /^the disk of .* is full/.test((await agentNamed('filled')).refuses ?? ''))
    empty(disk)
    await eventually(async () => (await agentNamed('filled')).refuses === null)
    await fleet.until(waits, ([first]) => first?.status === 'TERMINATED')
    for (const step of [2, 3]) writeFileSync(join(work, `go${step}`), '')
    const [whole] = await fleet.until(running, ([first]) => first?.status === 'ERROR')
    expect(whole!.statusReason).not.toMatch(/vanished|lost|fenced/)
    expect(await agent.stop()).toBe(0)
  })

  test('of an agent, filled and emptied: output goes on after the mark', async () => {
    const disk = dirname(fleet.agentDir('marked'))
    mountAt(disk, '24m')
    const agent = await fleet.startAgent({ name: 'marked', token })
    const work = await temporaryDirectory('steps')
    const running = await fleet.createSession({ command: steps(work) })
    await reached(work, 1)
    fill(disk)
    await eventually(async () => (await agentNamed('marked')).refuses)
    writeFileSync(join(work, 'go1'), '')
    await reached(work, 2)
    const reprise = commandLine({ REPRISE_URL: fleet.url, REPRISE_TOKEN: fleet.adminToken })
    const enter = () => reprise('exec', running, '--no-stdin', '--', 'echo', 'inside')
    const refused = await enter()
    expect(refused).toMatchObject({ status: 5, stdout: '' })
    expect(refused.stderr).toMatch(/ENOSPC.*CHANNEL_NOT_OPENED/)
    const files = readdirSync(fleet.agentDir('marked'), { recursive: true }).map(String)
    expect(files.filter((name) => /exec\./.test(name))).toEqual([])
    empty(disk)
    expect(await enter()).toMatchObject({ stdout: 'inside\n' })
    await eventually(async () => (await agentNamed('marked')).refuses === null)
    for (const step of [2, 3]) writeFileSync(join(work, `go${step}`), '')
    await fleet.until(running, ([first]) => first?.status === 'ERROR')
    const text = await eventually(async () => {
      const said = textOf((await fleet.chain(running))[0]!)
      return said.includes('step 3') && said
    })
    expect(text).toMatch(/^step 1\n[^]*\[reprise: the agent's disk was full; output may be missing here\]\nstep 3\n$/)
    expect(await agent.stop()).toBe(0)
  })

  test('of an agent that starts: isolation is not weakened, and is as before once there is space', async () => {
    const disk = dirname(fleet.agentDir('isolated'))
    mountAt(disk, '24m')
    const environment = { REPRISE_ISOLATION: 'auto', REPRISE_ALLOW_UNSAFE_PATHS: 'true' }
    let agent = await fleet.startAgent({ name: 'isolated', token, environment })
    const { isolation } = await agentNamed('isolated')
    await agent.stop()
    fill(disk)
    const late = await startsLater('isolated', environment)
    empty(disk)
    agent = await late.agent
    expect(await agentNamed('isolated')).toMatchObject({ isolation, refuses: null })
    await agent.stop()
  })

  test('of an agent that has never run: it waits for space, and then starts', async () => {
    const disk = dirname(fleet.agentDir('newborn'))
    mountAt(disk, '24m')
    fill(disk)
    const late = await startsLater('newborn', { REPRISE_ISOLATION: 'none' })
    expect((await agentNamed('newborn')) === undefined).toBe(true)
    empty(disk)
    const agent = await late.agent
    expect(await agentNamed('newborn')).toMatchObject({ status: 'ALIVE', refuses: null })
    await agent.stop()
  })

  test('of a server and its embedded database: errors say so, running sessions go on; with space all goes on', async () => {
    const disk = await temporaryDirectory('embedded')
    mountAt(disk, '400m')
    const dataDir = join(disk, 'data')
    mkdirSync(dataDir, { mode: 0o711 })
    await copyPreparedCluster(join(dataDir, 'postgres'))
    const env = { REPRISE_ISOLATION: 'none' }
    let server = await startServer({ dataDir, port: 0, onLog: () => {}, env })
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
    const ready = await fetch(`${server.url}/readyz`)
    expect([ready.status, await ready.json()]).toMatchObject([503, { reason: 'no database: its disk is full' }])
    writeFileSync(join(work, 'go1'), '')
    await reached(work, 2)

    empty(disk)
    const begun = await eventually(async () => {
      const answer = await create(['true'])
      return answer.status === 201 && answer
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

const canLimit = existsSync('/usr/bin/prlimit')

/** Of a process that runs: which it has open it keeps. */
function limitOpenFiles(pid: number, most: number): void {
  execFileSync('prlimit', ['--pid', String(pid), `--nofile=${most}:`])
}
const openFilesOf = (pid: number) =>
  Number(/^Max open files\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/limits`, 'latin1'))![1])

describe.skipIf(!canLimit)(`no further file can be opened${canLimit ? '' : ' (skipped: there is no prlimit)'}`, () => {
  test('by an agent: it and its kernels live on, new kernels are refused; later all goes on', async () => {
    await using patient = await startRemoteFleet({ lease: PATIENT_LEASE })
    const agent = await patient.startAgent({ name: 'opened', token: await patient.token() })
    const work = await temporaryDirectory('steps')
    const running = await patient.createSession({ command: steps(work) })
    await reached(work, 1)
    const most = openFilesOf(agent.pid)
    const fence = () => Number(readFileSync(join(patient.agentDir('opened'), 'fence'), 'latin1').split(' ')[0])
    limitOpenFiles(agent.pid, 3)
    await eventually(() => agent.log.some((line) => /takes no new kernels/.test(line) && /EMFILE/.test(line)))
    // It is renewed meanwhile, through the file that the agent holds open.
    const limited = fence()
    await eventually(() => fence() > limited)
    const waits = await patient.createSession({ command: ['echo', 'opened again'] })
    writeFileSync(join(work, 'go1'), '')
    await reached(work, 2)
    limitOpenFiles(agent.pid, most)
    await patient.until(waits, ([first]) => first?.status === 'TERMINATED')
    for (const step of [2, 3]) writeFileSync(join(work, `go${step}`), '')
    const [whole] = await patient.until(running, ([first]) => first?.status === 'ERROR')
    expect(textOf(whole!)).toBe('step 1\nstep 2\nstep 3\n')
    expect(await agent.stop()).toBe(0)
  })

  test('by a server: an upload is refused for now, and accepted later', async () => {
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
  })
})
