import { createHash } from 'node:crypto'
import { lstat, opendir, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { ArchiveError, checkTarget, plainName } from '../../../../archive/archive-entry.ts'
import { packedBytes, packFiles, type PackedEntry } from '../../../../archive/pack-files.ts'

/** A checkpoint as it travels: its archive can be read as often as nothing changes. */
export interface PackedCheckpoint {
  sha256: string
  archiveBytes: number
  /** Files, and bytes in them. */
  files: number
  bytes: number
  read(): AsyncGenerator<Uint8Array, void>
}

export interface PackBounds {
  archiveBytesMax: number
  entriesMax: number
}

/**
 * Packs the directory of a chain in which nothing runs. The order of names makes equal directories equal archives.
 *
 * @returns why it cannot travel, in words, where it is too large or has something else than files, directories and
 *   symbolic links that stay within it
 */
export async function packCheckpoint(directory: string, bounds: PackBounds): Promise<PackedCheckpoint | string> {
  const entries: PackedEntry[] = []
  try {
    await list(directory, '', entries, bounds)
    const archiveBytes = packedBytes(entries)
    if (archiveBytes > bounds.archiveBytesMax) return `it is larger than ${bounds.archiveBytesMax} bytes`
    const hash = createHash('sha256')
    for await (const chunk of packFiles(entries)) hash.update(chunk)
    const files = entries.filter(({ kind }) => kind === 'file')
    return {
      sha256: hash.digest('hex'),
      archiveBytes,
      files: files.length,
      bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
      read: () => packFiles(entries),
    }
  } catch (error) {
    if (error instanceof ArchiveError) return error.message
    throw error
  }
}

async function list(root: string, name: string, entries: PackedEntry[], bounds: PackBounds): Promise<void> {
  const found: string[] = []
  for await (const entry of await opendir(join(root, name))) {
    if (found.push(entry.name) + entries.length > bounds.entriesMax) {
      throw new ArchiveError(`it has more than ${bounds.entriesMax} entries`)
    }
  }
  for (const base of found.toSorted()) {
    const own = plainName(name === '' ? base : `${name}/${base}`)
    const path = join(root, own)
    const stats = await lstat(path)
    const common = { name: own, path, bytes: 0, executable: false, target: null }
    if (stats.isDirectory()) {
      entries.push({ ...common, kind: 'directory' })
      await list(root, own, entries, bounds)
    } else if (stats.isSymbolicLink()) {
      const target = await readlink(path)
      checkTarget(own, target)
      entries.push({ ...common, kind: 'link', target })
    } else if (stats.isFile()) {
      entries.push({ ...common, kind: 'file', bytes: stats.size, executable: (stats.mode & 0o100) !== 0 })
    } else {
      throw new ArchiveError(`${own} is neither file nor directory nor symbolic link`)
    }
  }
}
