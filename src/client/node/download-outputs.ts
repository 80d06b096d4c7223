import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import {
  chmod,
  type FileHandle,
  lstat,
  mkdir,
  open,
  readlink,
  rename,
  rm,
  stat,
  symlink,
  utimes,
} from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import type { Client } from '../client.ts'
import type { CallOptions } from '../connection/connection.ts'
import { RepriseClientError } from '../errors.ts'
import type { OutputFile, Outputs } from '../output.ts'

/**
 * Downloads the outputs of an attempt into a directory. They were written by strangers: nothing is written outside of
 * the directory, no link in it is followed, and no file with another content is replaced unless that is requested. A
 * file gets its name only once its content is verified by its hash; until then it is a `.reprise-part` beside it, with
 * which an interrupted download continues. Outputs that stay in place are copied from there, if this machine has that
 * directory.
 */

export interface DownloadOptions extends CallOptions {
  /** The directory, which is created if it is missing. */
  to: string
  /** Only files that match this pattern, in the syntax of `.gitignore`. */
  match?: string | undefined
  /** Replaces files that have another content. */
  force?: boolean | undefined
  /** Called when bytes have arrived, and when a file is complete. */
  onFile?: (progress: DownloadProgress) => void
}

export interface DownloadProgress {
  /** Files and bytes that are complete, and in all. */
  files: number
  filesInAll: number
  bytes: number
  bytesInAll: number
}

export interface Downloaded {
  files: number
  bytes: number
  /** Files that were there already, with the same content. */
  unchanged: number
}

/** What cannot be written. */
class DownloadError extends RepriseClientError {
  constructor(message: string) {
    super('FAILED', message)
  }
}

const FILES_AT_ONCE = 4
const PART = '.reprise-part'

/** @throws DownloadError before anything is written, if a name cannot be used or a file would be replaced */
export async function downloadOutputs(
  client: Client,
  sessionId: string,
  { to, match, force = false, onFile, ...call }: DownloadOptions,
): Promise<Downloaded> {
  const { attempts } = await client.chainOutputs(sessionId, call)
  const place = attempts.find((attempt) => attempt.sessionId === sessionId)?.outputs?.place ?? null
  if (place !== null) await assertReachable(place)
  const files: OutputFile[] = []
  for await (const file of client.outputFiles(sessionId, { match, ...call })) files.push(file)
  for (const file of files) assertPlain(file)
  await mkdir(to, { recursive: true })
  await assertDistinct(files, to)
  const lacking: OutputFile[] = []
  for (const file of files) if (!(await isThere(file, to))) lacking.push(file)
  if (!force) await assertFree(lacking, to)
  const progress = {
    files: files.length - lacking.length,
    filesInAll: files.length,
    bytes: 0,
    bytesInAll: lacking.reduce((sum, { bytes }) => sum + bytes, 0),
  }
  const queue = lacking.filter(({ linkTarget }) => linkTarget === null)
  const take = async () => {
    for (let file = queue.shift(); file !== undefined; file = queue.shift()) {
      await receive({ file, to, read: reader(file), onBytes: tell })
      progress.files += 1
      onFile?.(progress)
    }
  }
  const reader = (file: OutputFile): Read =>
    place === null
      ? (from, write) => client.readOutputFile(sessionId, file, write, { from, ...call })
      : (from, write) => copyFrom(join(place.directory, file.path), { from, bytes: file.bytes, write })
  const tell = (bytes: number) => {
    progress.bytes += bytes
    onFile?.(progress)
  }
  await Promise.all(Array.from({ length: FILES_AT_ONCE }, take))
  // Links come last, so that no file is written through one.
  for (const file of lacking) if (file.linkTarget !== null) await makeLink(file, to)
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0)
  return { files: files.length, bytes, unchanged: files.length - lacking.length }
}

type Place = NonNullable<Outputs['place']>
type Write = (chunk: Uint8Array) => Promise<void>
/** Reads a file from an offset on. */
type Read = (from: number, write: Write) => Promise<void>

