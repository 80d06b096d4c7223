import type { BlobSlice, BlobState } from '../../domain/agent/protocol.ts'
import { RepriseError } from '../../domain/errors.ts'
import { BLOB_FINISH_ANSWER_MS, BLOB_PART_BYTES, RETENTION_BATCH_BLOBS_MAX } from '../../domain/limits.ts'
import type { Database, Queryable } from '../../store/database.ts'
import {
  beginBlobs,
  claimReleasedBlob,
  claimUnrecorded,
  claimUnusedBlobs,
  readUnrecorded,
  recordStored,
  removeBlobRows,
  useBlobs,
} from '../../store/sql/blob.sql.ts'
import { readNow } from '../../store/sql/server.sql.ts'
import { within } from '../../waiting/wait.ts'
import { diskFull, isDiskFull } from '../database-outage.ts'
import { inputError } from '../input/parse-input.ts'
import { BlobDamagedError, type BlobKey, BlobOffsetError, type BlobStore, createMemory } from './blob-store.ts'

/** What the transfer of blobs needs. Agents and clients use the same functions, each with its own rights. */
export interface BlobContext {
  db: Database
  blobs: BlobStore
}

/**
 * Tells a sender which blobs the project has, and where it continues with one. Those that the project has are not
 * removed for a day. A blob whose bytes are lost counts as missing, so that it is sent again.
 */
export async function haveBlobs(
  { db, blobs }: BlobContext,
  projectId: string,
  sha256s: readonly string[],
): Promise<BlobState[]> {
  const recorded = await useBlobs(db, projectId, sha256s)
  const stored = await blobs.has(projectId, [...recorded])
  const [only] = sha256s
  const received = sha256s.length === 1 && !stored.has(only!) ? await blobs.received({ projectId, sha256: only! }) : 0
  return sha256s.map((sha256) => ({ sha256, received, complete: stored.has(sha256) }))
}

/**
 * Receives parts of blobs, and finishes those whose last part has come.
 *
 * @param body the bytes of the slices, one after the other
 * @throws RepriseError VALIDATION_FAILED, SERVER_DISK_FULL, STORAGE_UNAVAILABLE
 */
export async function receiveParts(
  context: BlobContext,
  projectId: string,
  slices: readonly BlobSlice[],
  body: Uint8Array,
): Promise<BlobState[]> {
  assertSlices(slices, body.length)
  const { db, blobs } = context
  const recorded = await begin(db, projectId, slices)
  const stored = await blobs.has(projectId, [...recorded])
  const whole: BlobSlice[] = []
  let at = 0
  const receiving = slices.map(async (slice) => {
    const part = body.subarray(at, (at += slice.length))
    if (stored.has(slice.sha256)) return { sha256: slice.sha256, received: slice.bytes, complete: true }
    const state = await receivePart(context, { projectId, sha256: slice.sha256 }, slice, part)
    if (state.complete && isWhole(slice)) whole.push(slice)
    return state
  })
  const settled = await Promise.allSettled(receiving)
  if (whole.length > 0) await recordStored(db, projectId, whole)
  const failed = settled.find((each) => each.status === 'rejected')
  if (failed !== undefined) throw faultOf(failed.reason, blobs)
  return settled.map((each) => (each as PromiseFulfilledResult<BlobState>).value)
}

/** When large blobs that arrive were last recorded, in milliseconds of this process. */
const recordedAt = createMemory<number>()

/**
 * Records that the blobs arrive, so that no sweep removes them. For the later parts of a large one it is enough to do
 * so now and then.
 *
 * @returns those that the project has
 */
async function begin(db: Queryable, projectId: string, slices: readonly BlobSlice[]): Promise<ReadonlySet<string>> {
  const [first] = slices
  const only = slices.length === 1 && first!.offset > 0 ? { projectId, sha256: first!.sha256 } : null
  const now = performance.now()
  if (only !== null && now - (recordedAt.get(only) ?? Number.NEGATIVE_INFINITY) < BEGUN_FOR_MS) return NONE
  const recorded = await beginBlobs(db, projectId, slices)
  if (only !== null) recordedAt.set(only, now)
  return recorded
}

