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
  constructor(message: string) {
    super(message)
    this.name = 'ArchiveError'
  }
}

/** Far below what file systems take, so that any directory has room in front. */
const NAME_BYTES_MAX = 1024
/** Of every file system that matters. */
const PART_BYTES_MAX = 255

/** @returns the name without `./` and `/` around it; empty for the directory itself. @throws ArchiveError */
export function plainName(given: string): string {
  const shown = JSON.stringify(given.slice(0, 200))
  if (given.startsWith('/')) throw new ArchiveError(`${shown} is absolute`)
  const parts = given.split('/').filter((part) => part !== '' && part !== '.')
  if (parts.includes('..')) throw new ArchiveError(`${shown} leaves the directory`)
  if (given.includes('\0')) throw new ArchiveError(`${shown} has a NUL in it`)
  const name = parts.join('/')
  if (Buffer.byteLength(name) > NAME_BYTES_MAX || parts.some((part) => Buffer.byteLength(part) > PART_BYTES_MAX)) {
    throw new ArchiveError(`${shown} is too long a name`)
  }
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
  if (Buffer.byteLength(target) > NAME_BYTES_MAX) throw said('has too long a target')
  const parts = target.split('/').filter((part) => part !== '' && part !== '.')
  const down = parts.findIndex((part) => part !== '..')
  const ups = down === -1 ? parts.length : down
  if (parts.slice(ups).includes('..')) throw said(`leads to ${target}, which goes down and up again`)
  if (ups > name.split('/').length - 1) throw said(`leads to ${target}, which is outside`)
}

/** Names that were taken, so that no entry replaces another or goes through a link. */
export function createNames(): { take(entry: Pick<ArchiveEntry, 'kind' | 'name'>): void } {
  const directories = new Set<string>()
  const others = new Set<string>()
  return {
    take({ kind, name }) {
      for (let at = name.indexOf('/'); at !== -1; at = name.indexOf('/', at + 1)) {
        const parent = name.slice(0, at)
        if (others.has(parent)) throw new ArchiveError(`${name} goes through ${parent}, which is no directory`)
        directories.add(parent)
      }
      if (others.has(name) || (kind !== 'directory' && directories.has(name))) {
        throw new ArchiveError(`${name} is in it twice`)
      }
      if (kind === 'directory') directories.add(name)
      else others.add(name)
    },
  }
}