/** @throws DownloadError */
async function assertReachable({ node, directory }: Place): Promise<void> {
  const found = await stat(directory).catch((error: NodeJS.ErrnoException) => error.code ?? 'no such directory')
  if (typeof found !== 'string' && found.isDirectory()) return
  const why = typeof found === 'string' ? found : 'not a directory'
  throw new DownloadError(`the files stay on ${node}, in ${directory}, which cannot be read on this machine (${why})`)
}

/** Follows no link in the place of the file. Its hash is compared afterwards, as after a transfer. */
async function copyFrom(path: string, { from, bytes, write }: { from: number; bytes: number; write: Write }) {
  try {
    await using file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    const buffer = Buffer.alloc(256 * 1024)
    for (let at = from; at < bytes;) {
      const { bytesRead } = await file.read(buffer, 0, Math.min(buffer.length, bytes - at), at)
      if (bytesRead === 0) return
      await write(buffer.subarray(0, bytesRead))
      at += bytesRead
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).path !== path) throw error
    throw new DownloadError(`${path} cannot be read (${(error as NodeJS.ErrnoException).code})`)
  }
}

/** @throws DownloadError */
function assertPlain({ path, linkTarget }: OutputFile): void {
  const parts = path.split('/')
  const isPlain = (part: string) => part !== '' && part !== '.' && part !== '..'
  if (!parts.every(isPlain) || /[\0\\]/.test(path) || path.endsWith(PART))
    throw new DownloadError(`${JSON.stringify(path)} is refused: it is not a plain path`)
  if (linkTarget !== null && !staysInside(parts.length - 1, linkTarget))
    throw new DownloadError(`${JSON.stringify(path)} is refused: it is a link that leads to ${linkTarget}, outside`)
}

/** Allows `..` only at the beginning of a target, as servers do. */
function staysInside(depth: number, target: string): boolean {
  if (target === '' || /^[/\\]|^[A-Za-z]:|\0/.test(target)) return false
  const parts = target.split(/[/\\]/).filter((part) => part !== '' && part !== '.')
  const down = parts.findIndex((part) => part !== '..')
  const ups = down === -1 ? parts.length : down
  return !parts.slice(ups).includes('..') && ups <= depth
}

/** Refuses names that would be the same file here. @throws DownloadError */
async function assertDistinct(files: readonly OutputFile[], to: string): Promise<void> {
  const folded = new Map<string, string>()
  for (const { path } of files) {
    const parts = path.split('/')
    for (let length = 1; length <= parts.length; length++) {
      const name = parts.slice(0, length).join('/')
      const key = name.normalize('NFC').toLowerCase()
      const other = folded.get(key)
      if (other !== undefined && other !== name && (await foldsCase(to)))
        throw new DownloadError(
          `${other} and ${name} would be the same file here: download them one by one with a pattern`,
        )
      folded.set(key, name)
    }
  }
}

async function foldsCase(directory: string): Promise<boolean> {
  const probe = join(directory, `.reprise-case-${process.pid}`)
  await (await open(probe, 'w')).close()
  try {
    return (await lstat(join(directory, `.REPRISE-CASE-${process.pid}`)).catch(() => null)) !== null
  } finally {
    await rm(probe, { force: true })
  }
}

/** Whether the same content is there already. */
async function isThere({ path, bytes, sha256, linkTarget }: OutputFile, to: string): Promise<boolean> {
  const at = join(to, path)
  const found = await lstat(at).catch(() => null)
  if (found === null || (await throughLink(path, to)) !== null) return false
  if (linkTarget !== null) return found.isSymbolicLink() && (await readlink(at)) === linkTarget
  return found.isFile() && found.size === bytes && (await hashOf(at)) === sha256
}

