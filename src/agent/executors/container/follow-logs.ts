import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import type { LogStreamName } from '../../../domain/agent/protocol.ts'
import { logPath } from '../kernel-directory/kernel-directory.ts'
import type { Engine } from './engine/engine.ts'

/**
 * Copies a container's output from the engine to the kernel's files. Both engines keep the order of each stream, so the
 * bytes that a file has already are skipped, and nothing but the files says how far a copy has come. Only one copy of a
 * kernel's output runs at a time.
 */
export interface LogFollower {
  /** When the engine has ended the stream, or the copy was stopped. Rejects if the engine or a file has failed. */
  readonly ended: Promise<void>
  stop(): Promise<void>
}

interface LogSource {
  engine: Engine
  containerId: string
  path: string
}

/**
 * What a file may have to be continued by counting: well below what engines keep. Beyond it, only the end of the output
 * is kept anyway, and time tells where to go on, which may repeat or omit some of it.
 */
const COUNTED_BYTES_MAX = 48 * 1024 * 1024
const APPEND = constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW

const HEADER_BYTES = 8
/** Of a frame, the first byte says which stream it belongs to. */
const STREAM_OF: Record<number, LogStreamName> = { 0: 'STDOUT', 1: 'STDOUT', 2: 'STDERR' }

export function followLogs(source: LogSource): LogFollower {
  const stopping = new AbortController()
  const ended = copy(source, true, stopping.signal)
  ended.catch(() => undefined)
  return {
    ended,
    async stop() {
      stopping.abort()
      await ended.catch(() => undefined)
    },
  }
}

/** All that is missing of a container that has ended. @throws EngineError, EngineSilentError */
export function completeLogs(source: LogSource, signal: AbortSignal): Promise<void> {
  return copy(source, false, signal)
}

async function copy({ engine, containerId, path }: LogSource, follow: boolean, signal: AbortSignal): Promise<void> {
  await using stdout = await openSink(path, 'STDOUT')
  await using stderr = await openSink(path, 'STDERR')
  const since = newerThan([stdout, stderr])
  const body = await engine.logs(containerId, { follow, signal, ...(since !== null && { since }) })
  const sinks = { STDOUT: stdout, STDERR: stderr }
  for await (const { stream, bytes } of readFrames(body)) await sinks[stream].take(bytes)
}

interface Sink extends AsyncDisposable {
  readonly bytes: number
  readonly changedAt: Date
  /** Of large ones, everything that comes is new. */
  countNothing(): void
  take(bytes: Uint8Array): Promise<void>
}

async function openSink(path: string, stream: LogStreamName): Promise<Sink> {
  const file: FileHandle = await open(logPath(path, stream), APPEND, 0o600)
  const { size, mtime } = await file.stat()
  let skip = size
  return {
    bytes: size,
    changedAt: mtime,
    countNothing: () => void (skip = 0),
    async take(bytes) {
      const known = Math.min(skip, bytes.length)
      skip -= known
      for (let at = known; at < bytes.length;) at += (await file.write(bytes, at)).bytesWritten
    },
    [Symbol.asyncDispose]: () => file.close(),
  }
}

function newerThan(sinks: readonly Sink[]): Date | null {
  if (sinks.reduce((sum, { bytes }) => sum + bytes, 0) <= COUNTED_BYTES_MAX) return null
  for (const sink of sinks) sink.countNothing()
  return new Date(Math.max(...sinks.map(({ changedAt }) => changedAt.getTime())))
}

/** Frames may be cut anywhere by the transport. What is given of one is given at once, whole or not. */
async function* readFrames(body: Readable): AsyncIterable<{ stream: LogStreamName; bytes: Uint8Array }> {
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