const NONE: ReadonlySet<string> = new Set()
const BEGUN_FOR_MS = 60_000

/** Why blobs were refused whose sender has not been told yet. */
const refusals = createMemory<string>()

async function receivePart(context: BlobContext, key: BlobKey, slice: BlobSlice, part: Uint8Array): Promise<BlobState> {
  const { blobs } = context
  const { sha256, bytes, offset } = slice
  try {
    if (isWhole(slice)) {
      await blobs.put(key, part)
      return { sha256, received: bytes, complete: true }
    }
    const refused = refusals.get(key)
    refusals.delete(key)
    if (refused !== undefined) return { sha256, received: 0, complete: false, refused }
    const received = part.length === 0 ? offset : await blobs.putPart(key, offset, part)
    if (received < bytes) return { sha256, received, complete: false }
    const finished = finishBlob(context, key, bytes).then(() => true)
    // The hash of a large blob may take longer than proxies wait: the sender asks again with an empty part.
    const complete = (await within(BLOB_FINISH_ANSWER_MS, finished)) === true
    if (!complete)
      finished.catch((error: unknown) => {
        if (error instanceof BlobDamagedError) refusals.set(key, error.message)
      })
    return { sha256, received: bytes, complete }
  } catch (error) {
    if (error instanceof BlobOffsetError) return { sha256, received: error.received, complete: false }
    if (error instanceof BlobDamagedError) return { sha256, received: 0, complete: false, refused: error.message }
    throw error
  }
}

function isWhole({ offset, length, bytes }: BlobSlice): boolean {
  return offset === 0 && length === bytes && bytes <= BLOB_PART_BYTES
}

async function finishBlob({ db, blobs }: BlobContext, key: BlobKey, bytes: number): Promise<void> {
  await blobs.finish(key, bytes)
  await recordStored(db, key.projectId, [{ sha256: key.sha256, bytes }])
}

/** @throws RepriseError VALIDATION_FAILED */
function assertSlices(slices: readonly BlobSlice[], length: number): void {
  const issues: { path: string; message: string }[] = []
  for (const [index, { bytes, offset, length: own }] of slices.entries()) {
    const isLast = offset + own === bytes
    if (own > BLOB_PART_BYTES || (own !== BLOB_PART_BYTES && !isLast) || offset + own > bytes)
      issues.push({
        path: `slices.${index}`,
        message: `a part has ${BLOB_PART_BYTES} bytes, and only the last has less`,
      })
  }
  const sum = slices.reduce((all, slice) => all + slice.length, 0)
  if (sum !== length) issues.push({ path: '', message: `the body has ${length} bytes, and the slices have ${sum}` })
  if (new Set(slices.map(({ sha256 }) => sha256)).size < slices.length)
    issues.push({ path: 'slices', message: 'a blob is there twice' })
  if (issues.length > 0) throw inputError(issues)
}

/**
 * Stores a blob that comes as one stream from its beginning, as clients and agents of the previous version send it.
 * What others have stored of it is skipped; if it fails, nothing is left that nobody else has asked for.
 *
 * @returns its size
 * @throws BlobDamagedError; RepriseError SERVER_DISK_FULL, STORAGE_UNAVAILABLE; errors of the source
 */
export async function storeStream(
  context: BlobContext,
  key: BlobKey,
  source: AsyncIterable<Uint8Array>,
): Promise<number> {
  const { db, blobs } = context
  const { projectId, sha256 } = key
  await beginBlobs(db, projectId, [{ sha256, bytes: 0 }])
  const begunAt = await readNow(db)
  let at = 0
  try {
    for await (const part of partsOf(source)) {
      const isAll = at === 0 && part.length < BLOB_PART_BYTES
      if (isAll) await blobs.put(key, part)
      // An earlier try, or another sender, may be ahead.
      else if ((await blobs.received(key)) === at) await blobs.putPart(key, at, part).catch(ifAhead)
      at += part.length
    }
    if ((await blobs.has(projectId, [sha256])).size === 0) await blobs.finish(key, at)
    await recordStored(db, projectId, [{ sha256, bytes: at }])
    return at
  } catch (error) {
    await releaseBlob(context, key, begunAt).catch(() => {})
    throw faultOf(error, blobs)
  }
}

