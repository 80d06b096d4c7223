import type { BlobPurpose, BlobSlice, BlobState } from '../../../domain/agent/protocol.ts'
import { type ErrorCode, RepriseError } from '../../../domain/errors.ts'
import { BLOB_PART_BYTES, BLOB_PART_WITHIN_MS, BLOB_SLICES_MAX } from '../../../domain/limits.ts'
import { messageOf } from '../../../observability/error-message.ts'
import { reconnectPauseMs, wait } from '../../../waiting/wait.ts'
import { ForeignAnswer } from '../../http-gateway.ts'
import type { BlobExchange } from '../executor.ts'

/** A blob that an agent sends. */
export interface OutgoingBlob {
  sha256: string
  bytes: number
  /** Reads it from an offset on. Called again after each failure. */
  open(offset: number): AsyncIterable<Uint8Array>
}

export interface SendOptions {
  purpose: BlobPurpose
  /** Returns false once nobody needs the transfer any more; it then ends soon. */
  isWanted(): boolean
  /** Called with a reason for people while the transfer waits, and with null when it goes on. */
  onWaiting?(reason: string | null): void
  /** Whether an error ends the transfer that would otherwise be waited out. If missing, none. */
  isFinal?(error: unknown): boolean
  /** Called after each part, with the bytes that the server has. */
  onProgress?(received: number): void
}

/** The server does not accept the bytes, because they have another hash: the file changes, or the way damages it. */
export class BlobRefusedError extends Error {}

/** Number of times that a blob is sent whose bytes arrive with another hash. */
const DAMAGED_MAX = 3
const WANTED_CHECK_MS = 100
/** Parts of one blob that are under way at once. */
const PARTS_AT_ONCE_MAX = 2
/** Packs of small blobs that are under way at once. */
const PACKS_AT_ONCE_MAX = 3

/**
 * Sends a blob in parts to whichever server answers, from where the last one has stopped. Waits as long as servers, their
 * disk or a proxy fail, and has no time limit as a whole.
 *
 * @returns false if it was no longer wanted
 * @throws BlobRefusedError, RepriseError for a refusal that another try would not change, errors of `open`
 */
export async function sendBlob(
  exchange: BlobExchange,
  kernel: { id: string; assignment: number },
  blob: OutgoingBlob,
  options: SendOptions,
): Promise<boolean> {
  const { sha256, bytes } = blob
  const { purpose } = options
  const ref = { kernelId: kernel.id, assignment: kernel.assignment, purpose }
  let damaged = 0
  /** Null while it is unknown what has arrived. */
  let next: number | null = null

  /** @returns true once the server has the blob; undefined if it continues elsewhere than expected */
  async function sendFrom(from: number, signal: AbortSignal, went: () => void): Promise<true | undefined> {
    let at = from
    const flights: Flight[] = []
    try {
      for await (const part of readAhead(partsOf(blob, from))) {
        if (!options.isWanted()) return undefined
        const slice: BlobSlice = { sha256, bytes, offset: at, length: part.length }
        at += part.length
        const sent = Promise.withResolvers<void>()
        const answer = exchange.send({ ...ref, slices: [slice] }, part, within(signal), sent.resolve)
        flights.push({ answer, end: at })
        // The next part goes off behind this one, so that the server receives it while it stores this one.
        await Promise.race([sent.promise, answer])
        if (flights.length < PARTS_AT_ONCE_MAX) continue
        const over = arrived(flights[0]!, await flights.shift()!.answer, went)
        if (over !== null) return over.complete
      }
      for (const flight of flights) {
        const over = arrived(flight, await flight.answer, went)
        if (over !== null) return over.complete
      }
    } finally {
      await Promise.allSettled(flights.map(({ answer }) => answer))
    }
    next = at
    return undefined
  }

  /** @returns null if the next part may follow; otherwise whether the server has the blob */
  function arrived(
    { end }: Flight,
    { blobs: [state] }: { blobs: BlobState[] },
    went: () => void,
  ): { complete: true | undefined } | null {
    const { complete, received, refused } = state!
    went()
    options.onProgress?.(received)
    if (complete) return { complete: true }
    if (refused !== undefined && ++damaged === DAMAGED_MAX) throw new BlobRefusedError(refused)
    if (received === end) return null
    next = received
    return { complete: undefined }
  }

  const sent = await patiently<true>(options, async (signal, went) => {
    let from = next
    next = null
    if (from === null) {
      const [state] = (await exchange.have({ ...ref, sha256s: [sha256] }, within(signal))).blobs
      if (state!.complete) return true
      from = state!.received
    }
    return sendFrom(from, signal, went)
  })
  return sent ?? false
}

