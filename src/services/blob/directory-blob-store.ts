import { createHash, type Hash, randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { validate as isUuid } from 'uuid'
import {
  assertHash,
  BlobDamagedError,
  type BlobKey,
  BlobOffsetError,
  type BlobRange,
  type BlobStore,
  createMemory,
  createTurns,
  hashOf,
  type ListedBlob,
  sha256Of,
} from './blob-store.ts'

/**
 * Blobs in `<directory>/<project id>/<first two digits>/<SHA-256>`. A file gets this name only once it is complete,
 * checked and on the disk. Until then it is `<SHA-256>.part`, whose size is the number of bytes received, or, for a
 * blob that arrives at once, `<SHA-256>.<random>.part`. Both outlive a crash: the first is continued, the second
 * removed.
 */
export function createDirectoryBlobStore({ directory: root }: { directory: string }): BlobStore {
  const inTurn = createTurns()
  const hashes = createMemory<{ hash: Hash; stamp: string }>()
  const directoryOf = ({ projectId, sha256 }: BlobKey) => join(root, projectId, sha256.slice(0, 2))
  const pathOf = (key: BlobKey) => join(directoryOf(key), key.sha256)
  const partOf = (key: BlobKey) => `${pathOf(key)}.part`

  /** @throws BlobDamagedError; the part is then removed */
  async function check(key: BlobKey, file: FileHandle): Promise<void> {
    const known = hashes.get(key)
    hashes.delete(key)
    // The hash is of no use if another server has written to the file.
    const isOwn = known !== undefined && known.stamp === (await stampOf(file))
    assertHash(key, isOwn ? known.hash.digest('hex') : await hashOf(chunksOf(file, 0, Number.POSITIVE_INFINITY)))
    await file.sync()
  }

  async function name(key: BlobKey, path: string): Promise<void> {
    await rename(path, pathOf(key)).catch(async (error: NodeJS.ErrnoException) => {
      // Another server has just finished it.
      if (error.code !== 'ENOENT' || (await sizeOf(pathOf(key))) === null) throw error
    })
    await syncDirectory(directoryOf(key))
  }

  return {
    place: 'REPRISE_BLOB_DIR',
    async has(projectId, sha256s) {
      const sizes = await Promise.all(sha256s.map((sha256) => sizeOf(pathOf({ projectId, sha256 }))))
      return new Set(sha256s.filter((_, at) => sizes[at] !== null))
    },
    received: async (key) => (await sizeOf(partOf(key))) ?? 0,
    putPart: (key, offset, part) =>
      inTurn(key, async () => {
        await using file = await openMaking(partOf(key), constants.O_RDWR | constants.O_CREAT)
        const { size } = await file.stat()
        if (size !== offset) throw new BlobOffsetError(size)
        const known = hashes.get(key)
        const isKnown = known !== undefined && known.stamp === (await stampOf(file))
        const hash = offset === 0 ? createHash('sha256') : isKnown ? known.hash : null
        hashes.delete(key)
        try {
          await writeAt(file, part, offset, hash)
        } catch (error) {
          await file.truncate(offset).catch(() => {})
          throw error
        }
        if (hash !== null) hashes.set(key, { hash, stamp: await stampOf(file) })
        return offset + part.length
      }),
    finish: (key, bytes) =>
      inTurn(key, async () => {
        const file = await open(partOf(key), 'r').catch(ifMissing)
        // Finished before: a part that is there nevertheless belongs to another server, or is removed later.
        if ((await sizeOf(pathOf(key))) !== null) return file?.close()
        if (file === null) throw new BlobOffsetError(0)
        try {
          const { size } = await file.stat()
          if (size < bytes) throw new BlobOffsetError(size)
          if (size > bytes) throw new BlobDamagedError(`unknown, because it has ${size} bytes and not ${bytes}`)
          await check(key, file)
        } catch (error) {
          if (error instanceof BlobDamagedError) await rm(partOf(key), { force: true })
          throw error
        } finally {
          await file.close()
        }
        await name(key, partOf(key))
      }),
    async put(key, bytes) {
      assertHash(key, sha256Of(bytes))
      const path = `${pathOf(key)}.${randomUUID()}.part`
      try {
        const file = await openMaking(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL)
        try {
          await writeAt(file, bytes, 0, null)
          await file.sync()
        } finally {
          await file.close()
        }
        await name(key, path)
      } catch (error) {
        await rm(path, { force: true })
        throw error
      }
    },
    async open(key, range = { from: 0 }) {
      const size = await sizeOf(pathOf(key))
      return size === null ? null : rangeOf(pathOf(key), size, range)
    },
    link: async () => null,
    async remove(key) {
      hashes.delete(key)
      for (const each of (await readdir(directoryOf(key)).catch(ifMissing)) ?? []) {
        if (each.startsWith(key.sha256)) await rm(join(directoryOf(key), each), { force: true })
      }
    },
    projects: async () => ((await readdir(root).catch(ifMissing)) ?? []).filter((each) => isUuid(each)),
    async *list(projectId) {
      for await (const { sha256, kind, stats } of filesOf(root, projectId)) {
        if (kind === 'temporary') continue
        const listed: ListedBlob = { sha256, bytes: stats.size, modifiedAt: stats.mtime, complete: kind === 'whole' }
        yield listed
      }
    },
    async removeLeftovers(ageMs) {
      let removed = 0
      for (const projectId of await this.projects()) {
        for await (const { path, sha256, kind, stats } of filesOf(root, projectId)) {
          if (Date.now() - stats.mtimeMs < ageMs) continue
          const isLeft = kind === 'temporary' || (kind === 'part' && (await this.has(projectId, [sha256])).size > 0)
          if (!isLeft) continue
          await rm(path, { force: true })
          removed++
        }
      }
      return removed
    },
  }
}

const READ_BYTES = 256 * 1024
const WRITE_BYTES = 1024 * 1024

async function writeAt(file: FileHandle, bytes: Uint8Array, offset: number, hash: Hash | null): Promise<void> {
  for (let at = 0; at < bytes.length;) {
    const slice = bytes.subarray(at, at + WRITE_BYTES)
    const writing = writeAll(file, slice, offset + at)
    hash?.update(slice)
    await writing
    at += slice.length
  }
}

async function writeAll(file: FileHandle, bytes: Uint8Array, offset: number): Promise<void> {
  for (let at = 0; at < bytes.length;) {
    at += (await file.write(bytes, at, bytes.length - at, offset + at)).bytesWritten
  }
}

async function* chunksOf(file: FileHandle, from: number, to: number): AsyncGenerator<Uint8Array, void> {
  for (let at = from; at < to;) {
    const length = Math.min(READ_BYTES, to - at)
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(length), 0, length, at)
    if (bytesRead === 0) return
    at += bytesRead
    yield buffer.subarray(0, bytesRead)
  }
}

