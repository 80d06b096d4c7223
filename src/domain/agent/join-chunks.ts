import { LOG_CHUNK_BYTES_MAX } from '../limits.ts'

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