/** @throws DownloadError */
async function assertFree(files: readonly OutputFile[], to: string): Promise<void> {
  const taken: string[] = []
  for (const { path } of files) if ((await lstat(join(to, path)).catch(() => null)) !== null) taken.push(path)
  if (taken.length === 0) return
  const shown = taken.slice(0, 5).join(', ')
  const more = taken.length > 5 ? ` and ${taken.length - 5} more` : ''
  throw new DownloadError(`${shown}${more} would be replaced, with another content: use --force, or another directory`)
}

/** Returns the first directory on the way to a path that is no directory of its own, such as a link; null if none is. */
async function throughLink(path: string, to: string): Promise<string | null> {
  const parts = path.split('/').slice(0, -1)
  for (let length = 1; length <= parts.length; length++) {
    const at = join(to, ...parts.slice(0, length))
    const found = await lstat(at).catch(() => null)
    if (found !== null && !found.isDirectory()) return at
  }
  return null
}

interface Receiving {
  file: OutputFile
  to: string
  read: Read
  onBytes(bytes: number): void
}

async function receive({ file, to, read, onBytes }: Receiving): Promise<void> {
  await makeParents(file, to)
  const at = join(to, file.path)
  const part = `${at}${PART}`
  const received = await receivePart({ file, part, read, onBytes })
  if (received !== file.sha256) {
    // A part of an earlier download may be of another content.
    await rm(part, { force: true })
    const again = await receivePart({ file, part, read, onBytes: () => {} })
    if (again !== file.sha256)
      throw new DownloadError(`${file.path} has arrived damaged, or was changed: its SHA-256 is ${again}`)
  }
  await chmod(part, file.executable ? 0o755 : 0o644)
  if (file.modifiedAt !== null) await utimes(part, new Date(file.modifiedAt), new Date(file.modifiedAt))
  const there = await lstat(at).catch(() => null)
  if (there?.isDirectory() === true) throw new DownloadError(`${at} is a directory, and a file is to replace it`)
  await rename(part, at)
}

/** @returns the hash of all bytes, with those that were there before */
async function receivePart({ file, part, read, onBytes }: Omit<Receiving, 'to'> & { part: string }): Promise<string> {
  const found = await lstat(part).catch(() => null)
  if (found !== null && (!found.isFile() || found.size > file.bytes)) await rm(part, { force: true })
  // `a` writes at the end and follows no link, because what is no file has been removed.
  await using handle = await open(part, 'a+', 0o600)
  const hash = createHash('sha256')
  const from = await digest(handle, hash)
  onBytes(from)
  const write = async (chunk: Uint8Array) => {
    await handle.appendFile(chunk)
    hash.update(chunk)
    onBytes(chunk.length)
  }
  if (from < file.bytes) await read(from, write)
  return hash.digest('hex')
}

async function digest(handle: FileHandle, hash: ReturnType<typeof createHash>): Promise<number> {
  const buffer = Buffer.alloc(256 * 1024)
  for (let at = 0; ;) {
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, at)
    if (bytesRead === 0) return at
    hash.update(buffer.subarray(0, bytesRead))
    at += bytesRead
  }
}

async function hashOf(path: string): Promise<string> {
  await using handle = await open(path)
  const hash = createHash('sha256')
  await digest(handle, hash)
  return hash.digest('hex')
}

async function makeLink(file: OutputFile, to: string): Promise<void> {
  await makeParents(file, to)
  const at = join(to, file.path)
  await rm(at, { force: true })
  await symlink(file.linkTarget!, at)
}

/** @throws DownloadError if a link or a file is in the way */
async function makeParents({ path }: OutputFile, to: string): Promise<void> {
  await assertWay(path, to)
  await mkdir(join(to, ...path.split('/').slice(0, -1)), { recursive: true }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST' && error.code !== 'ENOTDIR') throw error
  })
  await assertWay(path, to)
}

/** @throws DownloadError */
async function assertWay(path: string, to: string): Promise<void> {
  const inTheWay = await throughLink(path, to)
  if (inTheWay !== null) throw new DownloadError(`${inTheWay} is in the way of ${path}: it is not a directory`)
}
