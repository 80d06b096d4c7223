import { chmod, chown, lstat, mkdir, mkdtemp, realpath, rm, rmdir, stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Cluster } from './cluster.ts'
import { EmbeddedPostgresError } from './embedded-error.ts'

/**
 * The directory of the embedded PostgreSQL's socket. Only root and the user that PostgreSQL runs as can enter it. No
 * port of the machine leads to the database, so no other user can use up its connections. The directory is `socket` in
 * the cluster's directory, or, if a socket address is too short for that path, a directory with a random name below
 * `/run` or `/tmp`. PostgreSQL's pid file names it.
 */

/** Bytes of a socket's address, without the closing zero. */
const ADDRESS_BYTES_MAX = process.platform === 'linux' ? 107 : 103
/** The longest file name that PostgreSQL creates in the directory. */
const SOCKET_NAME_BYTES_MAX = '/.s.PGSQL.65535'.length
/** Paths that are safe for PostgreSQL, which receives the path through a shell, in a comma-separated list. */
const PLAIN_PATH = /^[\w./+=~:-]+$/
const STICKY = 0o1000
const WRITABLE_BY_OTHERS = 0o022

/** Node cannot connect to Unix sockets on Windows. */
export const HAS_SOCKETS = process.platform !== 'win32'

/**
 * Opens the directory for a start, creating it if needed.
 *
 * @param wanted the directory in which others already look for the socket
 */
export async function openSocketDirectory(cluster: Cluster, wanted?: string): Promise<string> {
  if (wanted !== undefined) return close(cluster, wanted)
  const own = join(cluster.directory, 'socket')
  if (fits(own)) {
    await close(cluster, own)
    if (await holdsSockets(own)) return own
  }
  return makeShort(cluster)
}

/** Whether this is a directory that no other user can have created, changed or entered. */
export async function isClosed(cluster: Cluster, directory: string): Promise<boolean> {
  const found = await lstat(directory).catch(() => null)
  return found !== null && found.isDirectory() && found.uid === ownerOf(cluster) && (found.mode & 0o077) === 0
}

/** Removes a directory with a random name after PostgreSQL has stopped, because it is not used again. */
export async function leaveSocketDirectory(cluster: Cluster, directory: string): Promise<void> {
  if (directory === '' || dirname(directory) === cluster.directory) return
  await rmdir(directory).catch(() => null)
}

/**
 * Removes files that a crash left; otherwise PostgreSQL would take any process with the old number for its own server.
 */
export async function removeStaleSocket(directory: string, port: number): Promise<void> {
  for (const name of [`.s.PGSQL.${port}`, `.s.PGSQL.${port}.lock`]) await rm(join(directory, name), { force: true })
}

function fits(directory: string): boolean {
  return Buffer.byteLength(directory) + SOCKET_NAME_BYTES_MAX <= ADDRESS_BYTES_MAX && PLAIN_PATH.test(directory)
}

function ownerOf({ runAs }: Cluster): number {
  return runAs.user?.uid ?? process.getuid!()
}

async function close(cluster: Cluster, directory: string): Promise<string> {
  const made = await mkdir(directory, { mode: 0o700 }).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
      return false
    },
  )
  if (made) await hand(cluster, directory)
  // The directory was restored from a backup, or somebody has changed its mode.
  else if (dirname(directory) === cluster.directory && (await lstat(directory)).isDirectory()) {
    await hand(cluster, directory)
    await chmod(directory, 0o700)
  }
  if (await isClosed(cluster, directory)) return directory
  throw new EmbeddedPostgresError(
    `${directory} is needed for the socket of PostgreSQL, but is not a directory that only its user can enter: remove it.`,
  )
}

async function hand({ runAs: { user } }: Cluster, directory: string): Promise<void> {
  if (user !== null) await chown(directory, user.uid, user.gid)
}

/** Whether the file system supports sockets; not all do. */
function holdsSockets(directory: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const probe = createServer()
  probe.once('error', () => resolve(false))
  // Closing the socket removes its file.
  probe.listen(join(directory, `.try-${process.pid}`), () => probe.close(() => resolve(true)))
  return promise
}

async function makeShort(cluster: Cluster): Promise<string> {
  // A user's own runtime directory is removed when that user logs out.
  const places = process.getuid?.() === 0 ? ['/run', '/tmp', tmpdir()] : ['/tmp', tmpdir()]
  for (const place of places) {
    const parent = await realpath(place).catch(() => null)
    if (parent === null || !fits(join(parent, 'reprise-XXXXXX')) || !(await keepsNames(parent))) continue
    const made = await mkdtemp(join(parent, 'reprise-')).catch(() => null)
    if (made === null) continue
    await hand(cluster, made)
    if (await holdsSockets(made)) return made
    await rmdir(made)
  }
  throw new EmbeddedPostgresError(
    `The path of ${cluster.directory} is too long for a socket, and none can be made below ${places.join(', ')}: ` +
      'set REPRISE_DATA_DIR to a shorter path.',
  )
}

/** Whether no other user can replace our directory by another one. */
async function keepsNames(parent: string): Promise<boolean> {
  const { mode } = await stat(parent)
  return (mode & STICKY) !== 0 || (mode & WRITABLE_BY_OTHERS) === 0
}