function ifAhead(error: unknown): number {
  if (error instanceof BlobOffsetError) return error.received
  throw error
}

/** Joins chunks to parts of BLOB_PART_BYTES; yields one empty part for an empty source. */
async function* partsOf(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  let part = Buffer.allocUnsafe(BLOB_PART_BYTES)
  let filled = 0
  let isEmpty = true
  for await (const chunk of source) {
    for (let at = 0; at < chunk.length;) {
      const taken = Math.min(chunk.length - at, BLOB_PART_BYTES - filled)
      part.set(chunk.subarray(at, at + taken), filled)
      at += taken
      filled += taken
      if (filled < BLOB_PART_BYTES) continue
      yield part
      isEmpty = false
      part = Buffer.allocUnsafe(BLOB_PART_BYTES)
      filled = 0
    }
  }
  if (filled > 0 || isEmpty) yield part.subarray(0, filled)
}

/** Replaces errors of the store by those that callers get. */
function faultOf(error: unknown, { place }: BlobStore): unknown {
  if (error instanceof BlobOffsetError)
    return new RepriseError('STORAGE_UNAVAILABLE', 'another sender of the same bytes has failed; send them again')
  if (!isDiskFull(error)) return error
  return new RepriseError(diskFull().code, `the disk of ${place} is full; try again once there is space`)
}

/**
 * Removes blobs that nothing has used for a day. The records are locked meanwhile, so a sender that asks for one of them
 * gets its answer after the removal: that it is missing.
 *
 * @returns the number of removed blobs
 */
export async function removeUnusedBlobs(
  { db, blobs }: BlobContext,
  limit = RETENTION_BATCH_BLOBS_MAX,
): Promise<number> {
  return db.transaction(async (tx) => removeAll(tx, blobs, await claimUnusedBlobs(tx, limit)))
}

/** Removes a blob at once if nothing uses it any more, and nobody has asked for it since `usedAt`. */
export async function releaseBlob({ db, blobs }: BlobContext, key: BlobKey, usedAt: Date): Promise<boolean> {
  return db.transaction(async (tx) => {
    if (!(await claimReleasedBlob(tx, key, usedAt))) return false
    return (await removeAll(tx, blobs, [key])) === 1
  })
}

async function removeAll(tx: Queryable, blobs: BlobStore, keys: readonly BlobKey[]): Promise<number> {
  for (const key of keys) await blobs.remove(key)
  if (keys.length > 0) await removeBlobRows(tx, keys)
  return keys.length
}

/** Removes bytes without a record, which are left by crashes, by removed projects and by a restored database. */
export async function removeBlobLeftovers({ db, blobs }: BlobContext, ageMs: number): Promise<number> {
  let removed = await blobs.removeLeftovers(ageMs)
  for (const projectId of await blobs.projects()) {
    let old: string[] = []
    for await (const { sha256, modifiedAt } of blobs.list(projectId)) {
      if (Date.now() - modifiedAt.getTime() >= ageMs) old.push(sha256)
      if (old.length < LISTED_MAX) continue
      removed += await removeUnrecorded({ db, blobs }, projectId, old)
      old = []
    }
    removed += await removeUnrecorded({ db, blobs }, projectId, old)
  }
  return removed
}

const LISTED_MAX = 1_000

async function removeUnrecorded({ db, blobs }: BlobContext, projectId: string, sha256s: string[]): Promise<number> {
  let removed = 0
  for (const sha256 of await readUnrecorded(db, projectId, sha256s)) {
    removed += await db.transaction(async (tx) => {
      if (!(await claimUnrecorded(tx, { projectId, sha256 }))) return 0
      return removeAll(tx, blobs, [{ projectId, sha256 }])
    })
  }
  return removed
}
