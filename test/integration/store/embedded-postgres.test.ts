/** The embedded PostgreSQL: starts, stops, crashes, and the users that may run it. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import pg from 'pg'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { openCluster } from '../../../src/store/postgres/cluster.ts'
import { isPostgres } from '../../../src/store/postgres/run-as.ts'
import { addressOf, readPidFile, runsWith, stopServer } from '../../../src/store/postgres/postmaster.ts'
import { EMBEDDED_SETTINGS, embeddedSettings } from '../../../src/store/postgres/binaries.ts'
import { takeOwnerLock } from '../../../src/store/postgres/owner-lock.ts'
import { fixedPort } from '../../support/agents/fixed-port.ts'
import { isListening } from '../../support/servers/is-listening.ts'
import { copyPreparedCluster } from '../../support/database/prepared-cluster.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'

const PROGRAM = join(import.meta.dirname, '../../support/programs/embedded-program.ts')
const AS_ROOT = process.getuid?.() === 0
const NOBODY = { uid: 65_534, gid: 65_534 }
/** Not where node or this project lies in a directory that is root's alone. */
const NOBODY_CAN_RUN_IT =
  AS_ROOT && spawnSync(process.execPath, ['-e', 'fs.accessSync(process.argv[1])', PROGRAM], NOBODY).status === 0

let dataDir: string
let holders: ChildProcess[]

beforeEach(async () => {
  dataDir = await temporaryDirectory('embedded')
  holders = []
})

afterEach(async () => {
  for (const holder of holders) if (holder.exitCode === null) holder.kill('SIGKILL')
  if (await stat(join(dataDir, 'postgres')).catch(() => null))
    await stopServer(await openCluster(join(dataDir, 'postgres')))
  await rm(dataDir, { recursive: true, force: true, maxRetries: 5 })
})

/** Not as a first start: the database is there. */
const prepare = () => copyPreparedCluster(join(dataDir, 'postgres'))

interface Held {
  connectionString: string
  adopted: boolean
}

/** A server process of its own group, as a shell would start it. */
function launch(options: { uid?: number; gid?: number } = {}): ChildProcess {
  const holder = spawn(process.execPath, [PROGRAM, dataDir], {
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
    ...options,
  })
  holders.push(holder)
  return holder
}

async function hold(options: { uid?: number; gid?: number } = {}): Promise<Held & { holder: ChildProcess }> {
  const holder = launch(options)
  const line = once(createInterface(holder.stdout!), 'line')
  const complaint = text(holder.stderr!)
  const failed = once(holder, 'exit').then(async () => {
    throw new Error(await complaint)
  })
  const [json] = (await Promise.race([line, failed])) as [string]
  failed.catch(() => {})
  return { ...(JSON.parse(json) as Held), holder }
}

async function end(holder: ChildProcess, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  const gone = once(holder, 'exit')
  process.kill(-holder.pid!, signal)
  await gone
}

async function query<Row extends pg.QueryResultRow>(connectionString: string, sql: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString })
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query<Row>(sql)).rows
  } finally {
    await client.end().catch(() => {})
  }
}

async function postmasterPid(): Promise<number> {
  return parseInt(await readFile(join(dataDir, 'postgres/data/postmaster.pid'), 'utf8'), 10)
}

test('stops with its server and continues where it stopped; commits are durable; the password is kept secret', async () => {
  const first = await hold()
  expect(first.adopted).toBe(false)
  await query(first.connectionString, 'CREATE TABLE kept AS SELECT 42 AS answer')
  for (const setting of ['fsync', 'synchronous_commit', 'full_page_writes']) {
    expect(await query(first.connectionString, `SHOW ${setting}`)).toEqual([{ [setting]: 'on' }])
  }
  expect((await stat(join(dataDir, 'postgres/password'))).mode & 0o777).toBe(0o600)
  await expect(query(first.connectionString.replace(/:[^:@]+@/, ':wrong@'), 'SELECT')).rejects.toThrow('password')
  const pid = await postmasterPid()
  await end(first.holder, 'SIGTERM')
  expect(await isPostgres(pid)).toBe(false)

  const second = await hold()
  expect(second.adopted).toBe(false)
  expect(await query(second.connectionString, 'SELECT answer FROM kept')).toEqual([{ answer: 42 }])
})

test('outlives a SIGKILL of the whole group of its server and is adopted', async () => {
  await prepare()
  const first = await hold()
  const pid = await postmasterPid()
  await end(first.holder, 'SIGKILL')
  const second = await hold()
  expect(second).toMatchObject({ adopted: true, connectionString: first.connectionString })
  expect(await postmasterPid()).toBe(pid)
  await end(second.holder, 'SIGTERM')
  expect(await isPostgres(pid)).toBe(false)
})

