import { LOG_CHUNK_BYTES_MAX, RELAY_POLL_INTERVAL_MS } from '../domain/limits.ts'
import type { Database } from '../store/database.ts'
import { joinChunks } from '../domain/agent/kernel-logs.ts'
import { type LogPieceRow, readKernelLogs, readLogEnds } from '../store/sql/agent/kernel-logs.sql.ts'
import { readKernelState } from '../store/sql/agent/agent-work.sql.ts'
import { createWakeSignal } from '../waiting/wake-signal.ts'
import { abortableGenerator } from './abortable-generator.ts'
import type { Topics } from './wake-hub.ts'
import type { Logger } from '../observability/log.ts'
import { readForServer } from '../services/consistent-reads.ts'

const PIECES_PER_READ = 1_000
const BYTES_PER_READ = 4 * LOG_CHUNK_BYTES_MAX
/** The relay signals new output; this interval only guards against a lost signal. */
const BACKSTOP_MS = 60_000

/**
 * A kernel's log from a position on, as it grows. Ends when the kernel is over and its whole log has been sent. The
 * state is read before the log, so that a read after the end includes everything written before it.
 */
export function followKernelLogs(options: {
  db: Database
  topics: Topics
  relay: LogRelay
  kernelId: string
  /** Decimal id of the last chunk seen; 0 for the beginning. */
  after: string
  closing: AbortSignal
}): AsyncIterableIterator<readonly LogPieceRow[]> {
  const { db, topics, relay, kernelId, closing } = options
  return abortableGenerator(async function* (signal) {
    const wakeSignal = createWakeSignal([signal, closing])
    const unsubscribe = topics.on(`logs:${kernelId}`, wakeSignal.raise)
    const unwatch = relay.watch(kernelId)
    try {
      let after = options.after
      while (!signal.aborted && !closing.aborted) {
        const state = await readKernelState(db, kernelId)
        const window = { after, before: null, backward: false, piecesMax: PIECES_PER_READ, bytesMax: BYTES_PER_READ }
        const pieces = await readKernelLogs(db, [kernelId], window)
        after = pieces.at(-1)?.id ?? after
        if (pieces.length > 0) yield joinChunks(pieces, 'front')
        const bytes = pieces.reduce((sum, piece) => sum + piece.bytes, 0)
        if (pieces.length === PIECES_PER_READ || bytes > BYTES_PER_READ) continue
        if (!state || state.over) return
        await wakeSignal.wait(BACKSTOP_MS)
      }
    } finally {
      unsubscribe()
      unwatch()
      wakeSignal.stop()
    }
  })
}

/**
 * Checks for all followers of logs in this process whether their kernels have written or ended, and signals the topics
 * of those that have. Runs one statement every RELAY_POLL_INTERVAL_MS, and none while there are no followers. Output
 * that arrives at this server is signalled at once by its gateway; the relay finds the output that other servers
 * receive.
 */
export interface LogRelay {
  /** @returns a function that ends the watch */
  watch(kernelId: string): () => void
  /** Resolves when no pass is running. */
  stop(): Promise<void>
}

export function createLogRelay(options: { db: Database; topics: Topics; log: Logger }): LogRelay {
  const { db, topics, log } = options
  const followers = new Map<string, number>()
  /** The ends that the last pass found; a kernel without an entry is signalled in its first pass. */
  const known = new Map<string, string>()
  let timer: NodeJS.Timeout | undefined
  let stopped = false
  let passing: Promise<void> = Promise.resolve()

  async function pass(): Promise<void> {
    try {
      for (const { kernelId, end } of await readLogEnds(db, [...followers.keys()])) {
        if (!followers.has(kernelId) || known.get(kernelId) === end) continue
        known.set(kernelId, end)
        topics.signal(`logs:${kernelId}`)
      }
    } catch (error) {
      log.warn({ error: String(error) }, 'the ends of logs could not be read')
    }
    timer = undefined
    rest()
  }

  /** Runs outside of the request that starts it, because followers of other requests depend on it, too. */
  function rest(): void {
    if (timer !== undefined || stopped || followers.size === 0) return
    timer = setTimeout(() => {
      passing = readForServer(pass)
    }, RELAY_POLL_INTERVAL_MS).unref()
  }

  return {
    watch(kernelId) {
      followers.set(kernelId, (followers.get(kernelId) ?? 0) + 1)
      // The new follower may have read before the last pass.
      known.delete(kernelId)
      rest()
      return () => {
        const left = (followers.get(kernelId) ?? 1) - 1
        if (left > 0) return void followers.set(kernelId, left)
        followers.delete(kernelId)
        known.delete(kernelId)
      }
    },
    async stop() {
      stopped = true
      clearTimeout(timer)
      await passing
    },
  }
}
