import { open, type FileHandle } from 'node:fs/promises'
import { ArchiveError, type ArchiveEntry } from './archive-entry.ts'
import { ARCHIVE_END, archiveHeader, archivePadding } from './archive-format.ts'

/** An entry, and where its content is. */
export interface PackedEntry extends ArchiveEntry {
  path: string
  /** In place of the path, where that may have come to lead elsewhere. */
  open?(): Promise<FileHandle>
}

const READ_BYTES = 256 * 1024

/** The archive of these entries, in their order. @throws ArchiveError if a file has changed its size */
export async function* packFiles(entries: readonly PackedEntry[]): AsyncGenerator<Uint8Array, void> {
  for (const entry of entries) {
    yield archiveHeader(entry)
    if (entry.kind !== 'file') continue
    yield* contentOf(entry)
    const padding = archivePadding(entry.bytes)
    if (padding.length > 0) yield padding
  }
  yield ARCHIVE_END
}

/** How many bytes the archive has. */
export function packedBytes(entries: readonly PackedEntry[]): number {
  const each = entries.map((entry) => archiveHeader(entry).length + entry.bytes + archivePadding(entry.bytes).length)
  return each.reduce((sum, bytes) => sum + bytes, ARCHIVE_END.length)
}

async function* contentOf(entry: PackedEntry): AsyncGenerator<Uint8Array, void> {
  const { path, bytes, name } = entry
  await using file = await (entry.open?.() ?? open(path))
  const changed = () => new ArchiveError(`${name} has changed while it was read`)
  let read = 0
  for (;;) {
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(READ_BYTES), 0, READ_BYTES)
    read += bytesRead
    if (read > bytes) throw changed()
    if (bytesRead === 0) break
    yield buffer.subarray(0, bytesRead)
  }
  if (read !== bytes) throw changed()
}
