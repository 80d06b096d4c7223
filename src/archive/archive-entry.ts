import { type ArchiveLimit, DEPTH_MAX, IMPLIED_MAX, NAME_BYTES_MAX, PART_BYTES_MAX } from './archive-limits.ts'

/**
 * An archive of files as they travel between machines: a subset of the tar format of POSIX (pax), which `tar` writes
 * with `--format=posix` and reads. It holds plain files, directories and symbolic links, and nothing that leaves the
 * directory that it is extracted to.
 */
export interface ArchiveEntry {
  kind: 'file' | 'directory' | 'link'
  /** Relative and plain: `lib/a.py`. */
  name: string
  /** 0 unless it is a file. */
  bytes: number
  executable: boolean
  /** Of a link; else null. */
  target: string | null
}

/** What is wrong with an archive, for people. */
export class ArchiveError extends Error {
  /** Which bound it is over; null if something else is wrong. */
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
 * A target may begin with `..`, and have it nowhere else: behind another link, `..` is not what it seems.
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

/** The directories within one, and what else is in it (null), by `/` and name: a number would be its own hash. */
type Tree = Map<string, Tree | null>

/**
 * Names that were taken, so that no entry replaces another or goes through a link. Each part of a name is looked up
 * once, in the directory that it is in.
 */
export function createNames(): {
  /** @returns directories that are not there yet, the outer before the inner; with the entry, if it is one */
  take(entry: Pick<ArchiveEntry, 'kind' | 'name'>): string[]
} {
  const root: Tree = new Map()
  let implied = 0

  /** @returns what is in the directory in which the name is */
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
