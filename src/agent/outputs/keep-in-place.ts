import { randomUUID } from 'node:crypto'
import { chmod, type FileHandle, lstat, mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import type { Owner } from '../../archive/extract-archive.ts'
import { openDirectoryBelow, openIn, pathOf } from '../executors/chain/walk-below.ts'
import { isPassing } from '../disk-watch.ts'
import { isDropped, type Removals } from '../removals.ts'
import { type CollectedFile, type CollectedOutputs, withoutFiles } from './collect-outputs.ts'

/** The outputs in the kernel's directory. */
export const FILES = 'files'
/** What was found, written before anything is moved, so that after a crash the moves continue from it. */
const LISTED = 'listed'

/** Entries of the kernel's directory that stay. */
const STAYING: readonly string[] = ['spec.json', FILES, LISTED]

interface InPlace {
  /** The kernel's directory. */
  path: string
  /** Reads the working directory. */
  collect(): Promise<CollectedOutputs>
  removals: Removals
}

/**
 * Moves the outputs of a kernel, of which no process is left, from its working directory to a directory beside it, and
 * removes the rest. Nothing is copied. Until the last file is there, only the agent enters that directory: programs of
 * the same user may still change the working directory, but nothing in the new one. It then belongs to the owner of the
 * working directory. May be repeated after a crash.
 *
 * @returns what is there, and the directory that it is in
 */
export async function keepInPlace({
  path,
  collect,
  removals,
}: InPlace): Promise<{ outputs: CollectedOutputs; directory: string }> {
  const directory = join(path, FILES)
  const { owner, outputs: found } = (await readListed(path)) ?? (await list(path, collect))
  await mkdir(directory, { mode: 0o700 }).catch(isThere)
  const lost = new Map<string, string>()
  for (const file of found.files) {
    const fault = await move(file, path)
    if (fault !== null) lost.set(file.path, fault)
  }
  if (owner !== null) await handOver(await openDirectoryBelow(path, FILES), owner)
  // Others pass through it, to a directory that is their own.
  if (owner !== null) await chmod(path, 0o711)
  for (const name of await readdir(path)) {
    if (!STAYING.includes(name) && !isDropped(name)) removals.drop(join(path, name))
  }
  return { outputs: lost.size === 0 ? found : withoutFiles(found, lost), directory }
}

interface Listed {
  /** The user who ran the program; null for the agent's own user, and if the agent must not give files away. */
  owner: Owner | null
  outputs: CollectedOutputs
}

async function readListed(path: string): Promise<Listed | null> {
  const text = await readFile(join(path, LISTED), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  return text === null ? null : (JSON.parse(text) as Listed)
}

async function list(path: string, collect: InPlace['collect']): Promise<Listed> {
  const { uid, gid } = await lstat(join(path, 'work'))
  const own = process.getuid?.()
  const listed = { owner: own !== 0 || uid === own ? null : { uid, gid }, outputs: await collect() }
  const at = join(path, LISTED)
  await writeFile(`${at}.new`, JSON.stringify(listed), { mode: 0o600, flush: true })
  await rename(`${at}.new`, at)
  return listed
}

/** @returns why the file is not there, or null */
async function move({ root, name, path, target }: CollectedFile, kernelPath: string): Promise<string | null> {
  await using to = await makeDirectoryBelow(join(kernelPath, FILES), directoryOf(path))
  const at = join(pathOf(to), baseOf(path))
  try {
    await using from = await openDirectoryBelow(root, directoryOf(name))
    await rename(join(pathOf(from), baseOf(name)), at)
  } catch (error) {
    if (isPassing(error)) throw error
    const { code = '' } = error as NodeJS.ErrnoException
    // It may have been moved before a crash. With ELOOP or ENOTDIR a link has taken the place of a directory.
    if (!['ENOENT', 'ELOOP', 'ENOTDIR'].includes(code)) return `it could not be kept in place (${code})`
  }
  const stats = await lstat(at).catch(() => null)
  if (stats === null) return 'it is gone'
  if (target === null ? stats.isFile() : stats.isSymbolicLink()) return null
  // It is removed with the rest.
  await rename(at, join(kernelPath, `refused.${randomUUID()}`))
  return 'it is no longer a file'
}

async function makeDirectoryBelow(root: string, below: string): Promise<FileHandle> {
  let at = await openDirectoryBelow(root, '')
  for (const part of below === '' ? [] : below.split('/')) {
    await using parent = at
    await mkdir(join(pathOf(parent), part), { mode: 0o700 }).catch(isThere)
    at = await openIn(parent, part)
  }
  return at
}

/** Gives the directories to the owner, the outermost one last: until then nobody else enters it. */
async function handOver(directory: FileHandle, owner: Owner): Promise<void> {
  await using handle = directory
  for (const entry of await readdir(pathOf(handle), { withFileTypes: true })) {
    if (entry.isDirectory()) await handOver(await openIn(handle, entry.name), owner)
  }
  await handle.chown(owner.uid, owner.gid)
}

function isThere(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error
}

/** Empty for a file that is not in a directory. */
function directoryOf(path: string): string {
  return path.slice(0, Math.max(path.lastIndexOf('/'), 0))
}

function baseOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}
