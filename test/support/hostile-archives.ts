import { ARCHIVE_END, archiveHeader, archivePadding } from '../../src/archive/archive-format.ts'
import type { ArchiveEntry, ArchiveLimit } from '../../src/archive/archive-entry.ts'

/** An archive that asks for far more work, or far more files, than its bytes could be worth. */
export interface HostileArchive {
  name: string
  bytes: Buffer
  /** The bound that it is over; null where something else is wrong with it. */
  limit: ArchiveLimit | null
  /** Part of what is said to whoever sent it. */
  says: string
}

export function entryOf(name: string, more: Partial<ArchiveEntry> = {}): ArchiveEntry {
  return { kind: 'file', name, bytes: 0, executable: false, target: null, ...more }
}

/** A header whose field is another one, with the checksum that belongs to it. */
export function alteredHeader(entry: ArchiveEntry, at: number, text: string): Buffer {
  const block = Buffer.from(archiveHeader(entry))
  block.write(text, at, 'latin1')
  block.write(' '.repeat(8), 148)
  const sum = block.reduce((total, byte) => total + byte, 0)
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return block
}

/** An extended header with these records, whatever they are. */
export function extendedHeader(...records: string[]): Buffer {
  const text = records.map(withLength).join('')
  const bytes = Buffer.byteLength(text)
  return Buffer.concat([alteredHeader(entryOf('x', { bytes }), 156, 'x'), Buffer.from(text), archivePadding(bytes)])
}

/** The length counts its own digits. */
function withLength(record: string): string {
  const bare = Buffer.byteLength(record) + 2
  const digits = [1, 2, 3, 4].find((count) => String(bare + count).length === count)!
  return `${bare + digits} ${record}\n`
}

function archiveOf(...parts: (ArchiveEntry | Uint8Array)[]): Buffer {
  const bytes = parts.map((part) => (part instanceof Uint8Array ? part : archiveHeader(part)))
  return Buffer.concat([...bytes, ARCHIVE_END])
}

const count = <T>(many: number, make: (index: number) => T): T[] => Array.from({ length: many }, (_, at) => make(at))
const deep = (levels: number, part = 'd') => count(levels, () => part).join('/')

/**
 * Each is refused before it has cost much. Those that are over no bound of names are so by what they leave out, such as
 * a file of 8 GiB of which nothing comes.
 */
export const HOSTILE_ARCHIVES: readonly HostileArchive[] = [
  {
    name: '100,001 directories that 410 kB of names imply',
    // With a prefix, a header alone has room for 125 of them.
    bytes: archiveOf(...count(801, (at) => alteredHeader(entryOf(`${deep(49)}/f`), 345, `${at}/${deep(75)}`))),
    limit: 'implied-directories',
    says: 'more than 20000 directories',
  },
  {
    name: 'one name of 512 levels',
    bytes: archiveOf(entryOf(deep(512))),
    limit: 'depth',
    says: '512 levels deep: the limit is 128',
  },
  {
    name: 'names that go through the same 500 directories, over and over',
    bytes: archiveOf(...count(2_000, (at) => entryOf(`${deep(500)}/${at}`))),
    limit: 'depth',
    says: '501 levels deep: the limit is 128',
  },
  {
    name: 'names that go through the same 127 directories, over and over',
    bytes: archiveOf(...count(20_001, (at) => entryOf(`${deep(127)}/${at}`))),
    limit: 'entries',
    says: 'more than 20000 entries',
  },
  {
    name: 'very many empty files',
    bytes: archiveOf(...count(25_000, (at) => entryOf(`${at}`))),
    limit: 'entries',
    says: 'more than 20000 entries',
  },
  {
    name: 'its own directory, very often',
    bytes: archiveOf(...count(21_000, () => alteredHeader(entryOf('.', { kind: 'directory' }), 0, './\0'))),
    limit: 'entries',
    says: 'more than 20000 entries',
  },
  {
    name: 'an extended header of 1 GiB',
    bytes: archiveOf(alteredHeader(entryOf('x', { bytes: 2 ** 30 }), 156, 'x'), Buffer.alloc(100_000, 'x')),
    limit: 'extended-bytes',
    says: 'an extended header has 1073741824 bytes: the limit is 8192',
  },
  {
    name: 'an extended header of very many records',
    bytes: archiveOf(extendedHeader(...count(800, () => 'uid=')), entryOf('a')),
    limit: 'extended-records',
    says: 'more than 32 records',
  },
  {
    name: 'extended headers that no entry follows',
    bytes: archiveOf(...count(10_000, () => extendedHeader('mtime=1'))),
    limit: null,
    says: 'an extended header is wrong',
  },
  {
    name: 'a name of 8,000 bytes in an extended header',
    bytes: archiveOf(extendedHeader(`path=${deep(32, 'n'.repeat(250))}`), entryOf('a')),
    limit: 'name-bytes',
    says: 'too long a name: the limit is 1024 bytes',
  },
  {
    name: 'a file with holes, as GNU tar writes it',
    bytes: archiveOf(alteredHeader(entryOf('a', { bytes: 512 }), 156, 'S'), Buffer.alloc(512)),
    limit: null,
    says: 'neither file nor directory nor symbolic link',
  },
  {
    name: 'a file with holes, as pax writes it',
    bytes: archiveOf(extendedHeader('GNU.sparse.realsize=1099511627776'), entryOf('a')),
    limit: null,
    says: 'GNU.sparse.realsize',
  },
  {
    name: 'a file of 8 GiB of which nothing comes',
    bytes: archiveOf(entryOf('a', { bytes: 8 * 1024 ** 3 - 1 })),
    limit: null,
    says: 'not complete',
  },
  {
    name: 'a file behind a link',
    bytes: archiveOf(entryOf('a', { kind: 'link', target: 'b' }), entryOf('a/c')),
    limit: null,
    says: 'goes through a, which is no directory',
  },
  {
    name: 'a link with a target of very many parts',
    bytes: archiveOf(extendedHeader(`linkpath=${deep(4_000, 'x')}`), entryOf('a', { kind: 'link', target: 'b' })),
    limit: 'name-bytes',
    says: 'a target of more than 1024 bytes',
  },
  {
    name: 'zeros behind its end',
    bytes: archiveOf(entryOf('a'), Buffer.alloc(2 * 1024 * 1024)),
    limit: 'trailing-bytes',
    says: 'more than 1048576 bytes follow its end',
  },
]
