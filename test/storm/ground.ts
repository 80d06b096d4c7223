import { execFile } from 'node:child_process'
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createClient } from '../../src/client/node/index.ts'
import { openDatabase, type Database } from '../../src/store/database.ts'
import { fixedPort } from '../support/agents/fixed-port.ts'
import { startPartitionProxy, type PartitionProxy } from '../support/agents/partition-proxy.ts'
import { eventually } from '../support/eventually.ts'
import { MAIN } from '../support/programs/command-line.ts'
import { KEEP_CLOCK_AND_REMOVED, startStormDatabase, type StormDatabase } from './database.ts'
import { startMovedClock, type MovedClock } from './moved/start-moved.ts'
import { now, recorder, type StormRecord } from './records.ts'
import { supervise, type Supervised } from './supervised.ts'
import type { Terms } from './terms.ts'

/** What a storm blows over: three servers on one PostgreSQL, and three agents, each behind lines that can be disturbed. */

const SERVERS = 3
const AGENTS = 3
const SERVER = join(import.meta.dirname, '../support/programs/short-lease-program.ts')
const CLOCK = join(import.meta.dirname, 'jumping-clock.mjs')
/** Of an agent: for its kernels' directories, and small enough to be filled in a moment. */
const DISK_BYTES = 96 * 2 ** 20
const UP_WITHIN_MS = 120_000

export interface StormAgent extends Supervised {
  /** One for each server. */
  lines: readonly PartitionProxy[]
  /** A small file system of its own; null where none can be mounted. */
  disk: string | null
  clockFile: string
}

export interface StormServer extends Supervised {
  url: string
  /** To the database. */
  line: PartitionProxy
}

export interface Ground extends AsyncDisposable {
  readonly directory: string
  readonly terms: Terms
  /** Null: time passes by itself. */
  readonly clock: MovedClock | null
  /** To what a fault happens at the moment. */
  readonly troubled: Set<string>
  /** Where kernels write their lines. */
  readonly lines: string
  readonly records: string
  readonly databaseUrl: string
  readonly db: Database
  readonly token: string
  readonly servers: readonly StormServer[]
  readonly agents: readonly StormAgent[]
  /** Between clients and servers. */
  readonly clientLines: readonly PartitionProxy[]
  record(record: StormRecord): void
  readonly database: StormDatabase
}

