import { createHash, randomUUID } from 'node:crypto'
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { ArchiveError } from '../../archive/archive-entry.ts'
import { createArchiveReader } from '../../archive/read-archive.ts'
import { RepriseError } from '../../domain/errors.ts'
import { UPLOAD_ENTRIES_MAX } from '../../domain/limits.ts'
import type { CodeKey } from '../../store/sql/code.sql.ts'
import { inputError } from '../input/parse-input.ts'
import { describeBytes } from '../../domain/amounts.ts'

/**
 * The archives of uploaded code, in `<directory>/code/<project id>/`, by their SHA-256. All servers of a database share
 * the directory. A file gets its name only once it is complete and on the disk; until then it is
 * `<sha256>.<random>.part`, which a crash leaves behind.
 */
export interface CodeStore {
  readonly bytesMax: number
  readonly projectBytesMax: number
  /**
   * Receives an archive beside the existing ones; it becomes visible only by `keep`.
   *
   * @throws RepriseError REQUEST_TOO_LARGE, VALIDATION_FAILED (it is no archive, or has another hash)
   */
  receive(source: AsyncIterable<Uint8Array>, key: CodeKey): Promise<ReceivedCode>
  has(key: CodeKey): Promise<boolean>
  /** Null if the archive is gone. */
  open(key: CodeKey): Promise<{ bytes: number; chunks: AsyncIterable<Uint8Array> } | null>
  remove(key: CodeKey): Promise<void>
  /** Projects that have files. */
  projects(): Promise<string[]>
  /**
   * Lists the project's archives and the remains of interrupted uploads that were last written to at least this long
   * ago.
   */
  filesOlderThan(projectId: string, ageMs: number): Promise<{ name: string; sha256: string | null }[]>
  removeFile(projectId: string, name: string): Promise<void>
}

export interface ReceivedCode {
  bytes: number
  files: number
  /** Renames the file to its final name, replacing an existing one. */
  keep(): Promise<void>
  /** Removes the file unless it was kept. */
  [Symbol.asyncDispose](): Promise<void>
}

const NAME = /^([0-9a-f]{64})(\.tar|\.[0-9a-f-]{36}\.part)$/

export function createCodeStore(options: { directory: string; bytesMax: number; projectBytesMax: number }): CodeStore {
  const { bytesMax, projectBytesMax } = options
  const root = join(options.directory, 'code')
  const directoryOf = (projectId: string) => join(root, projectId)
  const pathOf = ({ projectId, sha256 }: CodeKey) => join(directoryOf(projectId), `${sha256}.tar`)

  return {
    bytesMax,
    projectBytesMax,
    async receive(source, key) {
      const directory = directoryOf(key.projectId)
      await mkdir(directory, { recursive: true, mode: 0o700 })
      const part = join(directory, `${key.sha256}.${randomUUID()}.part`)
      const discard = () => rm(part, { force: true })
      try {
        const received = await write(source, part, { bytesMax, sha256: key.sha256 })
        return {
          ...received,
          async keep() {
            await rename(part, pathOf(key))
            await syncDirectory(directory)
          },
          [Symbol.asyncDispose]: discard,
        }
      } catch (error) {
        await discard()
        throw error instanceof ArchiveError ? notReadable(error.message) : error
      }
    },
    has: async (key) => (await sizeOf(pathOf(key))) !== null,
    async open(key) {
      const bytes = await sizeOf(pathOf(key))
      return bytes === null ? null : { bytes, chunks: readFileChunks(pathOf(key)) }
    },
    remove: (key) => rm(pathOf(key), { force: true }),
    projects: async () => (await readdir(root).catch(ifMissing)) ?? [],
    async filesOlderThan(projectId, ageMs) {
      const directory = directoryOf(projectId)
      const old: { name: string; sha256: string | null }[] = []
      for (const name of (await readdir(directory).catch(ifMissing)) ?? []) {
        const [, sha256, kind] = NAME.exec(name) ?? []
        if (sha256 === undefined) continue
        const written = await stat(join(directory, name)).catch(ifMissing)
        if (written === null || Date.now() - written.mtimeMs < ageMs) continue
        old.push({ name, sha256: kind === '.tar' ? sha256 : null })
      }
      return old
    },
    removeFile: (projectId, name) => rm(join(directoryOf(projectId), name), { force: true }),
  }
}

const READ_BYTES = 256 * 1024

/** Opens the file with the first read, so that a file that is never read is never opened; closes it at the end. */
export async function* readFileChunks(path: string): AsyncGenerator<Uint8Array, void> {
  await using file = await open(path)
  for (;;) {
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(READ_BYTES), 0, READ_BYTES)
    if (bytesRead === 0) return
    yield buffer.subarray(0, bytesRead)
  }
}

/** Syncs a directory, so that the names in it survive a crash of the machine. */
export async function syncDirectory(directory: string): Promise<void> {
  await using handle = await open(directory)
  await handle.sync()
}

export function ifMissing(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null
  throw error
}

export function tooLarge(bytesMax: number): RepriseError {
  const message = `The archive is too large: the limit is ${describeBytes(bytesMax)} (REPRISE_UPLOAD_BYTES_MAX).`
  return new RepriseError('REQUEST_TOO_LARGE', message)
}

/** Writes the archive and checks it meanwhile; returns once it is on the disk. */
async function write(
  source: AsyncIterable<Uint8Array>,
  path: string,
  { bytesMax, sha256 }: { bytesMax: number; sha256: string },
): Promise<{ bytes: number; files: number }> {
  const hash = createHash('sha256')
  const reader = createArchiveReader({ entriesMax: UPLOAD_ENTRIES_MAX })
  let [bytes, files] = [0, 0]
  await using file = await open(path, 'wx', 0o600)
  for await (const chunk of source) {
    bytes += chunk.length
    if (bytes > bytesMax) throw tooLarge(bytesMax)
    hash.update(chunk)
    for await (const piece of reader.read(chunk)) if ('entry' in piece && piece.entry.kind !== 'directory') files++
    for (let at = 0; at < chunk.length;) at += (await file.write(chunk, at)).bytesWritten
  }
  const found = hash.digest('hex')
  if (found !== sha256) throw notReadable(`its SHA-256 is ${found}: it was damaged on the way, or files have changed`)
  reader.end()
  await file.sync()
  return { bytes, files }
}

async function sizeOf(path: string): Promise<number | null> {
  return (await stat(path).catch(ifMissing))?.size ?? null
}

function notReadable(why: string): RepriseError {
  return inputError([{ path: '', message: `the archive is refused: ${why}` }])
}
