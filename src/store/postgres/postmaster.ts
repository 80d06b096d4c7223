import { readFile, rename, stat, unlink } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Cluster } from './cluster.ts'
import { EmbeddedPostgresError, explained } from './embedded-error.ts'
import { isPostgres } from './process-table.ts'

/**
 * The running server of a cluster. It runs in its own process session and outlives the process that started it: after a
 * SIGKILL the next one adopts it. The state is read from PostgreSQL's own `data/postmaster.pid`:
 *
 *   absent, or its process gone → start   starting, stopping → wait   ready → adopt
 */

export type Settings = Readonly<Record<string, string>>

/** Enough for crash recovery of 2 GB of WAL on a slow disk. */
const START_TIMEOUT_SECONDS = 300
const STOP_TIMEOUT_SECONDS = 60
const PORT_ATTEMPTS_MAX = 5
const LOG_BYTES_MAX = 10 * 1024 * 1024
const POLL_MS = 50

interface PidFile {
  pid: number
  port: number
  status: string
}

export async function readPidFile(cluster: Cluster): Promise<PidFile | null> {
  const text = await readFile(join(cluster.dataDirectory, 'postmaster.pid'), 'utf8').catch(() => null)
  if (text === null) return null
  const lines = text.split('\n')
  return { pid: Number(lines[0]), port: Number(lines[3]), status: lines[7]?.trim() ?? 'starting' }
}

/** Ensures that the server is running and says whether it already was. `wantedPort` is used only when starting. */
export async function ensureRunning(
  cluster: Cluster,
  settings: Settings,
  wantedPort?: number,
): Promise<{ port: number; adopted: boolean }> {
  const deadline = performance.now() + START_TIMEOUT_SECONDS * 1000
  while (performance.now() < deadline) {
    const found = await readPidFile(cluster)
    const alive = found !== null && (await isPostgres(found.pid))
    if (alive && found.status === 'ready') return { port: found.port, adopted: true }
    if (alive) {
      await sleep(POLL_MS)
      continue
    }
    if (found !== null) await removeStalePidFile(cluster, found.pid)
    const port = await start(cluster, settings, wantedPort)
    if (port !== null) return { port, adopted: false }
  }
  throw new EmbeddedPostgresError(
    `PostgreSQL in ${cluster.directory} was neither ready nor gone within ${START_TIMEOUT_SECONDS} s; its log is ${cluster.logFile}.`,
  )
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
}

/** Otherwise PostgreSQL would mistake any live process with that id for its own server. */
async function removeStalePidFile(cluster: Cluster, pid: number): Promise<void> {
  if ((await readPidFile(cluster))?.pid !== pid) return
  await unlink(join(cluster.dataDirectory, 'postmaster.pid')).catch(() => null)
}

/** Returns the port, or null if another process started it meanwhile. */
async function start(cluster: Cluster, settings: Settings, wantedPort?: number): Promise<number | null> {
  await rotateLog(cluster)
  for (let attempt = 1; ; attempt++) {
    const port = wantedPort ?? (await freePort())
    const logStart = await fileSize(cluster.logFile)
    const options = Object.entries({ ...settings, port: String(port) }).map(([name, value]) => `-c ${name}=${value}`)
    const place = ['-D', cluster.dataDirectory, '-l', cluster.logFile]
    const wait = ['-w', '-t', String(START_TIMEOUT_SECONDS), '-s']
    try {
      const args = ['start', ...place, ...wait, '-o', options.join(' ')]
      await cluster.runAs.run(cluster.binaries.pg_ctl, args, { cwd: cluster.directory })
      return port
    } catch (error) {
      const other = await readPidFile(cluster)
      if (other !== null && (await isPostgres(other.pid))) return null
      const log = await readFile(cluster.logFile, 'utf8').catch(() => '')
      const said = Buffer.from(log).subarray(logStart).toString() || (error as Error).message
      if (/Address already in use/i.test(said) && attempt < PORT_ATTEMPTS_MAX) continue
      throw explained('The embedded PostgreSQL did not start', new Error(said))
    }
  }
}

async function freePort(): Promise<number> {
  const probe = createServer()
  await new Promise<void>((resolve, reject) => probe.once('error', reject).listen(0, '127.0.0.1', resolve))
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
