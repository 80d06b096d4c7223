import { createHash, randomUUID } from 'node:crypto'
import { type FileHandle, mkdir, open, readdir, rename, rm, rmdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createZstdDecompress } from 'node:zlib'
import { validate as isUuid } from 'uuid'
import { ArchiveError } from '../../archive/archive-entry.ts'
import { createArchiveReader } from '../../archive/read-archive.ts'
import type {
  CheckpointAnswer,
  CheckpointCopy,
  CheckpointRequest,
  CheckpointWish,
  CodeRequest,
} from '../../domain/agent/protocol.ts'
import { RepriseError } from '../../domain/errors.ts'
import { RELAY_ENTRIES_MAX, RELAY_LEFTOVER_AFTER_MS } from '../../domain/limits.ts'
import { ifMissing, readFileChunks, syncDirectory } from '../code/code-store.ts'
import { diskFull, isDiskFull } from '../database-outage.ts'
import { inputError } from '../input/parse-input.ts'
import type { Database } from '../../store/database.ts'
import {
  lockRelayed,
  nextRelayOrder,
  readRelayed,
  readRelayingKernel,
  recordRelayed,
  type RelayingKernel,
} from '../../store/sql/agent/relayed-checkpoints.sql.ts'
import { describeBytes } from '../../domain/amounts.ts'

/**
 * Copies of checkpoints in transit between agents, in `<directory>/relay/<chain id>/<SHA-256 of the archive>.tar.zst`.
 * All servers of a database share the directory. A file gets its name only once it is complete, checked and on the
 * disk; until then it is a `.part`, which a crash leaves behind. The record of the chain's checkpoint names the valid
 * file.
 */
export interface CheckpointStore {
  /** The largest archive before compression; 0 turns relaying off. */
  readonly bytesMax: number
  /**
   * Receives a copy beside the existing one; it becomes visible only by `keep`.
   *
   * @throws RepriseError REQUEST_TOO_LARGE, VALIDATION_FAILED, SERVER_DISK_FULL
   */
  receive(source: AsyncIterable<Uint8Array>, chainId: string, copy: CheckpointCopy): Promise<ReceivedCheckpoint>
  has(chainId: string, sha256: string): Promise<boolean>
  /** Null if the copy is gone. */
  open(chainId: string, sha256: string): Promise<{ bytes: number; chunks: AsyncIterable<Uint8Array> } | null>
  /** Chains that have files. */
  chains(): Promise<string[]>
  /**
   * Removes all files but the valid copy.
   * @param ageMs files written to within this time are kept
   * @returns the number of removed files
   */
  removeOthers(chainId: string, sha256: string | null, ageMs?: number): Promise<number>
}

interface ReceivedCheckpoint {
  /** Renames the file to its final name. */
  keep(): Promise<void>
  /** Removes the file unless it was kept. */
  [Symbol.asyncDispose](): Promise<void>
}

const READ_BYTES = 256 * 1024
const END = '.tar.zst'

export function createCheckpointStore(options: { directory: string; bytesMax: number }): CheckpointStore {
  const { bytesMax } = options
  const root = join(options.directory, 'relay')
  const pathOf = (chainId: string, sha256: string) => join(root, chainId, `${sha256}${END}`)

  return {
    bytesMax,
    async receive(source, chainId, copy) {
      if (copy.archiveBytes > bytesMax) throw tooLarge(bytesMax)
      const directory = join(root, chainId)
      await mkdir(directory, { recursive: true, mode: 0o700 })
      const part = join(directory, `${copy.sha256}.${randomUUID()}.part`)
      const discard = () => rm(part, { force: true })
      try {
        await write(source, part, copy)
      } catch (error) {
        await discard()
        throw refusalOf(error)
      }
      return {
        async keep() {
          await rename(part, pathOf(chainId, copy.sha256))
          await syncDirectory(directory)
        },
        [Symbol.asyncDispose]: discard,
      }
    },
    has: async (chainId, sha256) => (await stat(pathOf(chainId, sha256)).catch(ifMissing)) !== null,
    async open(chainId, sha256) {
      const path = pathOf(chainId, sha256)
      const found = await stat(path).catch(ifMissing)
      return found === null ? null : { bytes: found.size, chunks: readFileChunks(path) }
    },
    chains: async () => ((await readdir(root).catch(ifMissing)) ?? []).filter((name) => isUuid(name)),
    async removeOthers(chainId, sha256, ageMs = 0) {
      const directory = join(root, chainId)
      let removed = 0
      for (const name of (await readdir(directory).catch(ifMissing)) ?? []) {
        if (name === `${sha256}${END}` || (ageMs === 0 && !name.endsWith(END))) continue
        const written = await stat(join(directory, name)).catch(ifMissing)
        if (written === null || Date.now() - written.mtimeMs < ageMs) continue
        await rm(join(directory, name), { force: true })
        removed++
      }
      if (sha256 === null) await rmdir(directory).catch(() => {})
      return removed
    },
  }
}

