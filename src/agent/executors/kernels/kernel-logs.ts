import { closeSync, constants, fstatSync, openSync, writeSync } from 'node:fs'
import type { LogStreamName } from '../../../domain/agent/protocol.ts'
import { openRegularFile } from '../../control-file.ts'
import { logPath, logSize } from './kernel-directory.ts'
import { hasEnded, type KernelEntry, OUTPUT_LOST } from './kernel-entry.ts'

const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

/** Returns how many bytes to take so that no character is cut in two. Invalid UTF-8 is taken as it is. */
export function utf8CutLength(bytes: Uint8Array): number {
  const length = bytes.length
  for (let back = 1; back <= Math.min(3, length); back++) {
    const byte = bytes[length - back] ?? 0
    if (byte < 0x80) return length
    if (byte >= 0xc0) return characterLength(byte) > back ? length - back : length
  }
  return length
}

function characterLength(lead: number): number {
  if (lead >= 0xf0) return lead > 0xf4 ? 1 : 4
  return lead >= 0xe0 ? 3 : 2
}

/** Converts bytes to text that PostgreSQL can store: NUL and every invalid byte become U+FFFD. */
export function readableText(bytes: Uint8Array): string {
  return decoder.decode(bytes).replaceAll('\0', '\uFFFD')
}

interface LogRead {
  text: string
  bytes: number
  end: boolean
}

/** Reads output of a kernel. Opens no file if the sizes that the watch has seen show nothing new. */
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
  // If the caller asks for fewer bytes than the character has, a broken character is better than no progress.
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

const APPEND = constants.O_WRONLY | constants.O_APPEND | constants.O_NOFOLLOW | constants.O_NONBLOCK

/** Appends a text of the agent to a log file, behind what the program has written. */
export function appendToLog(path: string, stream: LogStreamName, text: string | Uint8Array): void {
  const fd = openSync(logPath(path, stream), APPEND)
  try {
    if (fstatSync(fd).isFile()) writeSync(fd, typeof text === 'string' ? Buffer.from(text) : text)
  } finally {
    closeSync(fd)
  }
}

const LOG_CHECK_MIN_MS = 100
const LOG_CHECK_MAX_MS = 800
const STREAMS: readonly LogStreamName[] = ['STDOUT', 'STDERR']

/**
 * Checks the size of a running kernel's two log files: every 100 ms while they grow, and down to every 800 ms while
 * they do not. A thousand silent kernels cost about one hundredth of a core.
 */
export function hasLogGrown(kernel: KernelEntry, now: number): boolean {
  if (kernel.phase !== 'RUNNING' || now < kernel.nextLogCheckAt) return false
  const grown = STREAMS.filter((stream) => {
    const size = logSize(kernel.outputPath, stream)
    const differs = size !== kernel.logSizes[stream]
    kernel.logSizes[stream] = size
    return differs
  })
  kernel.logPauseMs =
    grown.length > 0 ? LOG_CHECK_MIN_MS : Math.min(kernel.logPauseMs * 2 || LOG_CHECK_MIN_MS, LOG_CHECK_MAX_MS)
  kernel.nextLogCheckAt = now + kernel.logPauseMs
  return grown.length > 0
}
