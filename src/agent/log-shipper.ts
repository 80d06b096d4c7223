import type { LogOffset, LogPiece, LogStreamName, ObservedKernel } from '../domain/agent/protocol.ts'
import { LOG_BYTES_PER_KERNEL_MAX, LOG_BYTES_PER_SYNC_MAX, LOG_CHUNK_BYTES_MAX } from '../domain/limits.ts'
import type { Logger } from '../observability/log.ts'
import type { Executor } from './executors/executor.ts'
import { readStream, type StreamRead } from './read-stream.ts'

/** In one sync, so that a kernel that floods its output does not keep the others' back. */
const BYTES_PER_STREAM_AND_SYNC_MAX = 512 * 1024
/** Then twice as much is tried at once: seldom, for on a slow line it costs the time of a whole sync to fail. */
const ARRIVALS_UNTIL_MORE = 8
const TRUNCATION_NOTE = `\n[reprise: output beyond ${LOG_BYTES_PER_KERNEL_MAX} bytes is not kept]\n`

interface Shipment {
  readonly kernelId: string
  readonly assignment: number
  /** Everything before it has been accepted by the server. */
  readonly offsets: Record<LogStreamName, number>
  /** The server has accepted all that will ever be sent. */
  drained: boolean
}

/**
 * Which log text is sent next. One batch is under way at a time; until it is accepted the same pieces are sent
 * again, so that the server sees no piece in two cuts. Each time that it does not arrive fewer of them go at once,
 * down to a single one: what is too much for a slow line in the time that a sync has would never arrive. An ended
 * kernel is reported as running until its log is accepted, so that whoever sees the end has seen the log.
 */
export interface LogShipper {
  /** After registering: the server knows better than we what it has. */
  resumeFrom(offsets: readonly LogOffset[]): void
  /** The batch under way, or a new one. */
  gather(observed: readonly ObservedKernel[]): Promise<LogPiece[]>
  /** The batch under way has arrived. */
  accepted(): void
  /** Or it has not, as far as anybody knows. */
  failed(): void
  /** What may be told of the kernels by now. */
  report(observed: readonly ObservedKernel[]): ObservedKernel[]
}

export function createLogShipper(executor: Executor, log: Logger): LogShipper {
  const shipments = new Map<string, Shipment>()
  let known = new Map<string, number>()
  let underWay: LogPiece[] = []
  /** Read with what is under way, and to be sent after it. */
  let waiting: LogPiece[] = []
  let bytesAtOnce = LOG_BYTES_PER_SYNC_MAX
  /** Since the last batch that did not arrive. */
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

/** How many pieces from the first on are no more than so many bytes; at least one. */
function piecesWithin(pieces: readonly LogPiece[], bytesMax: number): number {
  let bytes = 0
  const beyond = pieces.findIndex((piece) => (bytes += piece.bytes) > bytesMax)
  return beyond === -1 ? pieces.length : Math.max(1, beyond)
}

async function readKernel(executor: Executor, log: Logger, shipment: Shipment, budget: number): Promise<StreamRead> {
  const { kernelId, assignment, offsets } = shipment
  const before = offsets.STDOUT + offsets.STDERR
  const isFull = before >= LOG_BYTES_PER_KERNEL_MAX
  const allowance = Math.max(0, Math.min(budget, LOG_BYTES_PER_KERNEL_MAX + (isFull ? 1 : 0) - before))
  const all: StreamRead = { pieces: [], bytes: 0, end: true }
  try {
    for (const stream of ['STDOUT', 'STDERR'] as const) {
      const left = Math.min(allowance - all.bytes, BYTES_PER_STREAM_AND_SYNC_MAX)
      const read = await readStream(executor, { kernelId, assignment, stream, offset: offsets[stream] }, left)
      all.pieces.push(...read.pieces)
      all.bytes += read.bytes
      all.end &&= read.end
    }
  } catch (error) {
    // An end that could not be told because of a log that cannot be read would keep the session for ever.
    log.error({ kernelId, error: String(error) }, 'log could not be read')
    all.end = true
  }
  // The first byte that is not kept is sent as the note, in a piece of its own: no piece may grow.
  if (isFull) for (const piece of all.pieces) piece.text = TRUNCATION_NOTE
  shipment.drained = before > LOG_BYTES_PER_KERNEL_MAX || (all.end && all.bytes === 0)
  return all
}

function keyOf({ kernelId, assignment, stream }: Omit<LogOffset, 'offset'>): string {
  return `${kernelId} ${assignment} ${stream}`
}

function isHeld(kernel: ObservedKernel, shipment: Shipment | undefined): boolean {
  const ended = kernel.status === 'EXITED' || kernel.status === 'FAILED'
  return ended && kernel.startedAt !== null && shipment?.drained !== true
}

function asRunning(kernel: ObservedKernel): ObservedKernel {
  return { ...kernel, status: 'RUNNING', exitCode: null, oomKilled: false, error: null, endedAt: null }
}
