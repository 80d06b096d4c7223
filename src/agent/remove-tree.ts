import { randomBytes } from 'node:crypto'
import { constants, type Dirent, renameSync } from 'node:fs'
import { chmod, lchmod, lstat, mkdir, open, opendir, rename, rmdir, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { NO_SYNC_POINTS } from '../observability/sync-points.ts'

/**
 * Removes trees whose content programs control, even while those programs still run: locked directories, thousands of
 * levels, links that appear during the removal.
 *
 * A tree is first moved into a directory that only the agent can change, its bin: `.dropping-<random>/`, with mode
 * 0700. Each directory found in it is moved up into the bin, and removed once it is empty. So no path has more than two
 * names below the bin, however deep the tree was. No other user can replace the first of these names. The entry with
 * the second name is removed, moved or unlocked itself, and no link is followed. A mount cannot be moved, so it is left
 * as it is, with its content.
 *
 * All state is in the bin: anyone who finds a bin, after a crash or in the next pass, can continue with it.
 */

/** Prefix of a bin, which lies beside the removed tree. No id begins with this or with DROPPED. */
export const BIN = '.dropping-'
/** Prefix of the name that a tree gets, in one step, before it is moved into a bin. */
export const DROPPED = '.dropped-'

/** A flag of Linux: opens even a directory without read permission. */
const O_PATH = 0o10_000_000
const { O_NOFOLLOW, O_DIRECTORY } = constants
const OWNER_ALL = 0o700

export interface Pass {
  /** Whether everything has been removed, also the bin. */
  gone: boolean
  /** Number of files and directories that were removed or moved up. */
  count: number
  /** Error of the first entry that could not be removed. */
  fault: Error | null
}

/** Renames the tree in one step, and returns at once. @throws ENOENT and other errors of `rename` */
export function dropSync(path: string): string {
  const dropped = join(dirname(path), `${DROPPED}${randomName()}`)
  renameSync(path, dropped)
  return dropped
}

/**
 * Removes the whole tree, however long that takes. A missing tree is no error. @throws if something is left, in a bin
 */
export async function removeTree(path: string): Promise<void> {
  const bin = newBin(path)
  if (!(await moveIntoBin(path, bin))) return
  for (;;) {
    const { gone, count, fault } = await emptyBin(bin, Number.POSITIVE_INFINITY)
    if (gone) return
    if (count === 0) throw fault ?? new Error(`${path} could not be removed`)
  }
}

/** Returns a new path beside `path`, so in the same file system. */
export function newBin(path: string): string {
  return join(dirname(path), `${BIN}${randomName()}`)
}

/** @returns false if there is nothing */
export async function moveIntoBin(path: string, bin: string): Promise<boolean> {
  if ((await lstat(path).catch(ifGone)) === null) return false
  try {
    await mkdir(bin, OWNER_ALL)
  } catch (error) {
    if (!isOneOf(error, 'ENOSPC', 'EDQUOT') || !(await becameBin(path, bin))) throw error
    return true
  }
  try {
    await moveUp(Buffer.from(path), bin)
    return true
  } catch (error) {
    await rmdir(bin)
    if (isOneOf(error, 'ENOENT')) return false
    throw error
  }
}

/**
 * Turns the directory itself into a bin if no other user can replace anything in it. On a full disk no bin can be
 * created, and the removal is what would make space.
 */
async function becameBin(path: string, bin: string): Promise<boolean> {
  const found = await lstat(path)
  const isOwn = found.uid === process.getuid?.() && (found.mode & 0o022) === 0
  if (!isOwn || !found.isDirectory()) return false
  await rename(path, bin)
  await chmod(bin, OWNER_ALL)
  return true
}

/**
 * Runs one pass, which ends after this time, or when nothing more can be removed.
 *
 * @param forMs however short, a pass removes at least one entry if it can
 * @param syncPoints `removal:after-look`: an entry is known as a file or a directory, and becomes a link before it is
 * removed. `removal:before-unlock`: a directory is known to be locked, and becomes a link before it is unlocked
 */
export async function emptyBin(bin: string, forMs: number, syncPoints = NO_SYNC_POINTS): Promise<Pass> {
  const until = performance.now() + forMs
  const pass: Pass = { gone: false, count: 0, fault: null }
  const isOver = () => pass.count > 0 && performance.now() >= until

  /** Runs the work, and ignores the error if the entry has been removed meanwhile. */
  async function attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work()
      pass.count++
    } catch (error) {
      if (!isOneOf(error, 'ENOENT')) pass.fault ??= error as Error
    }
  }

  async function removeEntry(path: Buffer, isDirectory: boolean): Promise<void> {
    await syncPoints.reached('removal:after-look')
    if (isDirectory) return moveUp(path, bin, syncPoints)
    await unlink(path).catch((error: unknown) => {
      // A directory has taken its place.
      if (isOneOf(error, 'EISDIR', 'EPERM')) return moveUp(path, bin, syncPoints)
      throw error
    })
  }

  async function removeDirectory(path: Buffer): Promise<void> {
    for await (const entry of await list(path)) {
      await attempt(() => removeEntry(below(path, entry.name), entry.isDirectory()))
      if (isOver()) return
    }
    await attempt(() => rmdir(path))
  }

  async function removeAll(): Promise<void> {
    for await (const { name } of await list(Buffer.from(bin))) {
      const path = below(Buffer.from(bin), name)
      const found = await lstat(path).catch(ifGone)
      if (found?.isDirectory() !== true) await attempt(() => unlink(path))
      else {
        if ((found.mode & OWNER_ALL) !== OWNER_ALL) await unlock(path)
        // If one directory cannot be read, the others are still removed.
        await removeDirectory(path).catch((error: Error) => (pass.fault ??= error))
      }
      if (isOver()) return
    }
    await rmdir(bin).then(
      () => (pass.gone = true),
      () => {},
    )
  }

  for (let before = -1; !pass.gone && before < pass.count && !isOver();) {
    before = pass.count
    // Agents that share a directory may work on the same bin.
    await removeAll().catch((error: unknown) => (pass.gone = ifGone(error as Error) === null))
  }
  return pass
}

