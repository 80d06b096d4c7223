/** Archives of files: written, read, extracted, and refused. */
import { execFileSync } from 'node:child_process'
import { lstat, mkdir, mkdtemp, readdir, readFile, readlink, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type ArchiveEntry, ArchiveError, SLICE_STEPS_MAX } from '../../../src/archive/archive-entry.ts'
import { ARCHIVE_END, archiveHeader, archivePadding } from '../../../src/archive/archive-format.ts'
import { extractArchive } from '../../../src/archive/extract-archive.ts'
import { packedBytes, type PackedEntry, packFiles } from '../../../src/archive/pack-files.ts'
import { createArchiveReader } from '../../../src/archive/read-archive.ts'
import { checkArchive } from '../../../src/services/code/code-store.ts'
import { alteredHeader, entryOf, extendedHeader, HOSTILE_ARCHIVES } from '../../support/hostile-archives.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { checkProperty } from '../../support/seeds.ts'

const file = (name: string, bytes = 0): ArchiveEntry => entryOf(name, { bytes })
const link = (name: string, target: string): ArchiveEntry => ({ ...file(name), kind: 'link', target })
const directory = (name: string): ArchiveEntry => ({ ...file(name), kind: 'directory' })

function archive(...entries: (ArchiveEntry | Uint8Array)[]): Buffer {
  const parts = entries.flatMap((entry) => {
    if (entry instanceof Uint8Array) return [entry]
    return [archiveHeader(entry), Buffer.alloc(entry.bytes, 'x'), archivePadding(entry.bytes)]
  })
  return Buffer.concat([...parts, ARCHIVE_END])
}

async function read(
  bytes: Uint8Array,
  chunkBytes = bytes.length,
): Promise<{ entries: ArchiveEntry[]; content: number }> {
  const reader = createArchiveReader({ entriesMax: 100 })
  const entries: ArchiveEntry[] = []
  let content = 0
  for (let at = 0; at < bytes.length; at += chunkBytes) {
    for await (const piece of reader.read(bytes.subarray(at, at + chunkBytes))) {
      if ('entry' in piece) entries.push(piece.entry)
      else content += piece.bytes.length
    }
  }
  reader.end()
  return { entries, content }
}

async function* chunksOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 700) yield bytes.subarray(at, at + 700)
}

