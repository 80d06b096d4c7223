import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { lstat, open, opendir, readlink, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { ArchiveError, checkTarget, plainName } from '../../../../archive/archive-entry.ts'
import { packedBytes, packFiles, type PackedEntry } from '../../../../archive/pack-files.ts'
import type { CheckpointCopy } from '../../../../domain/agent/protocol.ts'
import { RELAY_ENTRIES_MAX } from '../../../../domain/limits.ts'

/** A checkpoint as it travels: its archive can be read as often as nothing changes. */
export interface PackedCheckpoint extends CheckpointCopy {
  read(): AsyncGenerator<Uint8Array, void>
}

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK, O_DIRECTORY } = constants

/**
 * Packs the directory of a chain. The order of names makes equal directories equal archives. Programs of the same
 * project may still reach into it: no link is followed, on the way to a file or in its place, so that nothing else than
 * what is in the directory is read. Sockets and pipes are left out.
 *
 * @throws ArchiveError if it cannot travel: it is too large, or has links that leave it
 */
export async function packCheckpoint(directory: string, bytesMax: number): Promise<PackedCheckpoint> {
  const entries: PackedEntry[] = []
  await walk(directory, async (name, at) => {
    const entry = await entryOf(directory, name, at)
    if (entry !== null && entries.push(entry) > RELAY_ENTRIES_MAX)
      throw new ArchiveError(`it has more than ${RELAY_ENTRIES_MAX} files and directories`)
    return entry?.kind === 'directory'
  })
  const archiveBytes = packedBytes(entries)
  if (archiveBytes > bytesMax)
    throw new ArchiveError(`it has ${archiveBytes} bytes, more than ${bytesMax} (REPRISE_CHECKPOINT_RELAY_MAX)`)
  const hash = createHash('sha256')
  for await (const chunk of packFiles(entries)) hash.update(chunk)
  const files = entries.filter(({ kind }) => kind === 'file')
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0)
  return { sha256: hash.digest('hex'), archiveBytes, files: files.length, bytes, read: () => packFiles(entries) }
}

async function entryOf(root: string, name: string, at: string): Promise<PackedEntry | null> {
  const stats = await lstat(at)
  const common = { name: plainName(name), path: at, bytes: 0, executable: false, target: null }
  if (stats.isDirectory()) return { ...common, kind: 'directory' }
  if (stats.isSymbolicLink()) {
    const target = await readlink(at)
    checkTarget(name, target)
    return { ...common, kind: 'link', target }
  }
  if (!stats.isFile()) return null
  const executable = (stats.mode & 0o100) !== 0
  return { ...common, kind: 'file', bytes: stats.size, executable, open: () => openBelow(root, name) }
}

/**
 * Visits all that is in the directory, each by a path that no link is part of.
 *
 * @param visit returns whether to go into it
 */
async function walk(root: string, visit: (name: string, at: string) => Promise<boolean>, name = ''): Promise<void> {
  await using directory = await openBelow(root, name, O_DIRECTORY)
  const here = pathOf(directory)
  const found: string[] = []
  for await (const entry of await opendir(here)) {
    if (found.push(entry.name) > RELAY_ENTRIES_MAX)
      throw new ArchiveError(`it has more than ${RELAY_ENTRIES_MAX} files and directories`)
  }
  for (const base of found.toSorted()) {
    const own = name === '' ? base : `${name}/${base}`
    if (await visit(own, join(here, base))) await walk(root, visit, own)
  }
}

/** @throws ELOOP, ENOTDIR where a link has come in between */
async function openBelow(root: string, name: string, flags = O_NONBLOCK): Promise<FileHandle> {
  const parts = name.split('/').filter((part) => part !== '')
  let at = await open(root, O_RDONLY | O_NOFOLLOW | O_DIRECTORY)
  for (const [index, part] of parts.entries()) {
    const last = index === parts.length - 1
    await using parent = at
    at = await open(join(pathOf(parent), part), O_RDONLY | O_NOFOLLOW | (last ? flags : O_DIRECTORY))
  }
  return at
}

/** Of what it has open, whatever has its name now. */
function pathOf({ fd }: FileHandle): string {
  return `/proc/self/fd/${fd}`
}
