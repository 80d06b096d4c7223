import type { Settings } from './binaries.ts'
import { readFile, rename, stat, unlink } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isEmbeddedDiskFull } from '../../observability/process-events.ts'
import type { Address, Cluster } from './cluster.ts'
import { EmbeddedPostgresError, explained } from './embedded-error.ts'
import { isPostgres } from './run-as.ts'
import {
  HAS_SOCKETS,
  isClosed,
  leaveSocketDirectory,
  openSocketDirectory,
  removeStaleSocket,
} from './socket-directory.ts'

/**
 * The running server of a cluster. It runs in its own process session and outlives the process that started it: after a
 * SIGKILL the next server adopts it. Its state is read from PostgreSQL's own `data/postmaster.pid`:
 *
 *   absent, or its process gone → start
 *   starting, stopping → wait
 *   ready → adopt
 */

/** Enough for crash recovery of 2 GB of WAL on a slow disk. */
const START_TIMEOUT_SECONDS = 300
const STOP_TIMEOUT_SECONDS = 60
const PORT_ATTEMPTS_MAX = 5
const LOG_BYTES_MAX = 10 * 1024 * 1024
const POLL_MS = 50

const LOOPBACK = '127.0.0.1'
/** The longest time that a client without a password can hold a connection, on platforms without a socket. */
const AUTHENTICATION_TIMEOUT = '10s'
/** A part of the socket's name. */
const SOCKET_PORT = 5432

interface PidFile {
  pid: number
  port: number
  /** Empty if the server has no socket. */
  socketDirectory: string
  status: string
}

export async function readPidFile(cluster: Cluster): Promise<PidFile | null> {
  const text = await readFile(join(cluster.dataDirectory, 'postmaster.pid'), 'utf8').catch(() => null)
  if (text === null) return null
  const lines = text.split('\n')
  return {
    pid: Number(lines[0]),
    port: Number(lines[3]),
    socketDirectory: lines[4] ?? '',
    status: lines[7]?.trim() ?? 'starting',
  }
}

/** The address of a server that is ready. */
export function addressOf({ socketDirectory, port }: Pick<PidFile, 'socketDirectory' | 'port'>): Address {
  return { host: socketDirectory || LOOPBACK, port }
}

/** Ensures that the server is running and returns whether it already was. `wanted` is used only for a start. */
export async function ensureRunning(
  cluster: Cluster,
  settings: Settings,
  wanted?: Address,
): Promise<{ address: Address; adopted: boolean }> {
  const deadline = performance.now() + START_TIMEOUT_SECONDS * 1000
  while (performance.now() < deadline) {
    const found = await readPidFile(cluster)
    const alive = found !== null && (await isPostgres(found.pid))
    if (alive && found.status === 'ready') {
      if (await canBeReached(cluster, found)) return { address: addressOf(found), adopted: true }
      await stopServer(cluster)
      continue
    }
    if (alive) {
      await sleep(POLL_MS)
      continue
    }
    if (found !== null) await removeStalePidFile(cluster, found)
    const address = await start(cluster, settings, wanted)
    if (address !== null) return { address, adopted: false }
  }
  throw new EmbeddedPostgresError(
    `PostgreSQL in ${cluster.directory} was neither ready nor gone within ${START_TIMEOUT_SECONDS} s; its log is ${cluster.logFile}.`,
  )
}

/** Whether the running server was started with these settings and listens nowhere else. */
export async function runsWith(cluster: Cluster, settings: Settings): Promise<boolean> {
  const options = await readFile(join(cluster.dataDirectory, 'postmaster.opts'), 'utf8').catch(() => '')
  const listen = { listen_addresses: HAS_SOCKETS ? '' : LOOPBACK }
  return Object.entries({ ...listen, ...settings }).every(([name, value]) => options.includes(`"${name}=${value}"`))
}

/**
 * Whether the server's socket exists. It may have been removed, or lie in the private `/tmp` of a service that has
 * ended.
 */
async function canBeReached(cluster: Cluster, { socketDirectory, port }: PidFile): Promise<boolean> {
  if (socketDirectory === '') return true
  const socket = await stat(join(socketDirectory, `.s.PGSQL.${port}`)).catch(() => null)
  return socket !== null && (await isClosed(cluster, socketDirectory))
}