/** Moves a directory up. Moving it elsewhere changes it, so it must be writable. */
async function moveUp(path: Buffer, bin: string, syncPoints = NO_SYNC_POINTS): Promise<void> {
  const to = join(bin, randomName())
  try {
    await rename(path, to)
  } catch (error) {
    if (!isOneOf(error, 'EACCES', 'EPERM')) throw error
    await syncPoints.reached('removal:before-unlock')
    await unlock(path)
    await rename(path, to)
  }
}

/** Gives its owner all rights to a directory, but never to the target of a link. The owner may be this user. */
export async function unlock(path: Buffer | string): Promise<void> {
  try {
    // `lchmod` is deprecated because only macOS has it, and macOS has nothing else for this.
    // oxlint-disable-next-line typescript/no-deprecated
    if (process.platform !== 'linux') return await lchmod(path, OWNER_ALL)
    await using directory = await open(path, O_PATH | O_NOFOLLOW | O_DIRECTORY)
    await chmod(`/proc/self/fd/${directory.fd}`, OWNER_ALL)
  } catch {
    // Where this does not work, the step that needs the right fails with a clear error.
  }
}

/** Lists names as bytes, since they need not be valid text. */
async function list(path: Buffer): Promise<AsyncIterable<Dirent<Buffer>>> {
  return (await opendir(path, { encoding: 'buffer' as BufferEncoding })) as unknown as AsyncIterable<Dirent<Buffer>>
}

function below(path: Buffer, name: Buffer): Buffer {
  return Buffer.concat([path, Buffer.from('/'), name])
}

function randomName(): string {
  return randomBytes(8).toString('hex')
}

function ifGone(error: Error): null {
  if (isOneOf(error, 'ENOENT')) return null
  throw error
}

function isOneOf(error: unknown, ...codes: string[]): boolean {
  return codes.includes((error as NodeJS.ErrnoException).code ?? '')
}
