import { randomBytes } from 'node:crypto'
import { constants, type Dirent, renameSync } from 'node:fs'
import { chmod, lchmod, lstat, mkdir, open, opendir, rename, rmdir, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { NO_SYNC_POINTS } from '../observability/sync-points.ts'

/**
 * Removes trees in which programs may have put anything, and may still be about: locked directories, thousands of
 * levels, links that come in between.
 *
 * A tree is moved into a directory of the agent's own first, its bin: `.dropping-<random>/`, of mode 0700. Each directory
 * that is found in it is moved up into the bin, and removed once it is empty. So no path has more than two names below
 * the bin, however deep the tree was. The first of them is one that no other user can replace. What has the second is
 * removed, moved or unlocked itself; no link is followed. A mount is left as it is, with all that is in it: it cannot be
 * moved.
 *
 * All state is in the bin: whoever finds one, after a crash or in the next pass, goes on with it.
 */

/** Beside what is removed. No id begins like this, or like DROPPED. */
export const BIN = '.dropping-'
/** What is on its way into a bin is renamed to such a name first, in one step. */
export const DROPPED = '.dropped-'

/** Of Linux: opens a directory that may not be read. */
const O_PATH = 0o10_000_000
const { O_NOFOLLOW, O_DIRECTORY } = constants
const OWNER_ALL = 0o700

export interface Pass {
  /** Nothing is left, the bin neither. */
  gone: boolean
  /** Files and directories that were removed or moved up. */
  count: number
  /** Why the first of those that are left could not be removed. */
  fault: Error | null
}

/** Takes it away in one step, which blocks for no longer than that. @throws ENOENT and others of `rename` */
export function dropSync(path: string): string {
  const dropped = join(dirname(path), `${DROPPED}${randomName()}`)
  renameSync(path, dropped)
  return dropped
}

/** Removes all of it, however long that takes. Nothing there is fine. @throws if something is left, in a bin */
export async function removeTree(path: string): Promise<void> {
  const bin = newBin(path)
  if (!(await moveIntoBin(path, bin))) return
  for (;;) {
    const { gone, count, fault } = await emptyBin(bin, Number.POSITIVE_INFINITY)
    if (gone) return
    if (count === 0) throw fault ?? new Error(`${path} could not be removed`)
  }
}

/** Beside `path`, so in the same file system. */
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
 * On a full disk, what is removed would be what makes space: a directory in which nobody else can replace anything is a
 * bin as it is.
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
 * One pass, which ends after this time, or when nothing more can be removed.
 *
 * @param forMs whatever it is, a pass removes something if it can
 * @param syncPoints `removal:after-look`: an entry is known as a file or a directory, and becomes a link before it is
 *   removed. `removal:before-unlock`: a directory is known to be locked, and becomes a link before it is unlocked
 */
export async function emptyBin(bin: string, forMs: number, syncPoints = NO_SYNC_POINTS): Promise<Pass> {
  const until = performance.now() + forMs
  const pass: Pass = { gone: false, count: 0, fault: null }
  const isOver = () => pass.count > 0 && performance.now() >= until

  /** What is not there any more was removed by somebody else. */
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
        // Where one cannot be read, the others go all the same.
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
    // Agents that share a directory may go on with the same bin.
    await removeAll().catch((error: unknown) => (pass.gone = ifGone(error as Error) === null))
  }
  return pass
}

/** To move a directory elsewhere is to change it. */
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

/** Gives its owner, who this may be, all rights to a directory, and to nothing that a link leads to. */
export async function unlock(path: Buffer | string): Promise<void> {
  try {
    // Deprecated, as it is there on macOS alone, where nothing else does this.
    // oxlint-disable-next-line typescript/no-deprecated
    if (process.platform !== 'linux') return await lchmod(path, OWNER_ALL)
    await using directory = await open(path, O_PATH | O_NOFOLLOW | O_DIRECTORY)
    await chmod(`/proc/self/fd/${directory.fd}`, OWNER_ALL)
  } catch {
    // What needs the right then fails, and says why.
  }
}

/** Names may be any bytes. */
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
