import { Readable } from 'node:stream'
import { constants, createZstdCompress } from 'node:zlib'
import { ArchiveError } from '../../../../archive/archive-entry.ts'
import { RepriseError } from '../../../../domain/errors.ts'
import { RELAY_WITHIN_MS } from '../../../../domain/limits.ts'
import { messageOf } from '../../../../observability/error-message.ts'
import { wait } from '../../../../waiting/wait.ts'
import { reconnectPauseMs } from '../../../reconnect-pause.ts'
import type { KernelEntry } from '../../kernel-book/kernel-entry.ts'
import { chainDirectory, generationOf } from './chain-directory.ts'
import type { ChainHost } from './chain-host.ts'
import { packCheckpoint, type PackedCheckpoint } from './pack-checkpoint.ts'

const STOPPED_CHECK_MS = 100

/** Whether the servers have it now, and why they do not; for people. */
export interface Relayed {
  recorded: boolean
  reason: string | null
}

/**
 * What an attempt that has failed leaves goes to the servers, if another agent may need it. Never rejects, and ends
 * within RELAY_WITHIN_MS: a checkpoint that does not arrive costs what it is worth, and not the attempt's end.
 */
export async function relayAtEnd(host: ChainHost, kernel: KernelEntry): Promise<void> {
  await relayCheckpoint(host, kernel, chainDirectory(host, kernel.spec))
}

export async function relayCheckpoint(
  host: ChainHost,
  kernel: KernelEntry,
  directory: string,
  isWanted: () => boolean = () => true,
): Promise<Relayed> {
  const { relay, log } = host
  const { id: kernelId, assignment, spec } = kernel
  if (relay === undefined) return { recorded: false, reason: 'this agent has no server' }
  const ending = new AbortController()
  const until = performance.now() + RELAY_WITHIN_MS
  const timer = setInterval(() => {
    if (performance.now() > until) ending.abort(new Error(`it took more than ${RELAY_WITHIN_MS / 1000} s`))
    else if (host.book.closed || kernel.removing || !isWanted()) ending.abort(new Error('it is not wanted any more'))
  }, STOPPED_CHECK_MS)
  const request = { kernelId, assignment, generation: generationOf(spec) }
  try {
    return await untilGone(ending.signal, async () => {
      const { signal } = ending
      const asked = await relay.offer(request, signal)
      if (!asked.wanted) return { recorded: false, reason: asked.reason }
      const packed = await packCheckpoint(directory, asked.bytesMax)
      const { read: _, ...copy } = packed
      const wish = await relay.offer({ ...request, copy }, signal)
      if (!wish.wanted) return { recorded: wish.recorded, reason: wish.reason }
      const sent = await relay.send({ ...request, copy }, compressed(packed, signal), signal)
      log.info({ kernelId, attempt: spec.attempt, ...copy }, 'the servers have a copy of a checkpoint')
      return { ...sent, reason: sent.recorded ? null : 'something newer is on record' }
    })
  } catch (error) {
    const reason = messageOf(error)
    if (!host.book.closed)
      log.warn({ kernelId, attempt: spec.attempt, reason }, 'the servers have no copy of a checkpoint')
    return { recorded: false, reason }
  } finally {
    clearInterval(timer)
  }
}

/** Fast rather than small: the way is within a data centre. An archive that cannot be read breaks the upload off. */
async function* compressed(packed: PackedCheckpoint, signal: AbortSignal): AsyncGenerator<Uint8Array, void> {
  const source = Readable.from(packed.read(), { objectMode: false })
  const stream = createZstdCompress({ params: { [constants.ZSTD_c_compressionLevel]: 1 } })
  source.on('error', (error) => stream.destroy(error)).pipe(stream)
  try {
    for await (const chunk of stream) {
      signal.throwIfAborted()
      yield chunk as Uint8Array
    }
  } finally {
    source.destroy()
    stream.destroy()
  }
}

/** A server that is away is asked again; one that refuses, and a directory that cannot travel, are not. */
async function untilGone<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  for (let failures = 1; ; failures++) {
    try {
      return await Promise.race([work(), rejectedBy(signal)])
    } catch (error) {
      const isFinal = error instanceof ArchiveError || isLocal(error) || isRefusal(error)
      if (signal.aborted || isFinal) throw signal.aborted ? signal.reason : error
      await wait(reconnectPauseMs(failures, Math.random()), { signal })
    }
  }
}

const PASSING: readonly string[] = ['SERVER_STARTING', 'SERVER_STOPPING', 'REQUEST_TIMEOUT', 'DATABASE_UNAVAILABLE']

function isRefusal(error: unknown): boolean {
  if (error instanceof RepriseError) return !PASSING.includes(error.code)
  // A server of an older version has no such path.
  return / answers 404 /.test(messageOf(error))
}

function isLocal(error: unknown): boolean {
  const { code, syscall } = error as NodeJS.ErrnoException
  return typeof code === 'string' && ['open', 'lstat', 'scandir', 'opendir', 'read', 'readlink'].includes(syscall ?? '')
}

function rejectedBy(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>()
  if (signal.aborted) reject(signal.reason)
  signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  return promise
}
