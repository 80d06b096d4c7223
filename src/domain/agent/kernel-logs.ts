import { LOG_BYTES_PER_KERNEL_MAX, LOG_CHUNK_BYTES_MAX, LOG_HEAD_BYTES_PER_STREAM_MAX } from '../limits.ts'
import type { LogStreamName } from './protocol.ts'
import { describeBytes } from '../amounts.ts'

/** The part of an ended kernel's stream that is kept, in bytes: its first `head` and its last `tail`. */
export interface StreamCut {
  size: number
  head: number
  leftOut: number
  tail: number
}

/**
 * Computes how much of a kernel's output is kept. The result depends only on the sizes of the streams, so that every
 * instance of an agent computes the same. The head of each stream is shipped while the kernel runs. The rest of the
 * kernel's limit goes to the ends of the two streams: half to each, or more to one if the other needs less. Output that
 * fits is kept whole.
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
 * Returns the length of a stream as it is shipped: the head, a note in place of the omitted bytes, which counts as one
 * byte, and the tail.
 */
export function shippedBytes({ head, leftOut, tail }: StreamCut): number {
  return head + (leftOut > 0 ? 1 : 0) + tail
}

/** Returns the difference between a tail byte's position in the file and its position in the shipped stream. */
export function tailShift({ leftOut }: StreamCut): number {
  return leftOut > 0 ? leftOut - 1 : 0
}

export function cutNote({ leftOut }: StreamCut): string {
  return `\n[reprise: ${describeBytes(leftOut)} of output are left out here]\n`
}

/** A piece of a stream as it arrived, or several adjacent pieces joined. */
export interface LogText {
  /** Position of the first piece within the kernel's logs, decimal. */
  firstId: string
  /** Position of the last piece. */
  id: string
  assignment: number
  stream: 'STDOUT' | 'STDERR'
  /** Position in the stream of the first byte. */
  offset: number
  bytes: number
  text: string
  at: Date
}

/**
 * Joins adjacent pieces of one stream up to LOG_CHUNK_BYTES_MAX, keeping the order of arrival. Joining begins at the
 * front, or at the back if the caller wants the last pieces.
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