/**
 * Sends many blobs: asks first which ones the project has, packs small ones together, and sends large ones with
 * `sendBlob`.
 *
 * @param failed called for each blob that could not be read or was refused; the others are sent nevertheless
 * @returns false if they were no longer wanted
 */
export async function sendBlobs(
  exchange: BlobExchange,
  kernel: { id: string; assignment: number },
  blobs: readonly OutgoingBlob[],
  options: SendOptions & { failed(blob: OutgoingBlob, error: unknown): void },
): Promise<boolean> {
  const { purpose, failed } = options
  const ref = { kernelId: kernel.id, assignment: kernel.assignment, purpose }
  const sha256s = [...new Set(blobs.map(({ sha256 }) => sha256))]
  const asked = await patiently(options, (signal) => exchange.have({ ...ref, sha256s }, within(signal)))
  if (asked === false) return false
  const done = new Set(asked.blobs.filter(({ complete }) => complete).map(({ sha256 }) => sha256))
  let pack: { blob: OutgoingBlob; body: Uint8Array }[] = []
  let packed = 0
  const flying = new Set<Promise<boolean>>()
  const sendPack = async (sending: typeof pack) => {
    const slices = sending.map(({ blob: { sha256, bytes } }) => ({ sha256, bytes, offset: 0, length: bytes }))
    const body = Buffer.concat(sending.map((each) => each.body))
    const answer = await patiently(options, (signal) => exchange.send({ ...ref, slices }, body, within(signal)))
    if (answer === false) return false
    for (const [index, { refused }] of answer.blobs.entries())
      if (refused !== undefined) failed(sending[index]!.blob, new BlobRefusedError(refused))
    return true
  }
  /** Sends the pack while the next one is filled. @returns false if an earlier one was no longer wanted */
  const flush = async () => {
    if (pack.length > 0) {
      const flight = sendPack(pack)
      flight.catch(() => {})
      flying.add(flight)
    }
    pack = []
    packed = 0
    if (flying.size < PACKS_AT_ONCE_MAX) return true
    const [first] = flying
    flying.delete(first!)
    return first!
  }
  for (const blob of blobs) {
    if (done.has(blob.sha256)) continue
    done.add(blob.sha256)
    try {
      if (blob.bytes > BLOB_PART_BYTES / 2) {
        if (!(await sendBlob(exchange, kernel, blob, options))) return false
        continue
      }
      let body: Uint8Array = new Uint8Array(0)
      for await (const part of partsOf(blob, 0)) body = part
      if (pack.length === BLOB_SLICES_MAX || packed + blob.bytes > BLOB_PART_BYTES) if (!(await flush())) return false
      pack.push({ blob, body })
      packed += blob.bytes
    } catch (error) {
      if (error instanceof RepriseError) throw error
      failed(blob, error)
    }
  }
  await flush()
  return (await Promise.all(flying)).every(Boolean)
}

interface Flight {
  answer: Promise<{ blobs: BlobState[] }>
  /** Where the blob goes on behind it. */
  end: number
}

/** An error of this machine's files, not of the transfer. */
class SourceError extends Error {}

/**
 * Repeats the work until it has a result. @returns false if it is no longer wanted
 */
