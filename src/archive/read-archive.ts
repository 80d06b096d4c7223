import { setImmediate } from 'node:timers/promises'
import {
  type ArchiveEntry,
  ArchiveError,
  checkTarget,
  createNames,
  EXTENDED_BYTES_MAX,
  EXTENDED_RECORDS_MAX,
  plainName,
  SLICE_STEPS_MAX,
  STEP_BYTES,
  TRAILING_BYTES_MAX,
} from './archive-entry.ts'
import { BLOCK_BYTES, TYPES } from './archive-format.ts'

export interface ArchiveBounds {
  /** Largest number of files, directories and links. */
  entriesMax: number
}

/**
 * The pieces of an archive, in order: an entry with the directories that must be created for it, then the bytes of its
 * file. The directories go from outer to inner, and include the entry itself if it is a new directory.
 */
export type ArchivePiece = { entry: ArchiveEntry; directories: string[] } | { bytes: Uint8Array }

export interface ArchiveReader {
  /**
   * Reads the next chunk in slices, so that even a large chunk does not block the event loop. Every piece must be
   * taken. The bytes are parts of `chunk`.
   *
   * @throws ArchiveError
   */
  read(chunk: Uint8Array): AsyncGenerator<ArchivePiece, void>
  /** @throws ArchiveError if the archive is incomplete */
  end(): void
}

/** Keywords whose values are not needed. */
const IGNORED = /^(mtime|atime|ctime|uid|gid|uname|gname|comment|charset|hdrcharset)$/

/**
 * Reads an untrusted archive. Refuses everything outside the supported subset, and everything that two programs could
 * read differently. Keeps at most one block and one name in memory.
 */
export function createArchiveReader({ entriesMax }: ArchiveBounds): ArchiveReader {
  const names = createNames()
  const block = new Uint8Array(BLOCK_BYTES)
  let filled = 0
  let entries = 0
  /** Bytes of the current file, with its padding, that are still to come. */
  let left = 0
  let padding = 0
  /** The extended header that is being read, and the fields of the last one, which apply to the next entry. */
  let extended: Uint8Array | null = null
  let extendedAt = 0
  let stated: Map<string, string> = new Map()
  /** True after an extended header, which must be followed by its entry. */
  let isStated = false
  /** Number of bytes after the end of the archive; null before the end. */
  let trailing: number | null = null
  /** Steps since the event loop last had its turn. */
  let steps = 0

  function begin(): ArchivePiece | null {
    steps++
    if (isZero(block)) {
      if (isStated) throw new ArchiveError('it ends within an entry')
      trailing = 0
      return null
    }
    const header = parseHeader(block)
    left = header.bytes
    padding = (BLOCK_BYTES - (left % BLOCK_BYTES)) % BLOCK_BYTES
    if (header.type === TYPES.extended) {
      if (isStated || left === 0) throw new ArchiveError('an extended header is wrong')
      if (left > EXTENDED_BYTES_MAX) {
        const most = `the limit is ${EXTENDED_BYTES_MAX}`
        throw new ArchiveError(`an extended header has ${left} bytes: ${most}`, 'extended-bytes')
      }
      extended = new Uint8Array(left)
      extendedAt = 0
      return null
    }
    return entryOf(header)
  }

  function entryOf(header: Header): ArchivePiece | null {
    const given = stated.get('path') ?? header.name
    const kind = kindOf(header, given)
    const name = plainName(given)
    const target = kind === 'link' ? (stated.get('linkpath') ?? header.target) : null
    stated = new Map()
    isStated = false
    if (++entries > entriesMax) throw new ArchiveError(`it has more than ${entriesMax} entries`, 'entries')
    if (kind !== 'file' && header.bytes > 0) throw new ArchiveError(`${name} has a size, but is no file`)
    if (name === '' && kind === 'directory') return null
    if (name === '') throw new ArchiveError('an entry has no name')
    if (target !== null) checkTarget(name, target)
    steps += name.split('/').length
    const directories = names.take({ kind, name })
    const executable = kind === 'file' && (header.mode & 0o100) !== 0
    return { entry: { kind, name, bytes: header.bytes, executable, target }, directories }
  }

  function readExtended(bytes: Uint8Array): void {
    extended!.set(bytes, extendedAt)
    extendedAt += bytes.length
    if (left > 0) return
    stated = parseExtended(extended!)
    isStated = true
    extended = null
    steps += EXTENDED_RECORDS_MAX
  }

  return {
    async *read(chunk) {
      for (let at = 0; at < chunk.length;) {
        if (steps >= SLICE_STEPS_MAX) {
          steps = 0
          await setImmediate()
        }
        if (left > 0) {
          const bytes = chunk.subarray(at, at + left)
          at += bytes.length
          left -= bytes.length
          steps += Math.ceil(bytes.length / STEP_BYTES)
          if (extended === null) yield { bytes }
          else readExtended(bytes)
          continue
        }
        if (padding > 0) {
          const skipped = Math.min(padding, chunk.length - at)
          padding -= skipped
          at += skipped
          continue
        }
        const part = chunk.subarray(at, at + BLOCK_BYTES - filled)
        block.set(part, filled)
        filled += part.length
        at += part.length
        if (filled < BLOCK_BYTES) return
        filled = 0
        if (trailing !== null) {
          trailing = checkTrailing(block, trailing)
          continue
        }
        const piece = begin()
        if (piece !== null) yield piece
      }
    },
    end() {
      if (trailing === null || filled > 0) throw new ArchiveError('it is not complete')
    },
  }
}

