/** The embedded PostgreSQL: starts, stops, crashes, and who may run it. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import pg from 'pg'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { openCluster } from '../../../src/store/postgres/cluster.ts'
import { isPostgres } from '../../../src/store/postgres/process-table.ts'
import { stopServer } from '../../../src/store/postgres/postmaster.ts'
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

test('stops with its server and goes on where it stopped; commits are durable; the password is kept secret', async () => {
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

test('of two first starts at once one gets it, and the other is told by whom it is held', async () => {
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

test('a pid file that a crash of the machine left behind does not matter, whoever has the number now', async () => {
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

test('says what to do when the data directory cannot be used', async () => {
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

test.runIf(AS_ROOT)('root runs it below closed directories as somebody else', async () => {
  const root = dataDir
  dataDir = join(root, 'closed', 'data')
  await mkdir(dataDir, { recursive: true })
  await chmod(join(root, 'closed'), 0o700)
  const closed = await hold()
  expect((await stat(`/proc/${await postmasterPid()}`)).uid).not.toBe(0)
  await end(closed.holder, 'SIGTERM')
  dataDir = root
})
