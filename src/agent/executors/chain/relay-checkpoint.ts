import { basename } from 'node:path'
import { ArchiveError } from '../../../archive/archive-entry.ts'
import type { CheckpointCopy } from '../../../domain/agent/protocol.ts'
import { RepriseError } from '../../../domain/errors.ts'
import { RELAY_WITHIN_MS } from '../../../domain/limits.ts'
import { messageOf } from '../../../observability/error-message.ts'
import { reconnectPauseMs, wait } from '../../../waiting/wait.ts'
import { ForeignAnswer } from '../../http-gateway.ts'
import type { KernelEntry } from '../kernels/kernel-entry.ts'
import { chainDirectory, generationOf } from './chain-directory.ts'
import type { ChainHost } from './chain-host.ts'
import { packCheckpoint, type PackedCheckpoint } from './pack-checkpoint.ts'
import { BlobRefusedError, type OutgoingBlob, sendBlob } from '../kernels/send-blob.ts'

const STOPPED_CHECK_MS = 100

export interface Relayed {
  /** Whether the servers now have the checkpoint. */
  recorded: boolean
  /** Whether another try would have the same result. */
  isOver: boolean
  /** Why the servers do not have it, as text for people. */
  reason: string | null
  copy: CheckpointCopy | null
}

interface RelayOptions {
  /** The program that publishes still runs. */
  running: boolean
  isWanted(): boolean
  /** Packs the files to send. Called once the servers want them, and again if a try fails. */
  pack(bytesMax: number): Promise<PackedCheckpoint>
}

/**
 * Sends the checkpoint of a failed attempt to the servers, if another agent may need it. Never rejects, and ends once
 * nothing has arrived for RELAY_WITHIN_MS: then its progress is lost, but the attempt's end is still reported.
 */
export async function relayAtEnd(host: ChainHost, kernel: KernelEntry): Promise<void> {
  const directory = chainDirectory(host, kernel.spec)
  // A publication in progress ends soon, because it is no longer wanted.
  await host.publishing.get(basename(directory))
  const pack = (bytesMax: number) => packCheckpoint(directory, bytesMax)
  await relayCheckpoint(host, kernel, { running: false, isWanted: () => true, pack })
}

/** Never rejects. */
export async function relayCheckpoint(
  host: ChainHost,
  kernel: KernelEntry,
  { running, isWanted, pack }: RelayOptions,
): Promise<Relayed> {
  const { relay, log } = host
  const { id: kernelId, assignment, spec } = kernel
  const told = (reason: string | null, isOver = true) => ({ recorded: false, isOver, reason, copy: null })
  if (relay === undefined) return told('this agent has no server')
  const ending = new AbortController()
  let until = performance.now() + RELAY_WITHIN_MS
  let waitsFor: string | null = null
  const went = () => void (until = performance.now() + RELAY_WITHIN_MS)
  const timer = setInterval(() => {
    const why = waitsFor === null ? '' : `: ${waitsFor}`
    if (performance.now() > until) ending.abort(new Error(`nothing moved for ${RELAY_WITHIN_MS / 1000} s${why}`))
    else if (host.registry.closed || kernel.removing || !isWanted())
      ending.abort(new Error('it is not wanted any more'))
  }, STOPPED_CHECK_MS)
  const asking = { kernelId, assignment, generation: generationOf(spec), running }
  try {
    return await untilGone(ending.signal, async () => {
      const { signal } = ending
      const asked = await relay.offer(asking, signal)
      if (!asked.wanted) return told(asked.reason)
      const packed = await pack(asked.bytesMax)
      went()
      const { read, ...copy } = packed
      const request = { ...asking, ...(asked.order !== undefined && { order: asked.order }), copy }
      let wish = await relay.offer(request, signal)
      if (wish.wanted) {
        await sendBlob(relay.blobs, kernel, outgoing(copy, read), {
          purpose: 'CHECKPOINT',
          isWanted: () => !signal.aborted,
          // The next attempt waits for the copy, and had better begin without it.
          isFinal: isRefusal,
          onProgress: went,
          onWaiting: (reason) => void (waitsFor = reason),
        })
        signal.throwIfAborted()
        // The blob has arrived; now the offer is recorded.
        wish = await relay.offer(request, signal)
        if (wish.wanted) return told('something newer is on record')
      }
      const { recorded } = wish
      if (!recorded) return { ...told(wish.reason), copy }
      log.info({ kernelId, attempt: spec.attempt, ...copy }, 'the servers have a copy of a checkpoint')
      return { recorded, isOver: true, reason: null, copy }
    })
  } catch (error) {
    const reason = messageOf(error)
    if (!host.registry.closed)
      log.warn({ kernelId, attempt: spec.attempt, reason }, 'the servers have no copy of a checkpoint')
    return told(reason, !ending.signal.aborted)
  } finally {
    clearInterval(timer)
  }
}

/** The archive cannot be read from the middle, so its beginning is read again, without being sent. */
function outgoing({ sha256, archiveBytes }: CheckpointCopy, read: PackedCheckpoint['read']): OutgoingBlob {
  async function* open(offset: number): AsyncGenerator<Uint8Array, void> {
    let at = 0
    for await (const chunk of read()) {
      const skipped = Math.min(chunk.length, Math.max(0, offset - at))
      at += chunk.length
      if (skipped < chunk.length) yield chunk.subarray(skipped)
    }
  }
  return { sha256, bytes: archiveBytes, open }
}

/** Repeats the work while the server does not answer. A refusal, or a directory that cannot be sent, ends it. */
async function untilGone<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  for (let failures = 1; ; failures++) {
    try {
      return await Promise.race([work(), rejectedBy(signal)])
    } catch (error) {
      const isFinal =
        error instanceof ArchiveError || error instanceof BlobRefusedError || isLocal(error) || isRefusal(error)
      if (signal.aborted || isFinal) throw signal.aborted ? signal.reason : error
      await wait(reconnectPauseMs(failures, Math.random()), { signal })
    }
  }
}

const PASSING: readonly string[] = [
  'SERVER_STARTING',
  'SERVER_STOPPING',
  'REQUEST_TIMEOUT',
  'DATABASE_UNAVAILABLE',
  'STORAGE_UNAVAILABLE',
  'TOO_MANY_REQUESTS',
]

function isRefusal(error: unknown): boolean {
  if (error instanceof RepriseError) return !PASSING.includes(error.code)
  // For example, a proxy that accepts no body of this size, or a server of an older version without this path.
  return error instanceof ForeignAnswer && error.isFinal
}

function isLocal(error: unknown): boolean {
  const { code, syscall } = error as NodeJS.ErrnoException
  return typeof code === 'string' && LOCAL.includes(syscall ?? '')
}

const LOCAL =
  'open lstat scandir opendir read readlink link symlink mkdir rename rmdir unlink rm copyfile lutime'.split(' ')

function rejectedBy(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>()
  if (signal.aborted) reject(signal.reason)
  signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  return promise
}
