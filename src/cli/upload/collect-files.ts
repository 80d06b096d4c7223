import { lstat, readlink, realpath, stat } from 'node:fs/promises'
import { basename, join, relative, resolve } from 'node:path'
import { ArchiveError, checkTarget, createNames, plainName } from '../../archive/archive-entry.ts'
import type { PackedEntry } from '../../archive/pack-files.ts'
import { UsageError } from '../present-error.ts'
import { gitFiles } from './git-files.ts'

/** As many as a server takes. */
const FILES_MAX = 20_000

/**
 * What is named, file by file, in the order of names: the same files are always the same archive. They lie there as they
 * lie here, relative to the working directory; what lies outside of it is there under its last name.
 *
 * @throws UsageError
 */
export async function collectFiles(paths: readonly string[], from: string): Promise<PackedEntry[]> {
  const entries = new Map<string, PackedEntry>()
  const here = await realpath(from)
  for (const given of paths) {
    const path = await realpath(resolve(from, given)).catch((error: NodeJS.ErrnoException) => {
      throw new UsageError(`--upload ${given}: ${error.code === 'ENOENT' ? 'there is no such file' : error.message}`)
    })
    const inside = relative(here, path)
    const prefix = inside === '..' || inside.startsWith('../') ? basename(path) : inside
    await add(entries, path, prefix)
  }
  if (entries.size === 0) throw new UsageError(`--upload ${paths.join(', ')}: there are no files`)
  const sorted = [...entries.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1))
  refusing(() => {
    const names = createNames()
    for (const entry of sorted) names.take(entry)
  })
  return sorted
}

/** What a server would refuse is refused here. */
function refusing<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (error instanceof ArchiveError) throw new UsageError(`--upload: ${error.message}`)
    throw error
  }
}

async function add(entries: Map<string, PackedEntry>, path: string, name: string): Promise<void> {
  if (!(await stat(path)).isDirectory()) return take(entries, await entryOf(path, name))
  for (const file of await gitFiles(path)) {
    const inner = join(path, file)
    const found = await lstat(inner).catch(ifMissing)
    // One that git knows may be deleted; a repository within this one is a directory.
    if (found === null) continue
    if (found.isDirectory()) await add(entries, inner, join(name, file))
    else take(entries, await entryOf(inner, join(name, file)))
  }
}

function take(entries: Map<string, PackedEntry>, entry: PackedEntry | null): void {
  if (entry === null) return
  const known = entries.get(entry.name)
  if (known !== undefined && known.path !== entry.path) {
    throw new UsageError(`--upload: ${known.path} and ${entry.path} would both be ${entry.name}`)
  }
  entries.set(entry.name, entry)
  if (entries.size > FILES_MAX) {
    throw new UsageError(`--upload: there are more than ${FILES_MAX} files; a .gitignore says which stay here`)
  }
}

/** Null for sockets and the like, which no copy would be. */
async function entryOf(path: string, given: string): Promise<PackedEntry | null> {
  const found = await lstat(path)
  const name = refusing(() => plainName(given))
  if (found.isSymbolicLink()) {
    const target = await readlink(path)
    refusing(() => checkTarget(name, target))
    return { kind: 'link', name, path, target, bytes: 0, executable: false }
  }
  if (!found.isFile()) return null
  return { kind: 'file', name, path, target: null, bytes: found.size, executable: (found.mode & 0o100) !== 0 }
}

function ifMissing(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null
  throw error
}
