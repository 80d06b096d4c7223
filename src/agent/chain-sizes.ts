import type { ChainSize } from '../domain/agent/protocol.ts'
import { CHAIN_MEASURE_INTERVAL_MS, REPORTED_SIZES_MAX } from '../domain/limits.ts'
import { messageOf } from '../observability/error-message.ts'
import type { Logger } from '../observability/log.ts'
import type { ChainDirectories } from './executors/executor.ts'

/**
 * Tells the server what the directories of chains take, where that has changed: every few minutes of those that grow, and
 * soon of those that could not be counted when their kernels ended. Measured beside the syncs.
 */
export interface ChainSizes {
  /** What to report with the next sync; repeated until an answer has come. */
  next(): ChainSize[] | undefined
  answered(): void
  /** Begins again, for a server that knows nothing. */
  restart(): void
}

export function createChainSizes(
  chains: ChainDirectories | undefined,
  log: Logger,
  { now = () => performance.now(), atOnceMax = REPORTED_SIZES_MAX } = {},
): ChainSizes {
  let dueAt = now()
  let measuring = false
  let toTell: ChainSize[] = []
  let sent: ChainSize[] | undefined
  let told = new Map<string, number>()

  async function measure(all: boolean): Promise<void> {
    measuring = true
    try {
      const sizes = await chains!.measure(all)
      toTell = sizes.filter((size) => told.get(keyOf(size)) !== size.bytes)
      told = new Map([...(all ? [] : told), ...sizes.map((size) => [keyOf(size), size.bytes] as const)])
    } catch (error) {
      log.warn({ error: messageOf(error) }, 'the directories of chains could not be measured')
    } finally {
      measuring = false
      if (all) dueAt = now() + CHAIN_MEASURE_INTERVAL_MS
    }
  }

  return {
    next() {
      if (chains !== undefined && !measuring && toTell.length === 0) {
        const all = now() >= dueAt
        if (all || chains.isUncounted) void measure(all)
      }
      if (toTell.length > 0) sent ??= toTell.slice(0, atOnceMax)
      return sent
    },
    answered() {
      toTell = toTell.slice(sent?.length ?? 0)
      sent = undefined
    },
    restart() {
      sent = undefined
      toTell = []
      told = new Map()
      dueAt = now()
    },
  }
}

function keyOf({ chainId, generation }: ChainSize): string {
  return `${chainId}.${generation}`
}
