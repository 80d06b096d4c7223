import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import type { LogStreamName } from '../../../domain/agent/protocol.ts'
import { logPath } from '../kernels/kernel-directory.ts'
import type { Engine } from './engine/engine.ts'
import { readFrames } from './engine/engine-client.ts'

/**
 * Copies a container's output from the engine to the kernel's files. Both engines keep the order of each stream, so the
 * bytes that a file already has are skipped, and the files alone show how far a copy has come. Only one copy of a
 * kernel's output runs at a time.
 */
export interface LogFollower {
  /**
   * Resolves when the engine has ended the stream, or the copy was stopped. Rejects if the engine or a file has failed.
   */
  readonly ended: Promise<void>
  stop(): Promise<void>
}

interface LogSource {
  engine: Engine
  containerId: string
  path: string
}

/**
 * Largest file that is continued by counting bytes, well below what engines keep. From a larger log only the end is
 * kept anyway, so a copy continues by time, which may repeat or omit some output.
 */
const COUNTED_BYTES_MAX = 48 * 1024 * 1024
const APPEND = constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW

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

/** Copies all missing output of an ended container. @throws EngineError, EngineSilentError */
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
  /** Called for large files: everything that comes is then taken as new. */
  countNothing(): void
  take(bytes: Uint8Array): Promise<void>
}

async function openSink(path: string, stream: LogStreamName): Promise<Sink> {
  const file: FileHandle = await open(logPath(path, stream), APPEND, 0o600)
  const { size, mtime } = await file.stat().catch(async (error: unknown) => {
    await file.close()
    throw error
  })
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