/** Writes the compressed archive as it arrives and checks it meanwhile; returns once it is on the disk. */
async function write(source: AsyncIterable<Uint8Array>, path: string, copy: CheckpointCopy): Promise<void> {
  await using file = await open(path, 'wx', 0o600)
  // Incompressible data grows a little.
  const packedMax = copy.archiveBytes + copy.archiveBytes / 64 + READ_BYTES
  const kept = Readable.from(keeping(source, file, packedMax), { objectMode: false })
  const zstd = createZstdDecompress()
  await pipeline(kept, zstd, (archive: AsyncIterable<Uint8Array>) => check(archive, copy))
  // The decompressor ignores data after the end if it is in the same chunk; in another chunk it is counted as too long.
  if (zstd.bytesWritten !== (await file.stat()).size) throw new ArchiveError('data follows its end')
  await file.sync()
}

async function* keeping(source: AsyncIterable<Uint8Array>, file: FileHandle, most: number): AsyncGenerator<Uint8Array> {
  let bytes = 0
  for await (const chunk of source) {
    if ((bytes += chunk.length) > most) throw new ArchiveError('it is longer than announced')
    for (let at = 0; at < chunk.length;) at += (await file.write(chunk, at)).bytesWritten
    yield chunk
  }
}

async function check(archive: AsyncIterable<Uint8Array>, { archiveBytes, sha256 }: CheckpointCopy): Promise<void> {
  const hash = createHash('sha256')
  const reader = createArchiveReader({ entriesMax: RELAY_ENTRIES_MAX })
  let bytes = 0
  for await (const chunk of archive) {
    if ((bytes += chunk.length) > archiveBytes) throw new ArchiveError('it is longer than announced')
    hash.update(chunk)
    for await (const _ of reader.read(chunk));
  }
  const found = hash.digest('hex')
  if (found !== sha256)
    throw new ArchiveError(`its SHA-256 is ${found}: it was damaged on the way, or files have changed`)
  reader.end()
}

function refusalOf(error: unknown): unknown {
  const { code = '' } = error as NodeJS.ErrnoException
  if (error instanceof ArchiveError) return refused(error.message)
  if (code.startsWith('ZSTD_') || code === 'ERR_ZSTD_INVALID' || code === 'Z_BUF_ERROR')
    return refused('it is not compressed with zstd, or it is not complete')
  if (isDiskFull(error)) {
    const { code: full } = diskFull()
    return new RepriseError(full, 'the disk of REPRISE_CHECKPOINT_DIR is full')
  }
  return error
}

function refused(why: string): RepriseError {
  return inputError([{ path: '', message: `the checkpoint is refused: ${why}` }])
}

function tooLarge(bytesMax: number): RepriseError {
  const limit = `the limit is ${describeBytes(bytesMax)} (REPRISE_CHECKPOINT_RELAY_MAX)`
  return new RepriseError('REQUEST_TOO_LARGE', `The checkpoint is too large: ${limit}.`)
}

export interface RelayContext {
  db: Database
  relay: CheckpointStore
}

/**
 * Answers an agent that offers a copy; the first offer only asks whether a copy is needed. A copy that the servers
 * already have is recorded at once, and need not be sent.
 *
 * @throws RepriseError KERNEL_NOT_FOUND
 */
