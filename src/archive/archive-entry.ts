/**
 * Limits of every archive. Without them, a small archive could cause much work: with them, reading takes a constant
 * number of steps per byte, and extracting makes a bounded number of files.
 */

/** Bytes of a name or of a link's target: far below the limits of file systems, to leave room for the directory. */
const NAME_BYTES_MAX = 1024
/** Bytes of a name between two slashes: the limit of usual file systems. */
const PART_BYTES_MAX = 255
/** Parts of a name. A program that walks the tree may keep one directory open for each part. */
const DEPTH_MAX = 128
/** Directories in the whole archive that have no entry, but follow from names of files. */
const IMPLIED_MAX = 20_000
/** Bytes of an extended header: a name, a target, and fields of other programs. */
export const EXTENDED_BYTES_MAX = 8192
/** Records in an extended header; `tar` writes at most nine. */
export const EXTENDED_RECORDS_MAX = 32
/** Zeros behind the end: `tar` fills its last record, which has 10 KiB by default. */
export const TRAILING_BYTES_MAX = 1024 * 1024

/** Steps after which the reader yields to the event loop: a header, a part of a name, a record or 4 KiB of content. */
export const SLICE_STEPS_MAX = 1_000
export const STEP_BYTES = 4096

/** The limit that an archive exceeds. */
export type ArchiveLimit =
  | 'entries'
  | 'implied-directories'
  | 'depth'
  | 'name-bytes'
  | 'extended-bytes'
  | 'extended-records'
  | 'trailing-bytes'

/**
 * An entry of an archive that carries files between machines. Archives are a subset of the tar format of POSIX (pax),
 * which `tar` reads, and writes with `--format=posix`. They have plain files, directories and symbolic links, and none
 * leaves the directory that the archive is extracted to.
 */
export interface ArchiveEntry {
  kind: 'file' | 'directory' | 'link'
  /** A relative path without `.` and `..`, as `lib/a.py`. */
  name: string
  /** 0 unless it is a file. */
  bytes: number
  executable: boolean
  /** The target of a link; null for other entries. */
  target: string | null
}

/** A fault of an archive, in words for people. */
export class ArchiveError extends Error {
  /** The exceeded limit; null for another fault. */
  readonly limit: ArchiveLimit | null

  constructor(message: string, limit: ArchiveLimit | null = null) {
    super(message)
    this.name = 'ArchiveError'
    this.limit = limit
  }
}

/** @returns the name without `./` and `/` around it; empty for the directory itself. @throws ArchiveError */
export function plainName(given: string): string {
  const shown = JSON.stringify(given.slice(0, 200))
  if (given.startsWith('/')) throw new ArchiveError(`${shown} is absolute`)
  const parts = given.split('/').filter((part) => part !== '' && part !== '.')
  if (parts.includes('..')) throw new ArchiveError(`${shown} leaves the directory`)
  if (given.includes('\0')) throw new ArchiveError(`${shown} has a NUL in it`)
  const name = parts.join('/')
  if (Buffer.byteLength(name) > NAME_BYTES_MAX || parts.some((part) => Buffer.byteLength(part) > PART_BYTES_MAX)) {
    const most = `${NAME_BYTES_MAX} bytes, and ${PART_BYTES_MAX} between two slashes`
    throw new ArchiveError(`${shown} is too long a name: the limit is ${most}`, 'name-bytes')
  }
  if (parts.length > DEPTH_MAX)
    throw new ArchiveError(`${shown} is ${parts.length} levels deep: the limit is ${DEPTH_MAX}`, 'depth')
  return name
}

/**
 * A target may have `..` only at its beginning: after a symbolic link, `..` leads to the parent of the link's target.
 *
 * @throws ArchiveError unless it stays within the directory
 */
export function checkTarget(name: string, target: string): void {
  const said = (what: string) => new ArchiveError(`the link ${name} ${what}`)
  if (target === '' || target.includes('\0')) throw said('has no target')
  if (target.startsWith('/')) throw said(`leads to ${target}, which is absolute`)
  if (Buffer.byteLength(target) > NAME_BYTES_MAX)
    throw new ArchiveError(`the link ${name} has a target of more than ${NAME_BYTES_MAX} bytes`, 'name-bytes')
  const parts = target.split('/').filter((part) => part !== '' && part !== '.')
  const down = parts.findIndex((part) => part !== '..')
  const ups = down === -1 ? parts.length : down
  if (parts.slice(ups).includes('..')) throw said(`leads to ${target}, which goes down and up again`)
  if (ups > name.split('/').length - 1) throw said(`leads to ${target}, which is outside`)
}

/**
 * Directories (with their contents) and other entries (null) of a directory. Keys begin with `/`, so that names of
 * digits are hashed like others.
 */
type Tree = Map<string, Tree | null>

/**
 * Keeps the names of all entries, so that none replaces another or passes through a link. Each part of a name is looked
 * up once, in its directory.
 */
export function createNames(): {
  /** @returns directories that have to be made, outer before inner, including the entry if it is a directory */
  take(entry: Pick<ArchiveEntry, 'kind' | 'name'>): string[]
} {
  const root: Tree = new Map()
  let implied = 0

  /** @returns the contents of the name's directory */
  function enter(name: string, missing: string[]): Tree {
    let tree = root
    let from = 0
    for (let at = name.indexOf('/'); at !== -1; at = name.indexOf('/', from)) {
      const key = `/${name.slice(from, at)}`
      from = at + 1
      let next = tree.get(key)
      if (next === null) throw new ArchiveError(`${name} goes through ${name.slice(0, at)}, which is no directory`)
      if (next === undefined) {
        if (++implied > IMPLIED_MAX)
          throw new ArchiveError(`its names need more than ${IMPLIED_MAX} directories`, 'implied-directories')
        tree.set(key, (next = new Map()))
        missing.push(name.slice(0, at))
      }
      tree = next
    }
    return tree
  }

  return {
    take({ kind, name }) {
      const missing: string[] = []
      const tree = enter(name, missing)
      const key = `/${name.slice(name.lastIndexOf('/') + 1)}`
      const known = tree.get(key)
      if (known === null || (known !== undefined && kind !== 'directory'))
        throw new ArchiveError(`${name} is in it twice`)
      if (known === undefined) tree.set(key, kind === 'directory' ? new Map() : null)
      if (known === undefined && kind === 'directory') missing.push(name)
      return missing
    },
  }
}
