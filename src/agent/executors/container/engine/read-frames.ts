import type { Readable } from 'node:stream'
import type { LogStreamName } from '../../../../domain/agent/protocol.ts'

const HEADER_BYTES = 8
/** Of a frame, the first byte says which stream it belongs to. */
const STREAM_OF: Record<number, LogStreamName> = { 0: 'STDOUT', 1: 'STDOUT', 2: 'STDERR' }

/** Frames may be cut anywhere by the transport. What is given of one is given at once, whole or not. */
export async function* readFrames(body: Readable): AsyncIterable<{ stream: LogStreamName; bytes: Uint8Array }> {
  const header = Buffer.alloc(HEADER_BYTES)
  let headed = 0
  let left = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    for (let at = 0; at < chunk.length;) {
      if (left === 0) {
        const taken = chunk.copy(header, headed, at, at + HEADER_BYTES - headed)
        headed += taken
        at += taken
        if (headed < HEADER_BYTES) break
        headed = 0
        left = header.readUInt32BE(4)
        continue
      }
      const stream = STREAM_OF[header[0]!]
      if (stream === undefined) throw new Error(`the engine sent a frame of stream ${header[0]}`)
      const bytes = chunk.subarray(at, at + left)
      at += bytes.length
      left -= bytes.length
      yield { stream, bytes }
    }
  }
}
