import { ArchiveError } from '../../archive/archive-entry.ts'
import { createArchiveReader } from '../../archive/read-archive.ts'
import { RepriseError } from '../../domain/errors.ts'
import { UPLOAD_ENTRIES_MAX } from '../../domain/limits.ts'
import type { Database } from '../../store/database.ts'
import type { CodeKey } from '../../store/sql/code.sql.ts'
import type { BlobStore, OpenedBlob } from '../blob/blob-store.ts'
import { adoptOldFile, hasOldFile } from '../blob/migrate-blobs.ts'
import { inputError } from '../input/parse-input.ts'
import { describeBytes } from '../../domain/amounts.ts'

/** Where uploaded code is, and how much of it there may be. An archive is a blob of its project. */
export interface CodeStore {
  readonly blobs: BlobStore
  /** REPRISE_CHECKPOINT_DIR, where older versions stored it. */
  readonly oldDirectory: string
  readonly bytesMax: number
  readonly projectBytesMax: number
}

/** Opens an archive; null if it is gone. */
export async function openCode(db: Database, store: CodeStore, key: CodeKey, from = 0): Promise<OpenedBlob | null> {
  const { blobs, oldDirectory } = store
  const opened = await blobs.open(key, { from })
  if (opened !== null || !(await adoptOldFile({ db, blobs }, oldDirectory, key))) return opened
  return blobs.open(key, { from })
}

/** Writes nothing: a file of an older version is only moved when it is opened. */
export async function hasCode({ blobs, oldDirectory }: CodeStore, key: CodeKey): Promise<boolean> {
  return (await blobs.has(key.projectId, [key.sha256])).size === 1 || hasOldFile(oldDirectory, key)
}

/**
 * Reads an archive by the rules for uploaded code.
 *
 * @returns the number of its files and links
 * @throws RepriseError VALIDATION_FAILED
 */
export async function checkArchive(chunks: AsyncIterable<Uint8Array>): Promise<number> {
  const reader = createArchiveReader({ entriesMax: UPLOAD_ENTRIES_MAX })
  let files = 0
  try {
    for await (const chunk of chunks) {
      for await (const piece of reader.read(chunk)) if ('entry' in piece && piece.entry.kind !== 'directory') files++
    }
    reader.end()
  } catch (error) {
    throw error instanceof ArchiveError ? notReadable(error.message) : error
  }
  return files
}

export function tooLarge(bytesMax: number): RepriseError {
  const message = `The archive is too large: the limit is ${describeBytes(bytesMax)} (REPRISE_UPLOAD_BYTES_MAX).`
  return new RepriseError('REQUEST_TOO_LARGE', message)
}

export function notReadable(why: string): RepriseError {
  return inputError([{ path: '', message: `the archive is refused: ${why}` }])
}
