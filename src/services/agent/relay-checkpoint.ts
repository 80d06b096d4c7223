import { Readable } from 'node:stream'
import { createZstdDecompress } from 'node:zlib'
import { ArchiveError } from '../../archive/archive-entry.ts'
import { createArchiveReader } from '../../archive/read-archive.ts'
import type {
  BlobAnswer,
  CheckpointAnswer,
  CheckpointCopy,
  CheckpointRequest,
  CheckpointWish,
  CodeRequest,
} from '../../domain/agent/protocol.ts'
import { RepriseError } from '../../domain/errors.ts'
import { RELAY_ENTRIES_MAX } from '../../domain/limits.ts'
import type { Database } from '../../store/database.ts'
import {
  nextRelayOrder,
  readRelayingKernel,
  recordRelayed,
  type RelayingKernel,
} from '../../store/sql/agent/relayed-checkpoints.sql.ts'
import { describeBytes } from '../../domain/amounts.ts'
import { useBlob } from '../../store/sql/blob.sql.ts'
import { BlobDamagedError, type BlobStore } from '../blob/blob-store.ts'
import { adoptOldFile } from '../blob/migrate-blobs.ts'
import { releaseBlob, storeStream } from '../blob/transfer-blobs.ts'
import { inputError } from '../input/parse-input.ts'

/**
 * Copies of checkpoints in transit between agents: archives, each a blob of its project. The record of the chain's
 * checkpoint names the valid one. A replaced copy is removed at once, because a program may publish every few seconds.
 */
export interface CheckpointStore {
  readonly blobs: BlobStore
  /** REPRISE_CHECKPOINT_DIR, where older versions stored them. */
  readonly oldDirectory: string
  /** The largest archive; 0 turns relaying off. */
  readonly bytesMax: number
}

/** Decompresses an archive of an agent of the previous version, and checks it meanwhile. */
async function* unpacked(source: AsyncIterable<Uint8Array>, copy: CheckpointCopy): AsyncGenerator<Uint8Array, void> {
  const zstd = createZstdDecompress()
  let bytes = 0
  const counted = async function* () {
    for await (const chunk of source) {
      bytes += chunk.length
      yield chunk
    }
  }
  const packed = Readable.from(counted(), { objectMode: false }).on('error', (error) => zstd.destroy(error))
  try {
    yield* checked(packed.pipe(zstd), copy)
    // The decompressor ignores data after the end if it is in the same chunk; in another chunk it is counted as too long.
    if (zstd.bytesWritten !== bytes) throw new ArchiveError('data follows its end')
  } finally {
    packed.destroy()
    zstd.destroy()
  }
}

async function* checked(
  archive: AsyncIterable<Uint8Array>,
  { archiveBytes }: CheckpointCopy,
): AsyncGenerator<Uint8Array, void> {
  const reader = createArchiveReader({ entriesMax: RELAY_ENTRIES_MAX })
  let bytes = 0
  for await (const chunk of archive) {
    if ((bytes += chunk.length) > archiveBytes) throw new ArchiveError('it is longer than announced')
    for await (const _ of reader.read(chunk));
    yield chunk
  }
  reader.end()
}

function refusalOf(error: unknown): unknown {
  const { code = '' } = error as NodeJS.ErrnoException
  if (error instanceof ArchiveError || error instanceof BlobDamagedError) return refused(error.message)
  if (code.startsWith('ZSTD_') || code === 'ERR_ZSTD_INVALID' || code === 'Z_BUF_ERROR')
    return refused('it is not compressed with zstd, or it is not complete')
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
 * Answers an agent that offers a copy; the first offer only asks whether a copy is needed. A copy whose blob the project
 * has is recorded at once, so an agent offers it again once it has sent the blob.
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
  const recorded = await record({ db, relay }, found, { ...request, copy })
  return { wanted: recorded === null, reason: null, recorded: recorded === true, bytesMax }
}

/**
 * Records a copy whose blob is stored. Returns null if it is not, and false if something newer is on record.
 */
async function record(
  { db, relay: { blobs } }: RelayContext,
  { projectId, relaySha256, relayAt }: RelayingKernel,
  request: CheckpointRequest & { copy: CheckpointCopy },
): Promise<boolean | null> {
  const { copy } = request
  if ((await blobs.has(projectId, [copy.sha256])).size === 0) return null
  const recorded = await db.transaction(async (tx) => {
    const bytes = await useBlob(tx, { projectId, sha256: copy.sha256 })
    if (bytes === null) return null
    if (bytes !== copy.archiveBytes) throw refused(`it has ${bytes} bytes, and not ${copy.archiveBytes}`)
    return recordRelayed(tx, request, copy)
  })
  if (recorded === true && relaySha256 !== null && relayAt !== null && relaySha256 !== copy.sha256)
    await releaseBlob({ db, blobs }, { projectId, sha256: relaySha256 }, relayAt)
  return recorded
}

