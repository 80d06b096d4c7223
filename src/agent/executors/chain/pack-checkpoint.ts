import { createHash } from 'node:crypto'
import { type FileHandle, lstat, readlink } from 'node:fs/promises'
import { ArchiveError, checkTarget, plainName } from '../../../archive/archive-entry.ts'
import { packedBytes, type PackedEntry, packFiles } from '../../../archive/pack-files.ts'
import type { CheckpointCopy } from '../../../domain/agent/protocol.ts'
import { RELAY_ENTRIES_MAX } from '../../../domain/limits.ts'
import { openBelow, tooMany, walkBelow } from './walk-below.ts'
import { describeBytes } from '../../../domain/amounts.ts'

/** A checkpoint that is ready to be sent. Its archive can be read repeatedly while the files do not change. */
export interface PackedCheckpoint extends CheckpointCopy {
  read(): AsyncGenerator<Uint8Array, void>
}

/**
 * Packs the directory of a chain. Names are sorted, so equal directories make equal archives. Programs of the same
 * project may still change the directory, so no link is followed on the way to a file or in its place, and only files
 * of the directory are read. Sockets and pipes are left out.
 *
 * @throws ArchiveError if it cannot be sent: it is too large, or has links that leave it
 */
export async function packCheckpoint(directory: string, bytesMax: number): Promise<PackedCheckpoint> {
  const entries: PackedEntry[] = []
  await walkBelow(directory, async (name, at) => {
    const entry = await entryOf(directory, name, at)
    if (entry !== null && entries.push(entry) > RELAY_ENTRIES_MAX) throw tooMany()
    return entry?.kind === 'directory'
  })
  const archiveBytes = packedBytes(entries)
  if (archiveBytes > bytesMax)
    throw new ArchiveError(
      `it has ${describeBytes(archiveBytes)}, more than ${describeBytes(bytesMax)} (REPRISE_CHECKPOINT_RELAY_MAX)`,
    )
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
  return { ...common, kind: 'file', bytes: stats.size, executable, open: () => openOwn(root, name) }
}

/** Opens a file, unless it is a further name of another user's file, which the program itself could not read. */
async function openOwn(root: string, name: string): Promise<FileHandle> {
  const file = await openBelow(root, name)
  try {
    const [{ uid, nlink }, { uid: own }] = [await file.stat(), await lstat(root)]
    if (nlink <= 1 || uid === own) return file
    throw new ArchiveError(`its file ${name} belongs to another user`)
  } catch (error) {
    await file.close()
    throw error
  }
}
