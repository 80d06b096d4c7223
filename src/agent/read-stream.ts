import type { LogPiece, LogStreamName } from '../domain/agent/protocol.ts'
import { LOG_CHUNK_BYTES_MAX } from '../domain/limits.ts'
import type { Executor } from './executors/executor.ts'

export interface StreamRead {
  pieces: LogPiece[]
  bytes: number
  /** The kernel has ended and its output is read completely. */
  end: boolean
}

/**
 * Reads the output of one stream from `offset` on, at most `allowance` bytes, in pieces whose offsets are `shift` less
 * than in the file.
 */
export async function readStream(
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
