import type { LogOffset, LogPiece, LogStreamName, ObservedKernel } from '../domain/agent/protocol.ts'
import { cutLog, cutNote, shippedBytes, type StreamCut, tailShift } from '../domain/agent/kernel-logs.ts'
import { LOG_BYTES_PER_SYNC_MAX, LOG_CHUNK_BYTES_MAX, LOG_HEAD_BYTES_PER_STREAM_MAX } from '../domain/limits.ts'
import type { Logger } from '../observability/log.ts'
import { type Executor, isOver } from './executors/executor.ts'

/** Limit per stream and sync, so that a kernel with much output does not hold up the logs of others. */
const BYTES_PER_STREAM_AND_SYNC_MAX = 512 * 1024
/**
 * Number of delivered batches after which the batch size doubles. Growth is slow because on a slow link each failure
 * costs a whole sync.
 */
const ARRIVALS_UNTIL_MORE = 8
const STREAMS: readonly LogStreamName[] = ['STDOUT', 'STDERR']

interface Shipment {
  readonly kernelId: string
  readonly assignment: number
  /** How far the server has accepted the output behind the head, in the numbering of the shipped stream. */
  readonly offsets: Record<LogStreamName, number>
  /** The server has accepted all output of the kernel. */
  drained: boolean
}

/**
 * Decides which log text is sent next. One batch is in flight at a time. The same pieces are sent again until they are
 * accepted, so the server never sees a piece cut differently. Each failure reduces the number of pieces, down to one,
 * because a batch too large for a slow link would never arrive within a sync's timeout. An ended kernel is reported as
 * running until its log is accepted, so anyone who sees the end can see the complete log.
 */
export interface LogShipper {
  /** Called after registering: continues from the offsets that the server reports. */
  resumeFrom(offsets: readonly LogOffset[]): void
  /** Returns the batch in flight, or a new one. */
  gather(observed: readonly ObservedKernel[]): Promise<LogPiece[]>
  /** Called when the batch in flight has arrived. */
  accepted(): void
  /** Called when the batch in flight may not have arrived. */
  failed(): void
  /** Returns the kernels as they may be reported now. */
  report(observed: readonly ObservedKernel[]): ObservedKernel[]
}

export function createLogShipper(executor: Executor, log: Logger): LogShipper {
  const shipments = new Map<string, Shipment>()
  let known = new Map<string, number>()
  let underWay: LogPiece[] = []
  /** Pieces that were read together with the batch in flight, and are sent after it. */
  let waiting: LogPiece[] = []
  let bytesAtOnce = LOG_BYTES_PER_SYNC_MAX
  /** Number of batches that arrived since the last failure. */
  let arrivals = 0
  let turn = 0

  function track({ kernelId, assignment }: ObservedKernel): Shipment {
    const at = shipments.get(kernelId)
    if (at?.assignment === assignment) return at
    if (at !== undefined) drop(at)
    const take = (stream: LogStreamName) => known.get(keyOf({ kernelId, assignment, stream })) ?? 0
    const offsets = { STDOUT: take('STDOUT'), STDERR: take('STDERR') }
    const shipment = { kernelId, assignment, offsets, drained: false }
    shipments.set(kernelId, shipment)
    return shipment
  }

  function drop({ kernelId, assignment }: Shipment): void {
    shipments.delete(kernelId)
    for (const stream of ['STDOUT', 'STDERR'] as const) known.delete(keyOf({ kernelId, assignment, stream }))
    underWay = underWay.filter((piece) => piece.kernelId !== kernelId)
    waiting = waiting.filter((piece) => piece.kernelId !== kernelId)
  }

  async function newBatch(open: Shipment[]): Promise<LogPiece[]> {
    const first = turn++ % Math.max(1, open.length)
    const batch: LogPiece[] = []
    let budget = bytesAtOnce
    for (const shipment of [...open.slice(first), ...open.slice(0, first)]) {
      if (budget <= 0) break
      const read = await readKernel(executor, log, shipment, budget)
      budget -= read.bytes
      batch.push(...read.pieces)
    }
    return batch
  }

  return {
    resumeFrom(offsets) {
      shipments.clear()
      underWay = []
      waiting = []
      known = new Map(offsets.map((at) => [keyOf(at), at.offset]))
    },
    async gather(observed) {
      const present = new Set(observed.map(({ kernelId }) => kernelId))
      for (const shipment of shipments.values()) if (!present.has(shipment.kernelId)) drop(shipment)
      const ran = observed.filter(({ startedAt }) => startedAt !== null).map(track)
      if (underWay.length === 0) {
        if (waiting.length === 0) waiting = await newBatch(ran.filter(({ drained }) => !drained))
        underWay = waiting.splice(0, piecesWithin(waiting, bytesAtOnce))
      }
      return underWay
    },
    accepted() {
      for (const { kernelId, stream, offset, bytes } of underWay) {
        const shipment = shipments.get(kernelId)
        if (shipment !== undefined) shipment.offsets[stream] = offset + bytes
      }
      if (underWay.length > 0 && ++arrivals % ARRIVALS_UNTIL_MORE === 0)
        bytesAtOnce = Math.min(LOG_BYTES_PER_SYNC_MAX, bytesAtOnce * 2)
      underWay = []
    },
    failed() {
      const bytes = underWay.reduce((sum, piece) => sum + piece.bytes, 0)
      if (bytes === 0) return
      arrivals = 0
      bytesAtOnce = Math.max(LOG_CHUNK_BYTES_MAX, Math.floor(bytes / 2))
      waiting.unshift(...underWay.splice(piecesWithin(underWay, bytesAtOnce)))
    },
    report: (observed) =>
      observed.map((kernel) => (isHeld(kernel, shipments.get(kernel.kernelId)) ? asRunning(kernel) : kernel)),
  }
}

