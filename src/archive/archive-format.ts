import type { ArchiveEntry } from './archive-entry.ts'

export const BLOCK_BYTES = 512
export const TYPES = { file: '0', link: '2', directory: '5', extended: 'x' } as const

/** The year 1980, the first that every archive format can express. */
const MTIME_SECONDS = 315_532_800

/** Two blocks of zeros. */
export const ARCHIVE_END = new Uint8Array(2 * BLOCK_BYTES)

/**
 * Returns the header before the content of an entry: the same bytes for the same entry, independently of its owner and
 * its time.
 */
export function archiveHeader({ kind, name, bytes, executable, target }: ArchiveEntry): Uint8Array {
  const path = pathOf(kind, name)
  const records = recordsOf(path, target, bytes)
  const mode = kind === 'file' && !executable ? 0o644 : 0o755
  const header = block({
    name: cut(path),
    mode,
    bytes: Math.min(bytes, FIELD_BYTES_MAX),
    type: TYPES[kind],
    target: cut(target ?? ''),
  })
  if (records === '') return header
  const size = Buffer.byteLength(records)
  const before = block({ name: 'extended', mode: 0o644, bytes: size, type: TYPES.extended, target: '' })
  return Buffer.concat([before, Buffer.from(records), archivePadding(size), header])
}

/** Returns how many bytes an entry takes in the archive, with its headers and padding. */
export function entryBytes({ kind, name, bytes, target }: ArchiveEntry): number {
  const records = Buffer.byteLength(recordsOf(pathOf(kind, name), target, bytes))
  const before = records === 0 ? 0 : BLOCK_BYTES + inBlocks(records)
  return before + BLOCK_BYTES + inBlocks(bytes)
}

function inBlocks(bytes: number): number {
  return Math.ceil(bytes / BLOCK_BYTES) * BLOCK_BYTES
}

function pathOf(kind: ArchiveEntry['kind'], name: string): string {
  return kind === 'directory' ? `${name}/` : name
}

/** The largest size that a header can express: 8 GiB. */
const FIELD_BYTES_MAX = 8 ** 11 - 1

/** Names, targets and sizes that do not fit into a header go into an extended one. */
function recordsOf(path: string, target: string | null, bytes: number): string {
  const isLong = (text: string | null): text is string => text !== null && Buffer.byteLength(text) > 100
  return `${isLong(path) ? record('path', path) : ''}${isLong(target) ? record('linkpath', target) : ''}${bytes > FIELD_BYTES_MAX ? record('size', String(bytes)) : ''}`
}

/** Returns the padding behind the content of a file. */
export function archivePadding(bytes: number): Uint8Array {
  return new Uint8Array((BLOCK_BYTES - (bytes % BLOCK_BYTES)) % BLOCK_BYTES)
}

/** The length of a record counts its own digits. */
function record(keyword: string, value: string): string {
  const bare = Buffer.byteLength(` ${keyword}=${value}\n`)
  let length = bare + String(bare).length
  if (bare + String(length).length !== length) length = bare + String(length).length
  return `${length} ${keyword}=${value}\n`
}

/** Shortens text for a header field that an extended header replaces. */
function cut(text: string): string {
  return Buffer.byteLength(text) > 100 ? 'extended' : text
}

function block(header: { name: string; mode: number; bytes: number; type: string; target: string }): Buffer {
  const made = Buffer.alloc(BLOCK_BYTES)
  made.write(header.name, 0)
  made.write(digits(header.mode, 7), 100)
  made.write(digits(0, 7), 108)
  made.write(digits(0, 7), 116)
  made.write(digits(header.bytes, 11), 124)
  made.write(digits(MTIME_SECONDS, 11), 136)
  made.write(' '.repeat(8), 148)
  made.write(header.type, 156)
  made.write(header.target, 157)
  made.write('ustar', 257)
  made.write('00', 263)
  made.write(
    `${digits(
      made.reduce((sum, byte) => sum + byte, 0),
      6,
    )}\0 `,
    148,
  )
  return made
}

function digits(value: number, length: number): string {
  return value.toString(8).padStart(length, '0')
}