/** @returns the new number of trailing bytes */
function checkTrailing(block: Uint8Array, before: number): number {
  if (!isZero(block)) throw new ArchiveError('data follows its end')
  const bytes = before + block.length
  if (bytes <= TRAILING_BYTES_MAX) return bytes
  throw new ArchiveError(`more than ${TRAILING_BYTES_MAX} bytes follow its end`, 'trailing-bytes')
}

function isZero(block: Uint8Array): boolean {
  return block.every((byte) => byte === 0)
}

interface Header {
  name: string
  mode: number
  bytes: number
  type: string
  target: string
}

function parseHeader(block: Uint8Array): Header {
  const sum = block.reduce((total, byte, at) => total + (at >= 148 && at < 156 ? 0x20 : byte), 0)
  if (octalOf(block, 148, 8) !== sum) throw new ArchiveError('it is no tar archive, or it is damaged')
  if (text(block, 257, 6) !== 'ustar') throw new ArchiveError('its format is not supported: use tar --format=posix')
  const prefix = text(block, 345, 155)
  const name = text(block, 0, 100)
  return {
    name: prefix === '' ? name : `${prefix}/${name}`,
    mode: octal(block, 100, 8),
    bytes: octal(block, 124, 12),
    type: String.fromCharCode(block[156]!),
    target: text(block, 157, 100),
  }
}

function kindOf({ type }: Header, name: string): ArchiveEntry['kind'] {
  if ((type === TYPES.file || type === '\0') && !name.endsWith('/')) return 'file'
  if (type === TYPES.link) return 'link'
  if (type === TYPES.directory) return 'directory'
  const shown = JSON.stringify(name.slice(0, 200))
  throw new ArchiveError(`${shown} is neither file nor directory nor symbolic link (type ${JSON.stringify(type)})`)
}

/** Parses octal digits followed by spaces or NULs; returns NaN for anything else. */
function octalOf(block: Uint8Array, at: number, length: number): number {
  const digits = /^ *([0-7]+)[ \0]*$/.exec(latin1(block.subarray(at, at + length)))?.[1]
  return digits === undefined ? Number.NaN : Number.parseInt(digits, 8)
}

function octal(block: Uint8Array, at: number, length: number): number {
  const value = octalOf(block, at, length)
  if (!Number.isSafeInteger(value)) throw new ArchiveError('a number in it is wrong')
  return value
}

/** Returns the text up to the first NUL. */
function text(block: Uint8Array, at: number, length: number): string {
  const field = block.subarray(at, at + length)
  const end = field.indexOf(0)
  return utf8(end === -1 ? field : field.subarray(0, end))
}

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1')
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function utf8(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes)
  } catch {
    throw new ArchiveError('a name in it is not UTF-8')
  }
}

/** Parses records of the form `<length> <keyword>=<value>\n`. */
function parseExtended(bytes: Uint8Array): Map<string, string> {
  const stated = new Map<string, string>()
  let records = 0
  for (let at = 0; at < bytes.length;) {
    if (++records > EXTENDED_RECORDS_MAX)
      throw new ArchiveError(`an extended header has more than ${EXTENDED_RECORDS_MAX} records`, 'extended-records')
    const digits = /^([1-9]\d{0,5}) /.exec(latin1(bytes.subarray(at, at + 8)))?.[1]
    const end = at + Number(digits)
    if (digits === undefined || end > bytes.length || bytes[end - 1] !== 0x0a)
      throw new ArchiveError('an extended header is wrong')
    const record = utf8(bytes.subarray(at + digits.length + 1, end - 1))
    const equals = record.indexOf('=')
    const keyword = record.slice(0, equals)
    if (keyword === 'path' || keyword === 'linkpath') stated.set(keyword, record.slice(equals + 1))
    else if (!IGNORED.test(keyword)) throw new ArchiveError(`it has ${JSON.stringify(keyword)}, which is not supported`)
    at = end
  }
  return stated
}
