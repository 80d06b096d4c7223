import { createHash } from 'node:crypto'
import type { BigIntStats, Dirent } from 'node:fs'
import { type FileHandle, lstat, opendir, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import {
  OUTPUT_DEPTH_MAX,
  OUTPUT_ENTRIES_VISITED_MAX,
  OUTPUT_FILES_MAX,
  OUTPUT_NAMES_SHOWN_MAX,
  OUTPUT_REASONS_MAX,
} from '../../domain/limits.ts'
import {
  byPath,
  createOutputMatcher,
  FILE_MODE,
  LINK_MODE,
  type OutputFile,
  outputPathFault,
  PROGRAM_MODE,
  staysInside,
} from '../../domain/session/outputs.ts'
import { openBelow, openDirectoryBelow, pathOf } from '../executors/chain/walk-below.ts'
import { INPUT_FILE } from '../executors/kernels/kernel-code.ts'
import { PROGRESS_FILE, VERDICT_FILE } from '../executors/kernels/exit-verdict.ts'
import { OUTPUT_DIR } from '../executors/kernels/kernel-directory.ts'

/** A file that was found and read, with the directory that it is in. */
export interface CollectedFile extends OutputFile {
  root: string
  /** Its path below that directory. */
  name: string
}

export interface CollectedOutputs {
  state: 'COMPLETE' | 'PARTIAL' | 'NONE'
  /** In the order of manifests. */
  files: CollectedFile[]
  reasons: string[]
}

interface Wanted {
  /** In the syntax of `.gitignore`. */
  patterns: readonly string[]
  bytesMax: number
  /** Aborts between two reads. */
  signal: AbortSignal
}

/**
 * Finds the outputs in the working directory of a kernel, of which no process is left: everything in OUTPUT_DIR, and
 * what the patterns select. Reads each file once, for its hash. What it cannot take, it names.
 *
 * The files are those of a stranger. No link is followed, on the way to a file or in its place, and a further name of
 * another user's file is refused, because the program itself could not have read it.
 */
export async function collectOutputs(work: string, wanted: Wanted): Promise<CollectedOutputs> {
  const found = new Map<string, Found>()
  const seen: Seen = { faults: [], notes: [], names: [], visited: 0 }
  const selects = createOutputMatcher(wanted.patterns)
  const isTheirs = (path: string) => !OWN.includes(path.split('/', 1)[0]!) && selects(path)
  if (wanted.patterns.length > 0) await visit(seen, { root: work, prefix: '' }, '', isTheirs, found)
  if (await hasDirectory(work, OUTPUT_DIR))
    await visit(seen, { root: work, prefix: `${OUTPUT_DIR}/` }, '', () => true, found)
  const files = await readAll([...found.values()].toSorted(byPath), seen, wanted)
  const reasons = shorten([...seen.faults, ...seen.notes])
  if (seen.faults.length > 0) return { state: 'PARTIAL', files, reasons }
  if (files.length > 0) return { state: 'COMPLETE', files, reasons }
  return { state: 'NONE', files, reasons: [nothingFound(wanted.patterns, seen.names), ...reasons] }
}

/** Leaves out files that could not be read again, and names them. */
export function withoutFiles(
  { files, reasons }: CollectedOutputs,
  left: ReadonlyMap<string, string>,
): CollectedOutputs {
  const faults = Array.from(left, ([path, reason]) => `${path}: ${reason}`)
  const kept = files.filter(({ path }) => !left.has(path))
  return { state: 'PARTIAL', files: kept, reasons: shorten([...faults, ...reasons]) }
}

/** Entries of the working directory that are not the program's, or are collected separately. */
const OWN: readonly string[] = [OUTPUT_DIR, VERDICT_FILE, PROGRESS_FILE, INPUT_FILE]

interface Found {
  path: string
  root: string
  name: string
  /** Null for a file. */
  target: string | null
}

interface Seen {
  /** Why files are missing. */
  faults: string[]
  /** Entries that have no content. */
  notes: string[]
  /** Names in the working directory. */
  names: string[]
  visited: number
}

async function hasDirectory(root: string, name: string): Promise<boolean> {
  try {
    await (await openDirectoryBelow(root, name)).close()
    return true
  } catch {
    return false
  }
}

/** A directory with the files: outputs have their paths below the prefix. */
interface Place {
  root: string
  prefix: string
}

async function visit(
  seen: Seen,
  place: Place,
  below: string,
  selects: (path: string) => boolean,
  found: Map<string, Found>,
): Promise<void> {
  const entries = await entriesOf(place.root, `${place.prefix}${below}`).catch((error: NodeJS.ErrnoException) => {
    seen.faults.push(`${below || '.'}: the directory cannot be read (${error.code})`)
    return []
  })
  for (const entry of entries) {
    if (++seen.visited > OUTPUT_ENTRIES_VISITED_MAX) {
      if (seen.visited === OUTPUT_ENTRIES_VISITED_MAX + 1)
        seen.faults.push(`there are more than ${OUTPUT_ENTRIES_VISITED_MAX} files; the others were not looked at`)
      return
    }
    const base = entry.name.toString()
    const path = below === '' ? base : `${below}/${base}`
    if (below === '' && place.prefix === '' && !OWN.includes(base))
      seen.names.push(entry.isDirectory() ? `${base}/` : base)
    if (!entry.name.equals(Buffer.from(base))) {
      if (selects(path) || entry.isDirectory()) seen.faults.push(`${path}: its name is not UTF-8`)
    } else if (entry.isDirectory()) {
      if (path.split('/').length < OUTPUT_DEPTH_MAX) await visit(seen, place, path, selects, found)
      else if (selects(`${path}/x`)) seen.faults.push(`${path}: it is more than ${OUTPUT_DEPTH_MAX} directories deep`)
    } else if (selects(path)) await take(seen, { place, path, entry }, found)
  }
}

/** Lists a directory in the order of names. */
async function entriesOf(root: string, below: string): Promise<Dirent<Buffer>[]> {
  await using directory = await openDirectoryBelow(root, below)
  const entries: Dirent<Buffer>[] = []
  const listing = (await opendir(pathOf(directory), { encoding: 'buffer' as BufferEncoding })) as unknown
  for await (const entry of listing as AsyncIterable<Dirent<Buffer>>) {
    if (entries.push(entry) > OUTPUT_ENTRIES_VISITED_MAX) break
  }
  return entries.toSorted((a, b) => Buffer.compare(a.name, b.name))
}

async function take(
  seen: Seen,
  { place: { root, prefix }, path, entry }: { place: Place; path: string; entry: Dirent<Buffer> },
  found: Map<string, Found>,
): Promise<void> {
  const fault = outputPathFault(path)
  if (fault !== null) return void seen.faults.push(`${path}: ${fault}`)
  if (entry.isFIFO() || entry.isSocket() || entry.isBlockDevice() || entry.isCharacterDevice()) {
    const kind = entry.isFIFO() ? 'a FIFO' : entry.isSocket() ? 'a socket' : 'a device'
    return void seen.notes.push(`${path} was skipped: it is ${kind}`)
  }
  let target: string | null = null
  if (entry.isSymbolicLink()) {
    target = await linkBelow(root, `${prefix}${path}`).catch(() => '')
    if (!staysInside(path, target)) return void seen.faults.push(`${path}: it is a link that leaves the outputs`)
  }
  if (found.has(path)) seen.faults.push(`${path}: the one in REPRISE_OUTPUT_DIR was taken, not the one beside it`)
  found.set(path, { path, root, name: `${prefix}${path}`, target })
}

async function linkBelow(root: string, name: string): Promise<string> {
  const parts = name.split('/')
  await using parent = await openDirectoryBelow(root, parts.slice(0, -1).join('/'))
  return await readlink(join(pathOf(parent), parts.at(-1)!))
}

async function readAll(all: readonly Found[], seen: Seen, { bytesMax, signal }: Wanted): Promise<CollectedFile[]> {
  const files: CollectedFile[] = []
  let bytes = 0
  for (const each of all) {
    signal.throwIfAborted()
    if (files.length === OUTPUT_FILES_MAX) {
      seen.faults.push(`there are more than ${OUTPUT_FILES_MAX} files; the others were not taken`)
      break
    }
    const file = await (each.target === null ? readFile(each, bytesMax - bytes, signal) : linkOf(each, each.target))
    if (typeof file === 'string') seen.faults.push(`${each.path}: ${file}`)
    else {
      files.push(file)
      bytes += file.bytes
    }
  }
  return files
}

function linkOf(found: Found, target: string): CollectedFile {
  const sha256 = createHash('sha256').update(target).digest('hex')
  return { ...found, bytes: Buffer.byteLength(target), mode: LINK_MODE, sha256, target, modifiedAt: null }
}

const READ_BYTES = 256 * 1024
const READS_MAX = 2

/** Reads a file for its hash, once more if it changes meanwhile. @returns why it cannot be taken */
async function readFile(found: Found, bytesMax: number, signal: AbortSignal): Promise<CollectedFile | string> {
  try {
    for (let reads = 1; reads <= READS_MAX; reads++) {
      await using file = await openBelow(found.root, found.name)
      const before = await file.stat({ bigint: true })
      const refusal = await refusalOf(before, found.root)
      if (refusal !== null) return refusal
      if (before.size > bytesMax) return `it has ${before.size} bytes, and ${bytesMax} are left of the limit`
      const hash = createHash('sha256')
      let bytes = 0
      for await (const chunk of chunksOf(file, 0, Number(before.size))) {
        signal.throwIfAborted()
        hash.update(chunk)
        bytes += chunk.length
        if (bytes > bytesMax) break
      }
      const after = await file.stat({ bigint: true })
      if (stateOf(before) !== stateOf(after) || BigInt(bytes) !== after.size) continue
      const mode = (Number(after.mode) & 0o100) === 0 ? FILE_MODE : PROGRAM_MODE
      return { ...found, bytes, mode, sha256: hash.digest('hex'), modifiedAt: after.mtime.toISOString() }
    }
    return 'it changed while it was read'
  } catch (error) {
    if (signal.aborted) throw error
    return `it cannot be read (${(error as NodeJS.ErrnoException).code ?? 'no such file'})`
  }
}

function stateOf({ ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return `${ino} ${size} ${mtimeNs} ${ctimeNs}`
}

async function refusalOf(stats: BigIntStats, root: string): Promise<string | null> {
  if (!stats.isFile()) return 'it is no longer a file'
  if (stats.nlink === 1n) return null
  return stats.uid === (await lstat(root, { bigint: true })).uid ? null : 'it belongs to another user'
}

/** Yields a collected file again, from an offset on. */
export async function* contentOf(
  { root, name }: Pick<CollectedFile, 'root' | 'name'>,
  offset: number,
): AsyncGenerator<Uint8Array, void> {
  await using file = await openBelow(root, name)
  yield* chunksOf(file, offset, Number.POSITIVE_INFINITY)
}

/** Yields a file from an offset on; a chunk is valid until the next one is read. `size` is what it has, as far as known. */
async function* chunksOf(file: FileHandle, from: number, size: number): AsyncGenerator<Uint8Array, void> {
  // One byte more finds the end of a small file in the same read.
  const buffer = Buffer.allocUnsafe(Math.min(READ_BYTES, size - from + 1))
  for (let at = from; ;) {
    const { bytesRead } = await file.read(buffer, 0, buffer.length, at)
    if (bytesRead > 0) yield buffer.subarray(0, bytesRead)
    at += bytesRead
    if (bytesRead === 0 || (bytesRead < buffer.length && at >= size)) return
  }
}

function nothingFound(patterns: readonly string[], names: readonly string[]): string {
  if (patterns.length === 0) return 'its directory of outputs is empty'
  const shown = names.slice(0, OUTPUT_NAMES_SHOWN_MAX).join(', ')
  const more = names.length > OUTPUT_NAMES_SHOWN_MAX ? ` and ${names.length - OUTPUT_NAMES_SHOWN_MAX} more` : ''
  const there = names.length === 0 ? 'is empty' : `contains ${shown}${more}`
  return `no file matches ${patterns.join(' ')}; the working directory ${there}`
}

/** The last reason counts those that are left out. */
function shorten(reasons: readonly string[]): string[] {
  if (reasons.length < OUTPUT_REASONS_MAX) return [...reasons]
  const kept = reasons.slice(0, OUTPUT_REASONS_MAX - 2)
  return [...kept, `and ${reasons.length - kept.length} more`]
}
