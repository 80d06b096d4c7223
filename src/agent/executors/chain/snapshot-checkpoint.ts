import { chown, copyFile, link, lstat, mkdir, readlink, rename, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { ArchiveError, plainName } from '../../../archive/archive-entry.ts'
import { RELAY_ENTRIES_MAX } from '../../../domain/limits.ts'
import { wait } from '../../../waiting/wait.ts'
import { removeTree } from '../../remove-tree.ts'
import { openBelow, pathOf, tooMany, walkBelow } from './walk-below.ts'
import { describeBytes } from '../../../domain/amounts.ts'

/**
 * Number of tries to find the directory unchanged. For a program that only replaces two small files, four of ten
 * succeed.
 */
const TRIES_MAX = 20
const TRY_AGAIN_MS = 50

/** The content of a chain's directory at one moment, while its program continues. */
export interface Snapshot {
  /** No other user can access its content. Its files are the program's files, under further names. */
  readonly path: string
  /**
   * Copies the files that have been written to since, so that the copies no longer change, and adds their names to
   * `written`.
   *
   * @returns the number of copied files
   */
  freeze(): Promise<number>
}

export interface SnapshotOptions {
  bytesMax: number
  /** Names of files that are copied from the start. */
  written: Set<string>
}

/**
 * Creates hard links to all plain files in new directories, and creates symbolic links again. A second look shows
 * whether a name was added, removed or replaced meanwhile; if so, everything starts again. So the names are those of
 * one moment, for programs that replace files by renames. A file that a program writes to in place may be torn, as for
 * any other reader.
 *
 * @param into a path in the same file system, in a directory where only the agent writes
 * @throws ArchiveError if it is too large, or never stays unchanged for long enough
 */
export async function snapshotCheckpoint(directory: string, into: string, options: SnapshotOptions): Promise<Snapshot> {
  for (let tries = 1; tries <= TRIES_MAX; tries++) {
    await removeTree(into)
    const files = await linkAll(directory, into, options)
    if (files !== null) return { path: into, freeze: () => freeze(into, files, options) }
    await wait(TRY_AGAIN_MS)
  }
  throw new ArchiveError('its files kept changing while they were read')
}

/** The modification time and size of each file, by name. */
type Files = Map<string, string>

/** @returns null if names have changed meanwhile */
async function linkAll(directory: string, into: string, { bytesMax, written }: SnapshotOptions): Promise<Files | null> {
  const files: Files = new Map()
  const seen = new Map<string, string>()
  let bytes = 0
  try {
    const own = await lstat(directory)
    await mkdir(into, { mode: 0o700 })
    // Copies count as files of the directory's user; only the agent can reach them.
    if (own.uid !== process.getuid!()) await chown(into, own.uid, own.gid)
    await walkBelow(directory, async (name, at) => {
      const found = await lookAt(name, at)
      bytes += found.bytes
      if (seen.set(name, found.key).size > RELAY_ENTRIES_MAX) throw tooMany()
      if (bytes > bytesMax) throw tooLarge(bytesMax)
      const to = join(into, name)
      if (found.kind === 'directory') await mkdir(to, { mode: 0o700 })
      if (found.kind === 'link') await symlink(found.target, to)
      if (found.kind === 'file') {
        const linked = found.uid === own.uid && !written.has(name) && (await isLinked(at, to, own.uid))
        if (!linked) await copy(directory, name, to, { bytesMax, own: own.uid })
        files.set(name, await stateOf(to))
      }
      return found.kind === 'directory'
    })
    let same = 0
    await walkBelow(directory, async (name, at) => {
      const { kind, key } = await lookAt(name, at)
      if (seen.get(name) !== key) throw new ChangedError()
      same += 1
      return kind === 'directory'
    })
    return same === seen.size ? files : null
  } catch (error) {
    if (error instanceof ChangedError || CHANGED.includes((error as NodeJS.ErrnoException).code ?? '')) return null
    throw error
  }
}

class ChangedError extends Error {}

/** Errors for a name whose file is gone or was replaced by something else. */
const CHANGED = ['ENOENT', 'ENOTDIR', 'ELOOP', 'EINVAL', 'EISDIR', 'ENXIO']

type Found = { key: string; bytes: number; uid: number } & (
  | { kind: 'file' | 'directory' | 'other' }
  | { kind: 'link'; target: string }
)

async function lookAt(name: string, at: string): Promise<Found> {
  plainName(name)
  const stats = await lstat(at).catch((error: unknown) => {
    if (name.includes('\ufffd')) throw new ArchiveError(`${JSON.stringify(name)} is not the name: it is not in UTF-8`)
    throw error
  })
  if (stats.isSymbolicLink()) {
    const target = await readlink(at)
    return { kind: 'link', target, key: `link ${target}`, bytes: 0, uid: stats.uid }
  }
  const kind = stats.isFile() ? 'file' : stats.isDirectory() ? 'directory' : 'other'
  return { kind, key: `${kind} ${stats.ino}`, bytes: stats.isFile() ? stats.size : 0, uid: stats.uid }
}

/**
 * EMLINK: the file has as many names as it can. The others: the file system has no hard links, or none for this file.
 */
const NOT_LINKED = ['EMLINK', 'EXDEV', 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']

/**
 * Links only files of the directory's owner. After that, it could not be determined whether another user's file already
 * had further names.
 */
async function isLinked(at: string, to: string, own: number): Promise<boolean> {
  try {
    await link(at, to)
  } catch (error) {
    if (NOT_LINKED.includes((error as NodeJS.ErrnoException).code ?? '')) return false
    throw error
  }
  const stats = await lstat(to)
  if (!stats.isFile() || stats.uid !== own) throw new ChangedError()
  return true
}

/**
 * @param own the directory's owner: a file of another user is refused if it has further names; null skips this check
 */
async function copy(
  root: string,
  name: string,
  to: string,
  { bytesMax, own }: { bytesMax: number; own: number | null },
): Promise<void> {
  await using file = await openBelow(root, name)
  const stats = await file.stat()
  if (!stats.isFile()) throw new ChangedError()
  if (own !== null && stats.uid !== own && stats.nlink > 1)
    throw new ArchiveError(`its file ${name} belongs to another user`)
  if (stats.size > bytesMax) throw tooLarge(bytesMax)
  await copyFile(pathOf(file), to)
}

async function freeze(into: string, files: Files, { bytesMax, written }: SnapshotOptions): Promise<number> {
  const still = `${into}.still`
  let frozen = 0
  for (const [name, before] of files) {
    const path = join(into, name)
    if ((await stateOf(path)) === before) continue
    await copy(into, name, still, { bytesMax, own: null })
    await rename(still, path)
    files.set(name, await stateOf(path))
    written.add(name)
    frozen += 1
  }
  return frozen
}

async function stateOf(path: string): Promise<string> {
  const { ino, mtimeNs, size } = await lstat(path, { bigint: true })
  return `${ino} ${mtimeNs} ${size}`
}

function tooLarge(bytesMax: number): ArchiveError {
  return new ArchiveError(`it has more than ${describeBytes(bytesMax)} (REPRISE_CHECKPOINT_RELAY_MAX)`)
}