async function patiently<T>(
  { isWanted, onWaiting, isFinal: endsToo }: SendOptions,
  work: (signal: AbortSignal, went: () => void) => Promise<T | undefined>,
): Promise<T | false> {
  let failures = 0
  while (isWanted()) {
    const ending = new AbortController()
    const timer = setInterval(() => {
      if (!isWanted()) ending.abort(new Error('it is not wanted any more'))
    }, WANTED_CHECK_MS)
    try {
      const result = await work(ending.signal, () => {
        if (failures > 0) onWaiting?.(null)
        failures = 0
      })
      if (result !== undefined) {
        if (failures > 0) onWaiting?.(null)
        return result
      }
    } catch (error) {
      if (!isWanted()) return false
      if (error instanceof SourceError) throw error.cause
      if (isFinal(error) || endsToo?.(error) === true) throw error
      failures++
      onWaiting?.(waitingReason(error))
      const until = performance.now() + reconnectPauseMs(failures, Math.random())
      while (isWanted() && performance.now() < until) await wait(WANTED_CHECK_MS)
    } finally {
      clearInterval(timer)
    }
  }
  return false
}

/** Errors of servers that pass. */
const PASSING: readonly ErrorCode[] = [
  'SERVER_STARTING',
  'SERVER_STOPPING',
  'SERVER_DISK_FULL',
  'STORAGE_UNAVAILABLE',
  'DATABASE_UNAVAILABLE',
  'REQUEST_TIMEOUT',
  'TOO_MANY_REQUESTS',
  'AGENT_UNKNOWN',
]

/** Whether another try would be refused in the same way. Proxies do not count: somebody will mend them. */
export function isFinal(error: unknown): boolean {
  return error instanceof BlobRefusedError || (error instanceof RepriseError && !PASSING.includes(error.code))
}

function waitingReason(error: unknown): string {
  if (error instanceof ForeignAnswer && error.status === 413)
    return `a proxy accepts no request of ${BLOB_PART_BYTES / 1024 ** 2} MiB (for nginx: client_max_body_size 9m): ${error.message}`
  return messageOf(error)
}

function within(signal: AbortSignal): AbortSignal {
  return AbortSignal.any([signal, AbortSignal.timeout(BLOB_PART_WITHIN_MS)])
}

/**
 * Reads a blob in parts of BLOB_PART_BYTES, the last of which is shorter; a part is valid while the next
 * three are read: two may be under way. At the end of a blob there is one empty part.
 *
 * @throws SourceError
 */
async function* partsOf({ open, bytes }: OutgoingBlob, from: number): AsyncGenerator<Uint8Array, void> {
  if (from >= bytes) return void (yield new Uint8Array(0))
  const memory: Buffer<ArrayBuffer>[] = []
  const size = Math.min(BLOB_PART_BYTES, bytes - from)
  let part = Buffer.allocUnsafe(size)
  let [filled, left] = [0, bytes - from]
  const source = open(from)[Symbol.asyncIterator]() as AsyncIterator<Uint8Array, void>
  try {
    while (left > 0) {
      const { value: chunk, done } = await source.next().catch((error: unknown) => {
        throw new SourceError('', { cause: error })
      })
      if (done === true) throw new SourceError('', { cause: new Error('the file became shorter while it was read') })
      for (let at = 0; at < chunk.length && left > 0;) {
        const taken = Math.min(chunk.length - at, part.length - filled, left)
        part.set(chunk.subarray(at, at + taken), filled)
        at += taken
        filled += taken
        left -= taken
        if (filled < part.length && left > 0) continue
        yield part.subarray(0, filled)
        memory.push(part)
        part = memory.length > PARTS_AT_ONCE_MAX ? memory.shift()! : Buffer.allocUnsafe(left > 0 ? size : 0)
        filled = 0
      }
    }
  } finally {
    await source.return?.()
  }
}

/** Reads the next item while the last one is used. */
async function* readAhead<T>(source: AsyncGenerator<T, void>): AsyncGenerator<T, void> {
  const begin = () => {
    const next = source.next()
    // It is awaited later, or not at all.
    next.catch(() => {})
    return next
  }
  let next = begin()
  try {
    for (;;) {
      const { done, value } = await next
      if (done === true) return
      next = begin()
      yield value
    }
  } finally {
    await source.return()
  }
}
