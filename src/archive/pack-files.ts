import { open, type FileHandle } from 'node:fs/promises'
import { setImmediate } from 'node:timers/promises'
import { ArchiveError, type ArchiveEntry } from './archive-entry.ts'
import { ARCHIVE_END, archiveHeader, archivePadding, entryBytes } from './archive-format.ts'

/** An entry with the place of its content. */
export interface PackedEntry extends ArchiveEntry {
  path: string
  /** Used instead of the path if that may have been replaced meanwhile. */
  open?(): Promise<FileHandle>
}

const READ_BYTES = 256 * 1024
/** Entries after which the packer yields to the event loop: directories and links cause no I/O. */
const SLICE_ENTRIES = 256

/** Yields the archive of these entries, in their order. @throws ArchiveError if a file has changed its size */
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

/** Returns the number of bytes of the archive. */
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