async function allOf(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array[]> {
  const all: Uint8Array[] = []
  for await (const chunk of chunks) all.push(chunk)
  return all
}

async function fresh(): Promise<string> {
  return mkdtemp(join(await temporaryDirectory('archive'), 'a-'))
}

describe('an archive', () => {
  const names = fc
    .array(fc.stringMatching(/^[a-zäß€ .]{1,40}$/), { minLength: 1, maxLength: 8 })
    .map((parts) => parts.map((part) => `n${part}`).join('/'))

  test('reads back what was written, in pieces of any size', async () => {
    const entries = fc
      .uniqueArray(fc.record({ name: names, bytes: fc.nat(2_000), executable: fc.boolean() }), {
        selector: ({ name }) => name,
        maxLength: 6,
      })
      .map((all) => all.map((each): ArchiveEntry => ({ kind: 'file', target: null, ...each })))
      .filter((all) => all.every(({ name }) => !all.some((other) => other.name.startsWith(`${name}/`))))
    await checkProperty(
      fc.asyncProperty(entries, fc.integer({ min: 1, max: 3_000 }), async (given, chunkBytes) => {
        const found = await read(archive(...given), chunkBytes)
        expect(found.entries).toEqual(given)
        expect(found.content).toBe(given.reduce((sum, { bytes }) => sum + bytes, 0))
      }),
    )
  })

  test('is compatible with tar in both directions', async () => {
    const from = await fresh()
    const long = `deep/${'n'.repeat(120)}`
    await mkdir(join(from, 'deep'))
    await writeFile(join(from, long), 'long')
    await writeFile(join(from, 'run'), '#!/bin/sh\n', { mode: 0o755 })
    await symlink(long, join(from, 'link'))
    const packed: PackedEntry[] = [
      { ...file(long, 4), path: join(from, long) },
      { ...link('link', long), path: '' },
      { ...file('run', 10), executable: true, path: join(from, 'run') },
    ]
    const bytes = Buffer.concat(await allOf(packFiles(packed)))
    expect(bytes.length).toBe(packedBytes(packed))
    const listed = execFileSync('tar', ['-tvf', '-'], { input: bytes, encoding: 'utf8' })
    expect(listed.split('\n').map((line) => line.split(/\s+/).slice(5).join(' '))).toEqual([
      long,
      `link -> ${long}`,
      'run',
      '',
    ])
    const written = execFileSync('tar', ['--format=posix', '-C', from, '-cf', '-', '.'])
    const to = join(await fresh(), 'out')
    await extractArchive(chunksOf(written), to, { owner: null, entriesMax: 10 })
    expect((await readdir(to, { recursive: true })).toSorted()).toEqual(['deep', long, 'link', 'run'])
    expect(await readlink(join(to, 'link'))).toBe(long)
    expect(await readFile(join(to, 'link'), 'utf8')).toBe('long')
    expect((await stat(join(to, 'run'))).mode & 0o100).toBe(0o100)
  })

  test.runIf(process.getuid!() === 0)(
    'all extracted files belong to the user who extracts them (as root)',
    async () => {
      const uid = 2_000_000_123
      const to = join(await fresh(), 'out')
      const bytes = archive(file('a/b/c', 3), link('a/link', 'b/c'), directory('empty'))
      await extractArchive(chunksOf(bytes), to, { owner: { uid, gid: uid }, entriesMax: 10 })
      const owners = async (name: string) => {
        const { uid: user, gid: group } = await lstat(join(to, name))
        return [user, group]
      }
      for (const name of ['.', 'a', 'a/b', 'a/b/c', 'a/link', 'empty']) {
        expect([name, ...(await owners(name))]).toEqual([name, uid, uid])
      }
    },
  )

  test('is the same for the same files, whenever they were written', async () => {
    const hash = async (mode: number) => {
      const path = join(await fresh(), 'a')
      await writeFile(path, 'content', { mode })
      return Buffer.concat(await allOf(packFiles([{ ...file('a', 7), path }])))
    }
    expect((await hash(0o600)).equals(await hash(0o644))).toBe(true)
  })

  test('is not made of a file that grows or shrinks meanwhile', async () => {
    const path = join(await fresh(), 'a')
    await writeFile(path, 'content')
    for (const bytes of [6, 8]) {
      await expect(allOf(packFiles([{ ...file('a', bytes), path }]))).rejects.toThrow('a has changed')
    }
  })
})

describe('refused is', () => {
  const hostile: [string, Uint8Array, RegExp][] = [
    ['an absolute name', archive(file('/etc/passwd')), /is absolute/],
    ['a name that leaves', archive(file('a/../../b')), /leaves the directory/],
    ['a name that leaves, in an extended header', archive(extendedHeader('path=../../x'), file('a')), /leaves the dir/],
    ['an absolute link', archive(link('a', '/etc')), /absolute/],
    ['a link that leaves', archive(link('d/a', '../../b')), /outside/],
    ['a link that goes down and up', archive(link('d/a', '..'), link('b', 'd/a/../x')), /down and up/],
    ['a link in an extended header', archive(extendedHeader('linkpath=../../secret'), link('a', 'b')), /outside/],
    ['a file behind a link', archive(link('a', 'b'), file('a/c')), /goes through a/],
    ['a directory behind a link', archive(link('a', 'b'), directory('a')), /twice/],
    ['a file behind a file', archive(file('a'), file('a/b')), /goes through a/],
    ['the same name twice', archive(file('a'), file('a')), /twice/],
    ['the same name in two forms', archive(file('a'), file('./a')), /twice/],
    ['a file in the place of a directory', archive(file('a/b'), file('a')), /twice/],
    ...['1', '3', '4', '6'].map((type): [string, Uint8Array, RegExp] => [
      `type ${type}, such as a device or a hard link`,
      archive(alteredHeader(file('a'), 156, type)),
      /neither file nor directory/,
    ]),
    ['a global header', archive(alteredHeader(file('a'), 156, 'g')), /neither file/],
    ['a name of another format', archive(alteredHeader(file('a'), 156, 'L')), /neither file/],
    ['a sparse file', archive(extendedHeader('GNU.sparse.major=1'), file('a')), /GNU\.sparse/],
    ['a size in an extended header', archive(extendedHeader('size=512'), file('a', 10)), /"size"/],
    ['another format', archive(alteredHeader(file('a'), 257, 'ustar  \0')), /--format=posix/],
    ['a size in base 256', archive(alteredHeader(file('a'), 124, '\x80\0\0\0\0\0\0\0\0\0\0\x01')), /number/],
    ['a link with content', archive(alteredHeader(link('a', 'b'), 124, '00000001000')), /has a size/],
    ['a wrong checksum', Buffer.alloc(512, 'x'), /no tar archive/],
    ['something behind its end', Buffer.concat([archive(file('a')), archiveHeader(file('b'))]), /follows its end/],
    ['an incomplete one', archive(file('a', 600)).subarray(0, 700), /not complete/],
    ['one without an end', Buffer.from(archiveHeader(file('a'))), /not complete/],
    ['nothing', Buffer.alloc(0), /not complete/],
    ['too many entries', archive(...Array.from({ length: 101 }, (_, at) => file(`f${at}`))), /more than 100/],
    ['a name that is too long', archive(file('n'.repeat(256))), /too long/],
    ['a name that is not UTF-8', archive(alteredHeader(file('aaaa'), 0, '\xff\xfe')), /UTF-8/],
  ]
  test.each(hostile)('%s', async (_, bytes, message) => {
    await expect(read(bytes)).rejects.toThrow(ArchiveError)
    await expect(read(bytes)).rejects.toThrow(message)
    const to = await fresh()
    await expect(extractArchive(chunksOf(bytes), join(to, 'out'), { owner: null, entriesMax: 100 })).rejects.toThrow(
      ArchiveError,
    )
    expect(await readdir(to)).toEqual(['out'])
  })

  test.each(HOSTILE_ARCHIVES)('$name', async ({ bytes, limit, says }) => {
    const refusal = { name: 'ArchiveError', limit, message: expect.stringContaining(says) as string }
    const reader = createArchiveReader({ entriesMax: 20_000 })
    const all = async () => {
      for await (const _ of reader.read(bytes));
      reader.end()
    }
    await expect(all()).rejects.toMatchObject(refusal)
    const to = join(await fresh(), 'out')
    const options = { owner: null, entriesMax: 20_000 }
    // Nothing is made of the many entries before the last of them: a bound of the test's own keeps it short.
    const few = limit === 'entries' ? { ...options, entriesMax: 100 } : options
    await expect(extractArchive(chunksOf(bytes), to, few)).rejects.toMatchObject({ name: 'ArchiveError', limit })
  })

  test('whatever else: no bytes do more than make files below the directory', async () => {
    const base = archive(file('a/b', 700), link('l', 'a/b'), directory('d'), file('n'.repeat(120), 3))
    const flips = fc.array(fc.tuple(fc.nat(base.length - 1), fc.nat(255)), { maxLength: 6 })
    await checkProperty(
      fc.asyncProperty(flips, async (changes) => {
        const bytes = Buffer.from(base)
        for (const [at, value] of changes) bytes[at] = value
        try {
          for (const { name } of (await read(bytes)).entries) expect(`/${name}/`).not.toMatch(/\/\.\.\/|\/\/|\0/)
        } catch (error) {
          expect(error).toBeInstanceOf(ArchiveError)
        }
      }),
    )
  })
})

describe('the event loop gets its turn', () => {
  const ENTRIES = 20_000
  const parts = (at: number) => [...Array.from({ length: 126 }, () => 'd'), String(at)]
  const deep = archive(...Array.from({ length: ENTRIES }, (_, at) => file(parts(at).join('/'))))
  /** One for its header, and one for each part of its name. */
  const STEPS_PER_ENTRY = 128
  const TURNS_MIN = (ENTRIES * STEPS_PER_ENTRY) / (SLICE_STEPS_MAX + STEPS_PER_ENTRY)

  async function* inOneChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
    yield bytes
  }

  test('after a bounded number of steps, however large the piece is that came', async () => {
    const turns = countTurns()
    const perTurn = new Map<number, number>()
    const reader = createArchiveReader({ entriesMax: ENTRIES })
    for await (const _ of reader.read(deep)) perTurn.set(turns.count, (perTurn.get(turns.count) ?? 0) + 1)
    reader.end()
    expect(turns.end()).toBeGreaterThan(TURNS_MIN)
    // The loop's own turns are counted behind those of the reader.
    expect(Math.max(...perTurn.values())).toBeLessThanOrEqual(3 * Math.ceil(SLICE_STEPS_MAX / STEPS_PER_ENTRY))
  })

  test('also while a server reads uploaded code', async () => {
    const turns = countTurns()
    expect(await checkArchive(inOneChunk(deep))).toBe(ENTRIES)
    expect(turns.end()).toBeGreaterThan(TURNS_MIN)
  })

  test('while an archive is made from memory', async () => {
    const entries = Array.from({ length: ENTRIES }, (_, at) => ({ ...directory(`d${at}`), path: '' }))
    const turns = countTurns()
    let headers = 0
    for await (const _ of packFiles(entries)) headers++
    expect(headers).toBe(ENTRIES + 1)
    expect(turns.end()).toBeGreaterThanOrEqual(Math.floor(ENTRIES / 256))
  })
})

/** Turns of the event loop, until the end. */
function countTurns(): { readonly count: number; end(): number } {
  let count = 0
  let ended = false
  const next = () => {
    count++
    if (!ended) setImmediate(next)
  }
  setImmediate(next)
  return {
    get count() {
      return count
    },
    end() {
      ended = true
      return count
    },
  }
}
