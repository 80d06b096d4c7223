import { LOG_BYTES_PER_KERNEL_MAX, LOG_CHUNK_BYTES_MAX, LOG_HEAD_BYTES_PER_STREAM_MAX } from '../limits.ts'
import type { LogStreamName } from './protocol.ts'

/** What is kept of one stream of an ended kernel, in bytes: its first `head` and its last `tail`. */
export interface StreamCut {
  size: number
  head: number
  leftOut: number
  tail: number
}

/**
 * What is kept of a kernel's output, from the sizes of its streams alone, so that every instance of an agent comes to
 * the same: of each stream the head, which is shipped while the kernel runs, and of what is left of the kernel's limit
 * the ends of both streams, half for each unless one needs less. All of it, if it fits.
 */
export function cutLog(sizes: Readonly<Record<LogStreamName, number>>): Record<LogStreamName, StreamCut> {
  const head = (size: number) => Math.min(size, LOG_HEAD_BYTES_PER_STREAM_MAX)
  const budget = LOG_BYTES_PER_KERNEL_MAX - head(sizes.STDOUT) - head(sizes.STDERR)
  const cut = (size: number, other: number): StreamCut => {
    const rest = size - head(size)
    const share = Math.max(Math.floor(budget / 2), budget - (other - head(other)))
    const tail = Math.min(rest, share)
    return { size, head: head(size), leftOut: rest - tail, tail }
  }
  return { STDOUT: cut(sizes.STDOUT, sizes.STDERR), STDERR: cut(sizes.STDERR, sizes.STDOUT) }
}

/**
 * Shipped streams are numbered without what is left out: behind the head comes a note, which counts as one byte, then
 * the tail.
 */
export function shippedBytes({ head, leftOut, tail }: StreamCut): number {
  return head + (leftOut > 0 ? 1 : 0) + tail
}

/** How far behind its position in the shipped stream a byte of the tail stands in the file. */
export function tailShift({ leftOut }: StreamCut): number {
  return leftOut > 0 ? leftOut - 1 : 0
}

export function cutNote({ leftOut }: StreamCut): string {
  return `\n[reprise: ${leftOut} bytes of output are left out here]\n`
}

/** A piece of a stream as it arrived, or several that were joined. */
export interface LogText {
  /** Position within the kernel's logs, decimal; of the first piece. */
  firstId: string
  /** Of the last piece. */
  id: string
  assignment: number
  stream: 'STDOUT' | 'STDERR'
  /** Byte of the stream where it begins. */
  offset: number
  bytes: number
  text: string
  at: Date
}

/**
 * Pieces in the order of their arrival, with adjacent ones of one stream joined up to LOG_CHUNK_BYTES_MAX: from the
 * front, or from the back where the last ones are wanted.
 */
export function joinChunks<Piece extends LogText>(pieces: readonly Piece[], from: 'front' | 'back'): Piece[] {
  const inOrder = from === 'front' ? pieces : pieces.toReversed()
  const runs: Piece[][] = []
  let bytes = 0
  for (const piece of inOrder) {
    const run = runs.at(-1)
    const last = run?.at(-1)
    const [before, after] = from === 'front' ? [last, piece] : [piece, last]
    if (run && before && after && follows(before, after) && bytes + piece.bytes <= LOG_CHUNK_BYTES_MAX) {
      run.push(piece)
      bytes += piece.bytes
    } else {
      runs.push([piece])
      bytes = piece.bytes
    }
  }
  const joined = runs.map((run) => join(from === 'front' ? run : run.toReversed()))
  return from === 'front' ? joined : joined.toReversed()
}

function follows(before: LogText, after: LogText): boolean {
  return (
    before.stream === after.stream &&
    before.assignment === after.assignment &&
    before.offset + before.bytes === after.offset
  )
}

function join<Piece extends LogText>(run: readonly Piece[]): Piece {
  const [first] = run as [Piece]
  if (run.length === 1) return first
  return {
    ...first,
    id: run.at(-1)!.id,
    bytes: run.reduce((sum, { bytes }) => sum + bytes, 0),
    text: run.map(({ text }) => text).join(''),
  }
}
