import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chown, mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { systemProgram } from '../../machine/system-programs.ts'
import { locateBinaries, type PostgresBinaries } from './binaries.ts'
import { EmbeddedPostgresError, explained } from './embedded-error.ts'
import { chooseRunAs, isAlive, isPostgres, lookUp, ownUser, type RunAs } from './run-as.ts'
import { SERVER_ROLE, serverPassword } from './pooling.ts'

/** An embedded PostgreSQL cluster in one directory, and the way its programs are run. */
export interface Cluster {
  directory: string
  dataDirectory: string
  logFile: string
  password: string
  binaries: PostgresBinaries
  runAs: RunAs
}

/** The address of a running server: the directory of its socket, or the loopback address. */
export interface Address {
  host: string
  port: number
}

const CLUSTER_USER = 'reprise'
const MAJOR_VERSION = '18'

/**
 * Opens the cluster in `directory`, creating it if needed. A new cluster is built beside its final place and then
 * renamed, so that after a crash it is either complete, with its password, or absent. If two processes create it at
 * once, the second finds the place taken and uses the existing cluster.
 */
export async function openCluster(directory: string): Promise<Cluster> {
  const binaries = await locateBinaries()
  try {
    await mkdir(dirname(directory), { recursive: true })
    await takeOver(directory)
    const existing = await stat(directory).catch(() => null)
    const runAs = await chooseRunAs({
      directory: existing === null ? dirname(directory) : directory,
      postgres: binaries.postgres,
    })
    if (existing === null) await make(directory, binaries, runAs)
    const dataDirectory = join(directory, 'data')
    const version = (await readFile(join(dataDirectory, 'PG_VERSION'), 'utf8')).trim()
    if (version !== MAJOR_VERSION) {
      throw new EmbeddedPostgresError(
        `The database in ${directory} was made by PostgreSQL ${version}, but PostgreSQL ${MAJOR_VERSION} is embedded here.`,
      )
    }
    const password = (await readFile(join(directory, 'password'), 'utf8')).trim()
    return { directory, dataDirectory, logFile: join(directory, 'server.log'), password, binaries, runAs }
  } catch (error) {
    throw explained(`The embedded PostgreSQL cannot use ${directory}`, error)
  }
}

/** Builds a connection string for the superuser. */
export function connectionString(cluster: Cluster, address: Address, database: string): string {
  return urlOf(CLUSTER_USER, cluster.password, address, database)
}

/** Builds a connection string for the role of a running server. */
export function serverConnectionString(cluster: Cluster, address: Address, database: string): string {
  return urlOf(SERVER_ROLE, serverPassword(cluster.password), address, database)
}

function urlOf(user: string, password: string, { host, port }: Address, database: string): string {
  return `postgresql://${user}:${password}@${encodeURIComponent(host)}:${port}/${database}?sslmode=disable`
}

async function make(directory: string, { initdb }: PostgresBinaries, runAs: RunAs): Promise<void> {
  await sweepUnfinished(directory)
  const draft = `${directory}.init-${process.pid}-${randomBytes(4).toString('hex')}`
  const passwordFile = join(draft, 'password')
  try {
    await mkdir(draft, { mode: 0o700 })
    await writeFile(passwordFile, randomBytes(24).toString('base64url'), { mode: 0o600, flush: true })
    if (runAs.user !== null) {
      await chown(passwordFile, runAs.user.uid, runAs.user.gid)
      await chown(draft, runAs.user.uid, runAs.user.gid)
    }
    const options = ['--auth=scram-sha-256', '--encoding=UTF8', '--no-instructions']
    // Sort order is by bytes, as in locale C; upper and lower case follow Unicode.
    const locale = ['--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8']
    const place = [`--pgdata=${join(draft, 'data')}`, `--username=${CLUSTER_USER}`, `--pwfile=${passwordFile}`]
    await runAs.run(initdb, [...options, ...locale, ...place], { cwd: draft })
    await rename(draft, directory).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST' && error.code !== 'EPERM') throw error
    })
    await syncDirectory(dirname(directory))
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}

/** Removes drafts that a crash left. A draft's name contains the id of the process that creates it. */
async function sweepUnfinished(directory: string): Promise<void> {
  const prefix = `${basename(directory)}.init-`
  for (const name of await readdir(dirname(directory))) {
    if (!name.startsWith(prefix)) continue
    if (isAlive(Number(name.slice(prefix.length).split('-')[0]))) continue
    // An initdb that outlived its server may still be writing there; the next sweep removes what remains.
    await rm(join(dirname(directory), name), { recursive: true, force: true, maxRetries: 3 }).catch(() => null)
  }
}

async function syncDirectory(path: string): Promise<void> {
  if (process.platform === 'win32') return
  const handle = await open(path)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

const STOP_WITHIN_MS = 60_000
const POLL_MS = 50

/**
 * Changes the owner of a cluster from `postgres`, which earlier versions used for a server that runs as root, to the
 * user that is used now, once the cluster is stopped. The directory itself is changed last, so that a crash makes the
 * next start repeat everything.
 */
async function takeOver(directory: string): Promise<void> {
  if (process.getuid?.() !== 0) return
  const owner = await stat(directory).catch(() => null)
  if (owner === null || owner.uid === 0 || owner.uid !== (await lookUp('postgres'))?.uid) return
  const user = await ownUser()
  if (user === null || user.uid === owner.uid) return
  await stopLeftover(directory)
  const paths = (await readdir(directory)).map((name) => join(directory, name))
  const execute = promisify(execFile)
  if (paths.length > 0)
    await execute(systemProgram('chown'), ['-hR', `${user.uid}:${user.gid}`, '--', ...paths], { env: {} })
  await chown(directory, user.uid, user.gid)
}

/** Stops a PostgreSQL that a killed server has left running. */
async function stopLeftover(directory: string): Promise<void> {
  const text = await readFile(join(directory, 'data/postmaster.pid'), 'utf8').catch(() => '')
  const pid = Number.parseInt(text, 10)
  const deadline = performance.now() + STOP_WITHIN_MS
  // SIGINT requests a fast shutdown.
  if (await isPostgres(pid)) process.kill(pid, 'SIGINT')
  while (await isPostgres(pid)) {
    if (performance.now() > deadline) throw new Error(`the PostgreSQL in ${directory} (process ${pid}) does not stop`)
    await sleep(POLL_MS)
  }
}
