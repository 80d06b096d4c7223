import type { LogOffset, LogPiece, LogStreamName, ObservedKernel } from '../domain/agent/protocol.ts'
import { LOG_BYTES_PER_KERNEL_MAX, LOG_BYTES_PER_SYNC_MAX } from '../domain/limits.ts'
import type { Logger } from '../observability/log.ts'
import type { Executor } from './executors/executor.ts'
import { readStream, type StreamRead } from './read-stream.ts'

/** In one sync, so that a kernel that floods its output does not keep the others' back. */
const BYTES_PER_STREAM_AND_SYNC_MAX = 512 * 1024
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
 * again, so that the server sees no piece in two cuts. An ended kernel is reported as running until its log is
 * accepted, so that whoever sees the end has seen the log.
 */
export interface LogShipper {
  /** After registering: the server knows better than we what it has. */
  goOnFrom(offsets: readonly LogOffset[]): void
  /** The batch under way, or a new one. */
  gather(observed: readonly ObservedKernel[]): Promise<LogPiece[]>
  /** The batch under way has arrived. */
  accepted(): void
  /** What may be told of the kernels by now. */
  report(observed: readonly ObservedKernel[]): ObservedKernel[]
}

export function createLogShipper(executor: Executor, log: Logger): LogShipper {
  const shipments = new Map<string, Shipment>()
  let known = new Map<string, number>()
  let underWay: LogPiece[] = []
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
  }

  async function newBatch(open: Shipment[]): Promise<LogPiece[]> {
    const first = turn++ % Math.max(1, open.length)
    const batch: LogPiece[] = []
    let budget = LOG_BYTES_PER_SYNC_MAX
    for (const shipment of [...open.slice(first), ...open.slice(0, first)]) {
      if (budget <= 0) break
      const read = await readKernel(executor, log, shipment, budget)
      budget -= read.bytes
      batch.push(...read.pieces)
    }
    return batch
  }

  return {
    goOnFrom(offsets) {
      shipments.clear()
      underWay = []
      known = new Map(offsets.map((at) => [keyOf(at), at.offset]))
    },
    async gather(observed) {
      const present = new Set(observed.map(({ kernelId }) => kernelId))
      for (const shipment of shipments.values()) if (!present.has(shipment.kernelId)) drop(shipment)
      const ran = observed.filter(({ startedAt }) => startedAt !== null).map(track)
      if (underWay.length === 0) underWay = await newBatch(ran.filter(({ drained }) => !drained))
      return underWay
    },
    accepted() {
      for (const { kernelId, stream, offset, bytes } of underWay) {
        const shipment = shipments.get(kernelId)
        if (shipment !== undefined) shipment.offsets[stream] = offset + bytes
      }
      underWay = []
    },
    report: (observed) =>
      observed.map((kernel) => (isHeld(kernel, shipments.get(kernel.kernelId)) ? asRunning(kernel) : kernel)),
  }
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
