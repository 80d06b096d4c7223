import type { BlobAnswer } from '../../../domain/agent/protocol.ts'
import { messageOf } from '../../../observability/error-message.ts'
import type { Logger } from '../../../observability/log.ts'
import { reconnectPauseMs, wait } from '../../../waiting/wait.ts'
import { isFinal } from './send-blob.ts'

/** A download that receives no byte for this long goes on with another request, perhaps to another server. */
const STALLED_AFTER_MS = 30_000
const STALLED_CHECK_MS = 1_000

/**
 * Fetches a blob, and continues it where it broke off, until the signal aborts. Only the first request is not repeated,
 * because its caller may have something better to do.
 *
 * @param ask requests the blob from an offset on: first any, then the one of the first answer
 * @throws RepriseError for a refusal of the first request that another try would not change
 */
export async function fetchBlob(
  ask: (asked: { sha256: string | null; offset: number }, signal: AbortSignal) => Promise<BlobAnswer>,
  sha256: string | null,
  { signal, log }: { signal: AbortSignal; log: Logger },
): Promise<BlobAnswer> {
  const first = createStall(signal)
  const begun = await ask({ sha256, offset: 0 }, first.signal).finally(() => first.stop())
  return { ...begun, chunks: continued(begun) }

  async function* continued(answer: BlobAnswer): AsyncGenerator<Uint8Array, void> {
    let at = 0
    let failures = 0
    let stall = first
    for (let current = answer; ;) {
      try {
        stall.watch()
        for await (const chunk of current.chunks) {
          at += chunk.length
          failures = 0
          // A slow reader is not the server's silence.
          stall.pause()
          yield chunk
          stall.watch()
        }
        if (at >= answer.total) return
        throw new Error(`the server broke off after ${at} of ${answer.total} bytes`)
      } catch (error) {
        stall.stop()
        signal.throwIfAborted()
        // It may have been replaced. The caller begins again, and learns what is there now.
        if (isFinal(error)) throw new Error(messageOf(error), { cause: error })
        log.warn({ error: messageOf(error), at, of: answer.total }, 'a transfer broke off and goes on')
        await wait(reconnectPauseMs(++failures, Math.random()), { signal })
        signal.throwIfAborted()
        stall = createStall(signal)
        stall.watch()
        const asked = ask({ sha256: answer.sha256, offset: at }, stall.signal)
        current = await asked.catch((reason: unknown) => failing(answer, reason))
      } finally {
        stall.stop()
      }
    }
  }
}

/** An answer that fails when it is read. */
function failing(answer: BlobAnswer, reason: unknown): BlobAnswer {
  const chunks = { [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(reason) }) }
  return { ...answer, chunks }
}

/** A signal that aborts with another one, or when a request has been silent for too long. */
function createStall(outer: AbortSignal): { signal: AbortSignal; watch(): void; pause(): void; stop(): void } {
  const silent = new AbortController()
  let lastAt = performance.now()
  let timer: ReturnType<typeof setInterval> | undefined
  const stop = () => {
    clearInterval(timer)
    timer = undefined
  }
  const watch = () => {
    lastAt = performance.now()
    timer ??= setInterval(() => {
      if (performance.now() - lastAt < STALLED_AFTER_MS) return
      silent.abort(new Error('the server is silent'))
      stop()
    }, STALLED_CHECK_MS)
  }
  const pause = () => void (lastAt = Number.POSITIVE_INFINITY)
  watch()
  return { signal: AbortSignal.any([outer, silent.signal]), watch, pause, stop }
}