test('of two first starts at once one gets the data directory, and the other learns who holds it', async () => {
  const results = await Promise.allSettled([hold(), hold()])
  const [winner] = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
  const [refusal] = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as Error] : []))
  expect(refusal?.message).toContain(`Another reprise server (process ${winner!.holder.pid})`)
  expect(await query(winner!.connectionString, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
})

test('a first start that was killed while the database was made leaves nothing in the way of the next', async () => {
  const drafts = async () => (await readdir(dataDir)).filter((name) => name.startsWith('postgres.init-'))
  const killed = launch()
  await vi.waitUntil(
    async () => {
      const [draft] = await drafts()
      return draft !== undefined && (await stat(join(dataDir, draft, 'data/base')).catch(() => null))
    },
    { timeout: 120_000, interval: 5 },
  )
  await end(killed, 'SIGKILL')
  const { connectionString } = await hold()
  expect(await query(connectionString, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
  expect(await drafts()).toEqual([])
})

test('a pid file that a crash of the machine left behind is ignored, whatever process has its number now', async () => {
  await prepare()
  const first = await hold()
  const pidFile = join(dataDir, 'postgres/data/postmaster.pid')
  const left = (await readFile(pidFile, 'utf8')).split('\n')
  await end(first.holder, 'SIGTERM')
  await writeFile(pidFile, [process.pid, ...left.slice(1)].join('\n'))
  const second = await hold()
  expect(second.adopted).toBe(false)
})

test('comes back at the same address when it falls over under its server', async () => {
  await prepare()
  const { connectionString } = await hold()
  const pid = await postmasterPid()
  process.kill(pid, 'SIGKILL')
  await vi.waitUntil(() => query(connectionString, 'SELECT 1').catch(() => null), { timeout: 120_000, interval: 100 })
  expect(await postmasterPid()).not.toBe(pid)
})

const NETWORK_SQL = `SELECT current_setting('listen_addresses') AS addresses, inet_server_addr() AS network`
const NO_NETWORK = [{ addresses: '', network: null }]
const openHere = () => openCluster(join(dataDir, 'postgres'))

/** Starts it as versions before the socket did. */
async function startOnNetwork(port: number): Promise<void> {
  const cluster = await openHere()
  const options = Object.entries({
    ...EMBEDDED_SETTINGS,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    port,
  })
  const words = options.map(([name, value]) => `-c ${name}=${value}`).join(' ')
  const args = ['start', '-D', cluster.dataDirectory, '-l', cluster.logFile, '-w', '-s', '-o', words]
  await cluster.runAs.run(cluster.binaries.pg_ctl, args, { cwd: cluster.directory })
}

test('listens on a socket that only its own user reaches, and on no network', async () => {
  await prepare()
  const { connectionString } = await hold()
  expect(await query(connectionString, NETWORK_SQL)).toEqual(NO_NETWORK)
  const { host, port } = addressOf((await readPidFile(await openHere()))!)
  expect(host).toBe(join(dataDir, 'postgres/socket'))
  expect((await stat(host)).mode & 0o777).toBe(0o700)
  expect((await stat(join(host, `.s.PGSQL.${port}`))).mode & 0o077).toBe(0)
})

test('one of an earlier version that listens on the network is moved to the socket by the next start', async () => {
  await prepare()
  const port = await fixedPort()
  await startOnNetwork(port)
  expect(await isListening(port)).toBe(true)
  const left = await postmasterPid()
  const { connectionString, adopted } = await hold()
  expect(adopted).toBe(false)
  expect(await query(connectionString, NETWORK_SQL)).toEqual(NO_NETWORK)
  expect([await isPostgres(left), await isListening(port)]).toEqual([false, false])
})

test('one that a server of an earlier version still uses is left to it', async () => {
  await prepare()
  const port = await fixedPort()
  await startOnNetwork(port)
  const { password } = await openHere()
  const url = `postgresql://reprise:${password}@127.0.0.1:${port}/reprise?sslmode=disable`
  const lock = await takeOwnerLock({ connectionString: url, dataDir, onLost: () => {} })
  await expect(hold()).rejects.toThrow(`Another reprise server (process ${process.pid})`)
  expect(await query(url, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
  await lock.release()
})

test('a socket whose path would be too long is put into a short directory, which is found again and removed at the end', async () => {
  const root = dataDir
  dataDir = join(root, 'long'.repeat(30))
  await mkdir(dataDir)
  await prepare()
  const first = await hold()
  const { host } = addressOf((await readPidFile(await openHere()))!)
  expect(host).not.toContain(root)
  expect((await stat(host)).mode & 0o777).toBe(0o700)
  expect(await query(first.connectionString, NETWORK_SQL)).toEqual(NO_NETWORK)
  // It comes back where its server looks for it.
  process.kill(await postmasterPid(), 'SIGKILL')
  await vi.waitUntil(() => query(first.connectionString, 'SELECT 1').catch(() => null), {
    timeout: 120_000,
    interval: 100,
  })
  await end(first.holder, 'SIGKILL')
  const second = await hold()
  expect(second).toMatchObject({ adopted: true, connectionString: first.connectionString })
  // Both are gone, as after a crash of the machine.
  process.kill(-second.holder.pid!, 'SIGKILL')
  await once(second.holder, 'exit')
  process.kill(await postmasterPid(), 'SIGKILL')
  const third = await hold()
  expect(await query(third.connectionString, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
  const { host: last } = addressOf((await readPidFile(await openHere()))!)
  await end(third.holder, 'SIGTERM')
  for (const each of [host, last]) expect(await stat(each).catch(() => null)).toBeNull()
  dataDir = root
})

test('one whose socket was removed, or whose directory another user has made, is started again', async () => {
  await prepare()
  const first = await hold()
  const { host, port } = addressOf((await readPidFile(await openHere()))!)
  await end(first.holder, 'SIGKILL')
  await rm(join(host, `.s.PGSQL.${port}`))
  const second = await hold()
  expect(second.adopted).toBe(false)
  expect(await query(second.connectionString, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
  await end(second.holder, 'SIGKILL')
  await chmod(host, 0o777)
  const third = await hold()
  expect(third.adopted).toBe(false)
  expect((await stat(host)).mode & 0o777).toBe(0o700)
})

test('a socket that a crash of the machine left behind is ignored, whatever process has its number now', async () => {
  await prepare()
  const first = await hold()
  const { host, port } = addressOf((await readPidFile(await openHere()))!)
  const lock = join(host, `.s.PGSQL.${port}.lock`)
  const left = (await readFile(lock, 'utf8')).split('\n')
  process.kill(-first.holder.pid!, 'SIGKILL')
  await once(first.holder, 'exit')
  process.kill(await postmasterPid(), 'SIGKILL')
  await vi.waitUntil(async () => !(await isPostgres(await postmasterPid())), { timeout: 60_000, interval: 10 })
  await writeFile(lock, [process.pid, ...left.slice(1)].join('\n'))
  const second = await hold()
  expect(second.adopted).toBe(false)
  expect(await query(second.connectionString, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
})

test('has as many connections as its server is configured for, and more for others', async () => {
  for (const each of [2, 16, 1_000]) {
    const { max_connections: all, reserved_connections: reserved } = embeddedSettings(each)
    expect(Number(reserved)).toBeGreaterThan(2 * each)
    expect(Number(all) - Number(reserved)).toBeGreaterThan(30)
  }
  await prepare()
  const { connectionString } = await hold()
  expect(await query(connectionString, 'SHOW reserved_connections')).toEqual([
    { reserved_connections: embeddedSettings(16)['reserved_connections'] },
  ])
  expect(await runsWith(await openHere(), embeddedSettings(16))).toBe(true)
  expect(await runsWith(await openHere(), embeddedSettings(17))).toBe(false)
})

test('reports what to do when the data directory cannot be used', async () => {
  await rm(dataDir, { recursive: true })
  await writeFile(dataDir, 'a file')
  await expect(hold()).rejects.toThrow(/REPRISE_DATABASE_URL/)
})

test.runIf(NOBODY_CAN_RUN_IT)('an ordinary user runs it as himself', async () => {
  const root = dataDir
  dataDir = join(root, 'own')
  await mkdir(dataDir)
  await chmod(root, 0o711)
  await chown(dataDir, NOBODY.uid, NOBODY.gid)
  const ordinary = await hold(NOBODY)
  expect((await stat(`/proc/${await postmasterPid()}`)).uid).toBe(NOBODY.uid)
  await end(ordinary.holder, 'SIGTERM')
  dataDir = root
})

test.runIf(AS_ROOT)('root runs it as another user below closed directories', async () => {
  const root = dataDir
  dataDir = join(root, 'closed', 'data')
  await mkdir(dataDir, { recursive: true })
  await chmod(join(root, 'closed'), 0o700)
  const closed = await hold()
  expect((await stat(`/proc/${await postmasterPid()}`)).uid).not.toBe(0)
  await end(closed.holder, 'SIGTERM')
  dataDir = root
})