/** Returns how many of the first pieces fit into `bytesMax`; at least one. */
function piecesWithin(pieces: readonly LogPiece[], bytesMax: number): number {
  let bytes = 0
  const beyond = pieces.findIndex((piece) => (bytes += piece.bytes) > bytesMax)
  return beyond === -1 ? pieces.length : Math.max(1, beyond)
}

async function readKernel(executor: Executor, log: Logger, shipment: Shipment, budget: number): Promise<StreamRead> {
  const { kernelId, offsets } = shipment
  const { final, ...sizes } = executor.logSizes(kernelId)
  const cuts = final ? cutLog(sizes) : null
  const all: StreamRead = { pieces: [], bytes: 0, end: final }
  try {
    for (const stream of STREAMS) {
      const left = Math.min(budget - all.bytes, BYTES_PER_STREAM_AND_SYNC_MAX)
      const cut = cuts?.[stream] ?? null
      const read = await readShipped(executor, { ...shipment, stream, offset: offsets[stream] }, left, cut)
      all.pieces.push(...read.pieces)
      all.bytes += read.bytes
      // Also ends a file that has become shorter than before; otherwise the session would never end.
      all.end &&= cut !== null && (read.bytes === 0 ? left > 0 : false)
    }
  } catch (error) {
    // The end must be reported even if the log is unreadable: the session would otherwise never end.
    log.error({ kernelId, error: String(error) }, 'log could not be read')
    all.end = true
  }
  shipment.drained = all.end && all.bytes === 0
  return all
}

/** Reads the next piece of one stream. @param cut null while the kernel runs: then only the head is shipped */
async function readShipped(
  executor: Executor,
  at: { kernelId: string; assignment: number; stream: LogStreamName; offset: number },
  allowance: number,
  cut: StreamCut | null,
): Promise<StreamRead> {
  const { kernelId, assignment, stream, offset } = at
  const place = { kernelId, assignment, stream, offset }
  const head = cut?.head ?? LOG_HEAD_BYTES_PER_STREAM_MAX
  if (offset < head) return readStream(executor, place, Math.min(allowance, head - offset))
  if (cut === null || offset >= shippedBytes(cut) || allowance <= 0) return { pieces: [], bytes: 0, end: cut !== null }
  if (cut.leftOut > 0 && offset === head) {
    return { pieces: [{ ...place, bytes: 1, text: cutNote(cut), at: new Date().toISOString() }], bytes: 1, end: false }
  }
  const shift = tailShift(cut)
  return readStream(
    executor,
    { ...place, offset: offset + shift },
    Math.min(allowance, shippedBytes(cut) - offset),
    shift,
  )
}

function keyOf({ kernelId, assignment, stream }: Omit<LogOffset, 'offset'>): string {
  return `${kernelId} ${assignment} ${stream}`
}

function isHeld(kernel: ObservedKernel, shipment: Shipment | undefined): boolean {
  return isOver(kernel) && kernel.startedAt !== null && shipment?.drained !== true
}

function asRunning(kernel: ObservedKernel): ObservedKernel {
  return { ...kernel, status: 'RUNNING', exitCode: null, oomKilled: false, error: null, endedAt: null }
}

interface StreamRead {
  pieces: LogPiece[]
  bytes: number
  /** The kernel has ended and its output is read completely. */
  end: boolean
}

/**
 * Reads the output of one stream from `offset` on, at most `allowance` bytes. The offsets of its pieces are `shift`
 * less than those in the file.
 */
async function readStream(
  executor: Executor,
  at: { kernelId: string; assignment: number; stream: LogStreamName; offset: number },
  allowance: number,
  shift = 0,
): Promise<StreamRead> {
  const read: StreamRead = { pieces: [], bytes: 0, end: false }
  while (read.bytes < allowance && !read.end) {
    const offset = at.offset + read.bytes
    const wanted = Math.min(LOG_CHUNK_BYTES_MAX, allowance - read.bytes)
    const { text, bytes, end } = await executor.readLog(at.kernelId, at.stream, offset, wanted)
    read.end = end
    if (bytes === 0) break
    read.bytes += bytes
    read.pieces.push({ ...at, offset: offset - shift, bytes, text, at: new Date().toISOString() })
  }
  return read
}