/**
 * Receives a copy as one stream, compressed with zstd, from an agent of the previous version.
 *
 * @throws RepriseError KERNEL_NOT_FOUND, REQUEST_TOO_LARGE, VALIDATION_FAILED, SERVER_DISK_FULL, STORAGE_UNAVAILABLE
 */
export async function receiveCheckpoint(
  context: RelayContext,
  request: CheckpointRequest & { copy: CheckpointCopy },
  source: AsyncIterable<Uint8Array>,
): Promise<{ recorded: boolean }> {
  const { db, relay } = context
  const { copy } = request
  const found = await kernelOf(db, request)
  if (isStale(found, request)) return { recorded: await recordRelayed(db, request, copy) }
  if (copy.archiveBytes > relay.bytesMax) throw tooLarge(relay.bytesMax)
  const key = { projectId: found.projectId, sha256: copy.sha256 }
  try {
    await storeStream({ db, blobs: relay.blobs }, key, unpacked(source, copy))
  } catch (error) {
    throw refusalOf(error)
  }
  return { recorded: (await record(context, found, request)) === true }
}

/**
 * Opens the copy of the newest checkpoint, for a kernel that the agent has now. A copy that is older than the record is
 * not sent.
 *
 * @param wanted the copy of which the agent has a beginning; null for the newest one
 * @throws RepriseError KERNEL_NOT_FOUND, CODE_NOT_FOUND
 */
export async function openRelayed(
  { db, relay }: RelayContext,
  request: CodeRequest,
  { wanted, from }: { wanted: string | null; from: number } = { wanted: null, from: 0 },
): Promise<BlobAnswer & { attempt: number }> {
  const found = await kernelOf(db, request)
  if (!found.isCurrent) throw notAssigned(request)
  const { chainId, projectId, relayAttempt, relaySha256: sha256, newestAttempt } = found
  if (sha256 === null || relayAttempt === null || relayAttempt !== newestAttempt)
    throw new RepriseError('CODE_NOT_FOUND', "there is no copy of the newest attempt's checkpoint")
  if (wanted !== null && wanted !== sha256)
    throw new RepriseError('CODE_NOT_FOUND', 'a newer copy is on record: begin again')
  const { blobs, oldDirectory } = relay
  const opened =
    (await blobs.open({ projectId, sha256 }, { from })) ??
    ((await adoptOldFile({ db, blobs }, oldDirectory, { projectId, sha256, chainId })) &&
      (await blobs.open({ projectId, sha256 }, { from })))
  if (opened) return { ...opened, attempt: relayAttempt, sha256, total: from + opened.bytes }
  const advice = `all servers must share one ${blobs.place}`
  throw new RepriseError('CODE_NOT_FOUND', `it is gone from this server's store; ${advice}`)
}

/**
 * Opens it for an agent of the previous version, which expects it compressed with zstd and its length in advance: it
 * gets one frame of uncompressed blocks.
 */
export async function openCompressed(context: RelayContext, request: CodeRequest): Promise<CheckpointAnswer> {
  const { total, attempt, sha256, chunks } = await openRelayed(context, request)
  const blocks = Math.max(1, Math.ceil(total / ZSTD_BLOCK_BYTES))
  const bytes = ZSTD_HEAD.length + blocks * ZSTD_BLOCK_HEAD_BYTES + total
  return { attempt, sha256, archiveBytes: total, bytes, chunks: inZstdFrame(chunks, total) }
}

/** Magic number, a descriptor without options, and a window of 128 KiB (RFC 8878). */
const ZSTD_HEAD = Buffer.of(0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x38)
const ZSTD_BLOCK_BYTES = 128 * 1024
const ZSTD_BLOCK_HEAD_BYTES = 3

async function* inZstdFrame(chunks: AsyncIterable<Uint8Array>, total: number): AsyncGenerator<Uint8Array, void> {
  yield ZSTD_HEAD
  let left = total
  let block = 0
  const head = () => {
    block = Math.min(left, ZSTD_BLOCK_BYTES)
    left -= block
    const bytes = Buffer.alloc(ZSTD_BLOCK_HEAD_BYTES)
    // The lowest bit marks the last block, the next two are 0 for a block that is not compressed.
    bytes.writeUIntLE(block * 8 + (left === 0 ? 1 : 0), 0, ZSTD_BLOCK_HEAD_BYTES)
    return bytes
  }
  if (total === 0) yield head()
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.length;) {
      if (block === 0) yield head()
      const taken = Math.min(block, chunk.length - at)
      yield chunk.subarray(at, at + taken)
      at += taken
      block -= taken
    }
  }
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
