import type { ChainReport, ChainSize, SyncAnswer } from '../domain/agent/protocol.ts'
import {
  CHAIN_MEASURE_INTERVAL_MS,
  CHAIN_REPORT_INTERVAL_MS,
  DROPPED_CHAINS_MAX,
  REPORTED_CHAINS_MAX,
  REPORTED_SIZES_MAX,
} from '../domain/limits.ts'
import { messageOf } from '../observability/error-message.ts'
import type { Logger } from '../observability/log.ts'
import type { ChainDirectories } from './executors/executor.ts'

/**
 * Reports regularly, in parts, for which chains this agent has directories, and drops the directories of removed
 * chains. A report is repeated until an answer has come. The listing does not delay the syncs.
 */
export interface ChainReports {
  /** Returns what to report with the next sync. */
  next(): ChainReport | undefined
  /** Called with the answer to a sync that carried the report. */
  answered(report: ChainReport, answer: Pick<SyncAnswer, 'dropChains' | 'dropGenerations'>): void
  /** Starts over, for a server that has no earlier report. */
  restart(): void
}

export function createChainReports(
  chains: ChainDirectories | undefined,
  log: Logger,
  { now = () => performance.now(), atOnceMax = REPORTED_CHAINS_MAX } = {},
): ChainReports {
  let dueAt = now()
  let after: string | null = null
  let listing = false
  let report: ChainReport | undefined

  async function list(): Promise<void> {
    listing = true
    try {
      const rest = (await chains!.list()).filter(({ chainId }) => after === null || chainId > after)
      const part = rest.slice(0, atOnceMax)
      const chainIds = part.map(({ chainId }) => chainId)
      const later = part.filter(({ oldest }) => oldest > 0).map(({ chainId, oldest }) => [chainId, oldest] as const)
      const upTo = rest.length > atOnceMax ? chainIds.at(-1)! : null
      report = { after, upTo, chainIds, ...(later.length > 0 && { generations: Object.fromEntries(later) }) }
    } catch (error) {
      log.warn({ error: messageOf(error) }, 'the directories of chains could not be listed')
      dueAt = now() + CHAIN_REPORT_INTERVAL_MS
    } finally {
      listing = false
    }
  }

  return {
    next() {
      if (chains !== undefined && report === undefined && !listing && now() >= dueAt) void list()
      return report
    },
    answered({ upTo }, { dropChains = [], dropGenerations = [] }) {
      const removed = dropChains.filter((chainId) => chains!.drop(chainId)).length
      const dropped = removed + dropGenerations.filter(({ chainId, before }) => chains!.drop(chainId, before)).length
      if (dropped > 0) log.info({ dropped }, 'directories that no chain needs are dropped')
      report = undefined
      // There may be more to drop in this part.
      if (Math.max(dropChains.length, dropGenerations.length) >= DROPPED_CHAINS_MAX && dropped > 0) return
      after = upTo
      if (upTo === null) dueAt = now() + CHAIN_REPORT_INTERVAL_MS
    },
    restart() {
      report = undefined
      after = null
      dueAt = now()
    },
  }
}

/**
 * Reports the disk space of chain directories when it has changed. Growing directories are measured every few minutes.
 * A directory that could not be counted when its kernel ended is measured soon after. Measuring does not delay the
 * syncs.
 */
export interface ChainSizes {
  /** Returns what to report with the next sync, the same until an answer has come. */
  next(): ChainSize[] | undefined
  answered(): void
  /** Starts over, for a server that has no earlier report. */
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
