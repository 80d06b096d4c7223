import { open, type FileHandle } from 'node:fs/promises'
import { setImmediate } from 'node:timers/promises'
import { ArchiveError, type ArchiveEntry } from './archive-entry.ts'
import { ARCHIVE_END, archiveHeader, archivePadding, entryBytes } from './archive-format.ts'

/** An entry, and where its content is. */
export interface PackedEntry extends ArchiveEntry {
  path: string
  /** In place of the path, where that may have come to lead elsewhere. */
  open?(): Promise<FileHandle>
}

const READ_BYTES = 256 * 1024
/** Between which the event loop gets its turn: directories and links ask nothing of the file system. */
const SLICE_ENTRIES = 256

/** The archive of these entries, in their order. @throws ArchiveError if a file has changed its size */
export async function* packFiles(entries: readonly PackedEntry[]): AsyncGenerator<Uint8Array, void> {
  for (const [at, entry] of entries.entries()) {
    if (at % SLICE_ENTRIES === SLICE_ENTRIES - 1) await setImmediate()
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
  return entries.reduce((sum, entry) => sum + entryBytes(entry), ARCHIVE_END.length)
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
