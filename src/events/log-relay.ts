import { RELAY_POLL_INTERVAL_MS } from '../domain/limits.ts'
import type { Logger } from '../observability/log.ts'
import { readForServer } from '../services/consistent-reads.ts'
import type { Database } from '../store/database.ts'
import { readLogEnds } from '../store/sql/agent/kernel-logs.sql.ts'
import type { Topics } from './topics.ts'

/**
 * Finds for all followers of logs in this process whether their kernels have written or ended, in one statement every
 * RELAY_POLL_INTERVAL_MS, and signals the topics of those that have. Rests while nobody follows. Output that arrives at
 * this server is signalled at once by its gateway; the relay finds what other servers have received.
 */
export interface LogRelay {
  /** @returns what ends the watch */
  watch(kernelId: string): () => void
  /** Resolves when no pass is under way. */
  stop(): Promise<void>
}

export function createLogRelay(options: { db: Database; topics: Topics; log: Logger }): LogRelay {
  const { db, topics, log } = options
  const followers = new Map<string, number>()
  /** What was found in the last pass; a kernel without an entry is signalled in its first. */
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

  /** Followers of many requests depend on it, whichever of them it began with. */
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
