import type { LogStreamName } from '../../../domain/agent/protocol.ts'
import { openRegularFile } from '../../control-file.ts'
import { readableText, utf8CutLength } from '../utf8-cut.ts'
import { logPath } from './kernel-directory.ts'
import { hasEnded, type KernelEntry, OUTPUT_LOST } from '../kernel-book/kernel-entry.ts'

export interface LogRead {
  text: string
  bytes: number
  end: boolean
}

/** Uses the file sizes that the ticker has seen: if they show nothing new, no file is opened. */
export async function readKernelLog(
  kernel: KernelEntry,
  stream: LogStreamName,
  offset: number,
  maxBytes: number,
): Promise<LogRead> {
  const ended = hasEnded(kernel)
  const size = kernel.logSizes[stream]
  if (offset >= size) return { text: '', bytes: 0, end: ended }
  const inFile = size - (kernel.outputLost && stream === 'STDOUT' ? OUTPUT_LOST.length : 0)
  if (offset >= inFile) {
    const text = OUTPUT_LOST.slice(offset - inFile, offset - inFile + maxBytes)
    return { text, bytes: text.length, end: ended && offset + text.length >= size }
  }
  const read = await readBytes(logPath(kernel.outputPath, stream), offset, Math.min(maxBytes, inFile - offset))
  const atEnd = ended && offset + read.length >= inFile
  const length = atEnd ? read.length : utf8CutLength(read)
  // If fewer bytes are requested than the character has, a broken character is better than no progress.
  const bytes = length === 0 && read.length === maxBytes ? read.length : length
  return { text: readableText(read.subarray(0, bytes)), bytes, end: ended && offset + bytes >= size }
}

async function readBytes(path: string, offset: number, length: number): Promise<Uint8Array> {
  await using file = await openRegularFile(path, { single: true })
  const buffer = Buffer.allocUnsafe(length)
  let filled = 0
  while (filled < length) {
    const { bytesRead } = await file.read(buffer, filled, length - filled, offset + filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return buffer.subarray(0, filled)
}