/** Opens the file with the first read, so that a file that is never read is never opened; closes it at the end. */
async function* readRange(path: string, from: number, to: number): AsyncGenerator<Uint8Array, void> {
  await using file = await open(path)
  yield* chunksOf(file, from, to)
}

function rangeOf(path: string, size: number, { from, to = size }: BlobRange) {
  const [begin, end] = [Math.min(from, size), Math.min(to, size)]
  return { bytes: Math.max(0, end - begin), chunks: readRange(path, begin, end) }
}

/** Changes with each write to the file. */
async function stampOf(file: FileHandle): Promise<string> {
  const { ino, mtimeNs, size } = await file.stat({ bigint: true })
  return `${ino} ${mtimeNs} ${size}`
}

/** Opens a file and makes its directory, if necessary. */
async function openMaking(path: string, flags: number): Promise<FileHandle> {
  const opened = await open(path, flags, 0o600).catch(ifMissing)
  if (opened !== null) return opened
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  return open(path, flags, 0o600)
}

const NAME = /^([0-9a-f]{64})(\.[0-9a-f-]{36})?(\.part)?$/

async function* filesOf(root: string, projectId: string) {
  for (const shard of (await readdir(join(root, projectId)).catch(ifMissing)) ?? []) {
    for (const name of (await readdir(join(root, projectId, shard)).catch(ifMissing)) ?? []) {
      const [, sha256, random, part] = NAME.exec(name) ?? []
      const path = join(root, projectId, shard, name)
      const stats = sha256 === undefined ? null : await stat(path).catch(ifMissing)
      if (sha256 === undefined || stats === null) continue
      const kind = part === undefined ? 'whole' : random === undefined ? 'part' : 'temporary'
      yield { path, sha256, kind, stats } as const
    }
  }
}

async function sizeOf(path: string): Promise<number | null> {
  return (await stat(path).catch(ifMissing))?.size ?? null
}

/** Syncs a directory, so that the names in it survive a crash of the machine. */
async function syncDirectory(directory: string): Promise<void> {
  await using handle = await open(directory)
  await handle.sync()
}

function ifMissing(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null
  throw error
}
