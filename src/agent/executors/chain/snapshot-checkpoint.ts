import { chown, copyFile, link, lstat, mkdir, readlink, rename, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { ArchiveError, plainName } from '../../../archive/archive-entry.ts'
import { RELAY_ENTRIES_MAX } from '../../../domain/limits.ts'
import { wait } from '../../../waiting/wait.ts'
import { removeTree } from '../../remove-tree.ts'
import { openBelow, pathOf, tooMany, walkBelow } from './walk-below.ts'

/** Of a program that does nothing but replace two small files: four of ten tries find it standing still. */
const TRIES_MAX = 20
const TRY_AGAIN_MS = 50

/** What a chain's directory held at one moment, while its program goes on. */
export interface Snapshot {
  /** Nobody else reaches into it; the files in it are the program's, under further names. */
  readonly path: string
  /**
   * Gives those files that have been written to since a copy of their own, which stands still, and adds their names to
   * `written`.
   *
   * @returns how many
   */
  freeze(): Promise<number>
}

export interface SnapshotOptions {
  bytesMax: number
  /** Files of which copies are made at once. */
  written: Set<string>
}

/**
 * Hard links of all plain files, in directories of its own; symbolic links are made anew. A name that comes, goes or is
 * replaced while they are made shows in a second look, and then all is begun again: so the names are those of one moment,
 * for programs that replace files by renames. What a program writes to in place is as torn as for anybody who reads it.
 *
 * @param into in the same file system, in a directory where only the agent writes
 * @throws ArchiveError if it is too large, or does not stand still for long enough
 */
export async function snapshotCheckpoint(directory: string, into: string, options: SnapshotOptions): Promise<Snapshot> {
  for (let tries = 1; tries <= TRIES_MAX; tries++) {
    await removeTree(into)
    const files = await linkAll(directory, into, options)
    if (files !== null) return { path: into, freeze: () => freeze(into, files, options) }
    await wait(TRY_AGAIN_MS)
  }
  throw new ArchiveError('files came and went all the time while it was looked at')
}

/** By name, when each was last written to, and its size then. */
type Files = Map<string, string>

/** @returns null if names have changed meanwhile */
async function linkAll(directory: string, into: string, { bytesMax, written }: SnapshotOptions): Promise<Files | null> {
  const files: Files = new Map()
  const seen = new Map<string, string>()
  let bytes = 0
  try {
    const own = await lstat(directory)
    await mkdir(into, { mode: 0o700 })
    // Its files count as those of the directory's user; nobody else than the agent gets there.
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

/** Of a name of which something has gone, or has become something else. */
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

/** EMLINK: it has as many names as it can. The others: the file system has no hard links, or not for this file. */
const NOT_LINKED = ['EMLINK', 'EXDEV', 'EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']

/** The user's own files only: with a further name, nobody can tell whether another's file has this one alone. */
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

/** @param own whose directory it is: a further name of another's file is refused; null: all in it are taken already */
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
  return new ArchiveError(`it has more than ${bytesMax} bytes (REPRISE_CHECKPOINT_RELAY_MAX)`)
}