export async function offerCheckpoint(
  { db, relay }: RelayContext,
  request: CheckpointRequest,
): Promise<CheckpointWish> {
  const found = await kernelOf(db, request)
  const { copy } = request
  const { bytesMax } = relay
  const unwanted = (reason: string): CheckpointWish => ({ wanted: false, reason, recorded: false, bytesMax })
  if (bytesMax === 0) return unwanted('checkpoints are not relayed (REPRISE_CHECKPOINT_RELAY_MAX)')
  if (!found.isOfUse) return unwanted('all agents that could need it see the same store')
  if (isStale(found, request)) {
    if (copy !== undefined) await recordRelayed(db, request, copy)
    return unwanted('something newer is on record')
  }
  if (copy === undefined) {
    const order = await nextRelayOrder(db)
    return { wanted: true, reason: null, recorded: false, bytesMax, order }
  }
  if (copy.archiveBytes > bytesMax) {
    return unwanted(`it has more than ${describeBytes(bytesMax)} (REPRISE_CHECKPOINT_RELAY_MAX)`)
  }
  const isKept = found.relaySha256 === copy.sha256 && (await relay.has(found.chainId, copy.sha256))
  const recorded = isKept && (await recordRelayed(db, request, copy))
  return { wanted: !recorded, reason: null, recorded, bytesMax }
}

/**
 * Receives a copy, completely or not at all: the file gets its final name before its record becomes visible. A crash in
 * between leaves a file without a record, which is removed later; the replaced file is removed at once.
 *
 * @throws RepriseError KERNEL_NOT_FOUND, REQUEST_TOO_LARGE, VALIDATION_FAILED, SERVER_DISK_FULL
 */
export async function receiveCheckpoint(
  { db, relay }: RelayContext,
  request: CheckpointRequest & { copy: CheckpointCopy },
  source: AsyncIterable<Uint8Array>,
): Promise<{ recorded: boolean }> {
  const { copy } = request
  const found = await kernelOf(db, request)
  if (isStale(found, request)) return { recorded: await recordRelayed(db, request, copy) }
  const { chainId } = found
  await using received = await relay.receive(source, chainId, copy)
  const recorded = await db.transaction(async (tx) => {
    if (!(await recordRelayed(tx, request, copy))) return false
    await received.keep()
    return true
  })
  if (recorded) await db.transaction(async (tx) => relay.removeOthers(chainId, await lockRelayed(tx, chainId)))
  return { recorded }
}

/**
 * Opens the copy of the newest checkpoint, for a kernel that the agent has now. A copy that is older than the record is
 * not sent.
 *
 * @throws RepriseError KERNEL_NOT_FOUND, CODE_NOT_FOUND
 */
export async function openRelayed({ db, relay }: RelayContext, request: CodeRequest): Promise<CheckpointAnswer> {
  const found = await kernelOf(db, request)
  if (!found.isCurrent) throw notAssigned(request)
  const { chainId, relayAttempt, relaySha256: sha256, relayBytes, newestAttempt } = found
  if (sha256 === null || relayAttempt === null || relayAttempt !== newestAttempt)
    throw new RepriseError('CODE_NOT_FOUND', "there is no copy of the newest attempt's checkpoint")
  const opened = await relay.open(chainId, sha256)
  if (opened !== null) return { ...opened, attempt: relayAttempt, sha256, archiveBytes: relayBytes! }
  const advice = 'all servers must share one REPRISE_CHECKPOINT_DIR'
  throw new RepriseError('CODE_NOT_FOUND', `it is gone from this server's directory; ${advice}`)
}

/** Removes files without a record: those of dropped checkpoints, removed chains and interrupted uploads. */
export async function removeRelayLeftovers(
  { db, relay }: RelayContext,
  ageMs = RELAY_LEFTOVER_AFTER_MS,
): Promise<number> {
  const chains = await relay.chains()
  const recorded = await readRelayed(db, chains)
  let removed = 0
  for (const chainId of chains) {
    removed += recorded.has(chainId)
      ? await db.transaction(async (tx) => relay.removeOthers(chainId, await lockRelayed(tx, chainId), ageMs))
      : await relay.removeOthers(chainId, null, ageMs)
  }
  return removed
}

function isStale({ attempt, newestAttempt, generation }: RelayingKernel, request: CheckpointRequest): boolean {
  return generation !== request.generation || (newestAttempt ?? 0) > attempt
}

async function kernelOf(db: Database, request: CheckpointRequest | CodeRequest): Promise<RelayingKernel> {
  const found = await readRelayingKernel(db, request)
  if (found === undefined || ('running' in request && request.running && !found.isCurrent)) throw notAssigned(request)
  return found
}

function notAssigned({ kernelId }: CodeRequest): RepriseError {
  return new RepriseError('KERNEL_NOT_FOUND', `kernel ${kernelId} is not assigned to this agent`)
}
