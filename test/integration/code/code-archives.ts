import { createHash } from 'node:crypto'
import type { ArchiveEntry } from '../../../src/archive/archive-entry.ts'
import { ARCHIVE_END, archiveHeader, archivePadding } from '../../../src/archive/archive-format.ts'

/** An archive of files by name, with its hash. */
export function archiveOf(files: Readonly<Record<string, string>>, more: readonly ArchiveEntry[] = []) {
  const parts = Object.entries(files).flatMap(([name, text]) => {
    const content = Buffer.from(text)
    const entry = { kind: 'file', name, bytes: content.length, executable: true, target: null } as const
    return [archiveHeader(entry), content, archivePadding(content.length)]
  })
  const bytes = Buffer.concat([...parts, ...more.map(archiveHeader), ARCHIVE_END])
  return { bytes, sha256: createHash('sha256').update(bytes).digest('hex') }
}

export async function* chunksOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 1_000) yield bytes.subarray(at, at + 1_000)
}