/** @param directory empty, and readable for other users: PostgreSQL is one */
export async function layGround(directory: string, terms: Terms, progress: (line: string) => void): Promise<Ground> {
  await using resources = new AsyncDisposableStack()
  const [lines, records, logs] = ['lines', 'records', 'logs'].map((name) => join(directory, name)) as [
    string,
    string,
    string,
  ]
  for (const path of [lines, records, logs]) await mkdir(path)
  await chmod(lines, 0o777)
  const record = recorder<StormRecord>(join(records, 'storm.ndjson'))

  record({ kind: 'terms', at: now(), terms })
  const clock = terms.stepSeconds > 0 ? resources.use(await startMovedClock(directory)) : null

  progress('a PostgreSQL')
  const database = await startStormDatabase(join(directory, 'postgres'))
  resources.defer(() => database.stop())
  const databaseUrl = database.url
  const db = openDatabase({ connectionString: databaseUrl, connectionsMax: 2, onError: () => {} })
  resources.defer(() => db.close())
  await db.query(
    `UPDATE resource_groups SET fence_after_ms = $1, stop_grace_ms = $2, prepare_timeout_ms = $3, create_timeout_ms = $3,
       terminate_timeout_ms = $4`,
    [terms.fenceAfterMs, terms.stopGraceMs, terms.prepareTimeoutMs, terms.terminateTimeoutMs],
  )
  await db.query(KEEP_CLOCK_AND_REMOVED)

  progress(`${SERVERS} servers`)
  const openLine = async (target: string) => {
    const line = await startPartitionProxy(target)
    resources.defer(() => line.close())
    return line
  }
  const environment = {
    ...cleanEnvironment(),
    ...clock?.environment,
    REPRISE_LOG_FORMAT: 'json',
    STORM_DIRECTORY: directory,
  }
  const node = [process.execPath, ...(clock?.nodeArguments ?? [])]
  const servers: StormServer[] = []
  for (let index = 1; index <= SERVERS; index++) {
    const line = await openLine(databaseUrl)
    const name = `server-${index}`
    const httpPort = String(await fixedPort())
    const made = supervise({
      name,
      command: [...node, SERVER, JSON.stringify(terms.lease)],
      environment: {
        ...environment,
        REPRISE_DATA_DIR: join(directory, 'server'),
        REPRISE_DATABASE_URL: through(line, databaseUrl),
        REPRISE_DATABASE_CONNECTIONS: '8',
        REPRISE_HOST: '127.0.0.1',
        REPRISE_PORT: httpPort,
        REPRISE_ROLES: 'api,scheduler',
        ...(terms.keepHours !== null && {
          REPRISE_KEEP_CHAINS: `${terms.keepHours}h`,
          REPRISE_KEEP_EVENTS: `${terms.keepHours}h`,
          REPRISE_KEEP_LOGS: `${terms.keepHours}h`,
        }),
      },
      logFile: join(logs, `${name}.log`),
      record,
    })
    resources.defer(() => made.stop())
    servers.push({ ...made, url: `http://127.0.0.1:${httpPort}`, line })
    // The first one makes what they share.
    if (index === 1) await isUp(servers[0]!.url)
  }
  await Promise.all(servers.map(({ url }) => isUp(url)))
  const token = (await readFile(join(directory, 'server/admin-token'), 'utf8')).trim()
  const clientLines = await Promise.all(servers.map(({ url }) => openLine(url)))

  progress(`${AGENTS} agents`)
  await using client = createClient({ url: servers[0]!.url, token })
  const agents: StormAgent[] = []
  for (let index = 1; index <= AGENTS; index++) {
    const name = `agent-${index}`
    const dataDir = join(directory, name)
    const disk = await mountDisk(dataDir)
    if (disk !== null) resources.defer(() => unmount(dataDir))
    const clockFile = join(directory, `${name}.clock`)
    await writeFile(clockFile, '0')
    const agentLines = await Promise.all(servers.map(({ url }) => openLine(url)))
    const { secret } = await client.createToken({ name, role: 'AGENT' })
    const urls = agentLines.map(({ url }) => url)
    const given = ['--server', urls.join(','), '--name', name, '--slots', 'cpu=4,mem=4g', '--data-dir', dataDir]
    const program = [...node, '--import', CLOCK, MAIN, 'agent', ...given]
    const made = supervise({
      name,
      command: clock?.command(...program) ?? program,
      // Kernels write into a directory that all attempts share.
      environment: { ...environment, REPRISE_TOKEN: secret, REPRISE_ISOLATION: 'none', STORM_CLOCK: clockFile },
      logFile: join(logs, `${name}.log`),
      record,
    })
    resources.defer(() => made.stop())
    agents.push({ ...made, lines: agentLines, disk, clockFile })
  }
  if (agents.some(({ disk }) => disk === null)) progress('no tmpfs can be mounted here: no disk will be full')
  const alive = `SELECT count(*) = ${AGENTS} AS all FROM agents WHERE status = 'ALIVE'`
  await eventually(async () => (await db.query<{ all: boolean }>(alive)).rows[0]!.all, { what: 'agents alive' })

  const kept = resources.move()
  return {
    directory,
    terms,
    clock,
    troubled: new Set(),
    lines,
    records,
    databaseUrl,
    db,
    token,
    servers,
    agents,
    clientLines,
    record,
    database,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  }
}

function through(line: PartitionProxy, databaseUrl: string): string {
  const url = new URL(databaseUrl)
  url.port = new URL(line.url).port
  return url.href
}

async function isUp(url: string): Promise<void> {
  const ask = () =>
    fetch(`${url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    )
  await eventually(ask, { withinMs: UP_WITHIN_MS, what: `${url} is ready` })
}

/** Of our own variables, none. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(REPRISE|VITEST)/.test(name)))
}

async function mountDisk(path: string): Promise<string | null> {
  await mkdir(path, { mode: 0o711 })
  try {
    await promisify(execFile)('mount', ['-t', 'tmpfs', '-o', `size=${DISK_BYTES},mode=711`, 'storm', path])
    return path
  } catch {
    return null
  }
}

async function unmount(path: string): Promise<void> {
  await promisify(execFile)('umount', ['--lazy', path])
}