/** Ends all connections, writes a checkpoint, and waits until the server has exited. */
export async function stopServer(cluster: Cluster): Promise<void> {
  const found = await readPidFile(cluster)
  if (found === null || !(await isPostgres(found.pid))) return
  const options = ['stop', '-D', cluster.dataDirectory, '-m', 'fast', '-w', '-t', String(STOP_TIMEOUT_SECONDS), '-s']
  await cluster.runAs
    .run(cluster.binaries.pg_ctl, options, { cwd: cluster.directory })
    .catch(async (error: unknown) => {
      if (await isPostgres(found.pid)) throw explained('The embedded PostgreSQL did not stop', error)
    })
  await leaveSocketDirectory(cluster, found.socketDirectory)
}

/** Removes a stale pid file. Otherwise PostgreSQL would mistake any live process with that id for its own server. */
async function removeStalePidFile(cluster: Cluster, { pid, socketDirectory, port }: PidFile): Promise<void> {
  if ((await readPidFile(cluster))?.pid !== pid) return
  if (socketDirectory !== '' && (await isClosed(cluster, socketDirectory))) {
    await removeStaleSocket(socketDirectory, port)
    await leaveSocketDirectory(cluster, socketDirectory)
  }
  await unlink(join(cluster.dataDirectory, 'postmaster.pid')).catch(() => null)
}

/** Starts the server. Returns its address, or null if another process started it meanwhile. */
async function start(cluster: Cluster, settings: Settings, wanted?: Address): Promise<Address | null> {
  await rotateLog(cluster)
  for (let attempt = 1; ; attempt++) {
    const { address, listen } = await choosePlace(cluster, settings, wanted)
    const logStart = await fileSize(cluster.logFile)
    const options = Object.entries({ ...settings, ...listen }).map(([name, value]) => `-c ${name}=${value}`)
    const place = ['-D', cluster.dataDirectory, '-l', cluster.logFile]
    const wait = ['-w', '-t', String(START_TIMEOUT_SECONDS), '-s']
    try {
      const args = ['start', ...place, ...wait, '-o', options.join(' ')]
      await cluster.runAs.run(cluster.binaries.pg_ctl, args, { cwd: cluster.directory })
      return address
    } catch (error) {
      const other = await readPidFile(cluster)
      if (other !== null && (await isPostgres(other.pid))) return null
      const log = await readFile(cluster.logFile, 'utf8').catch(() => '')
      const said = Buffer.from(log).subarray(logStart).toString() || (error as Error).message
      if (/Address already in use/i.test(said) && attempt < PORT_ATTEMPTS_MAX) continue
      // On a full disk PostgreSQL cannot write its log.
      const why = isEmbeddedDiskFull(cluster.directory) ? `No space left on device\n${said}` : said
      throw explained('The embedded PostgreSQL did not start', new Error(why))
    }
  }
}

/**
 * Chooses where to listen: on a socket alone, unless the settings name network addresses, or Node has no sockets on
 * this platform.
 */
async function choosePlace(
  cluster: Cluster,
  settings: Settings,
  wanted?: Address,
): Promise<{ address: Address; listen: Settings }> {
  const addresses = settings['listen_addresses'] ?? (HAS_SOCKETS ? '' : LOOPBACK)
  const port = wanted?.port ?? (addresses === '' ? SOCKET_PORT : await freePort())
  const directory = HAS_SOCKETS ? await openSocketDirectory(cluster, wanted?.host) : ''
  return {
    address: addressOf({ socketDirectory: directory, port }),
    listen: {
      listen_addresses: addresses,
      unix_socket_directories: directory,
      unix_socket_permissions: '0700',
      port: String(port),
      ...(!HAS_SOCKETS && { authentication_timeout: AUTHENTICATION_TIMEOUT }),
    },
  }
}

async function freePort(): Promise<number> {
  const probe = createServer()
  await new Promise<void>((resolve, reject) => probe.once('error', reject).listen(0, LOOPBACK, resolve))
  const { port } = probe.address() as AddressInfo
  await new Promise((resolve) => probe.close(resolve))
  return port
}

async function rotateLog({ logFile }: Cluster): Promise<void> {
  if ((await fileSize(logFile)) > LOG_BYTES_MAX) await rename(logFile, `${logFile}.old`)
}

async function fileSize(path: string): Promise<number> {
  return (await stat(path).catch(() => null))?.size ?? 0
}
