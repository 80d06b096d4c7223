/** The parameters of a chain page's address. */
export interface ChainSearch {
  /** The chosen attempt; undefined for the newest. */
  attempt?: number
  tab?: ChainTab
  /** Shows waits to scale, not cut. */
  scale?: true
  /** The visible part of the timeline, in milliseconds since 1970. */
  from?: number
  to?: number
  /** Shows the logs of all attempts as one. */
  log?: 'all'
  /** The line of the log that somebody linked to, from 1. */
  line?: number
}

export const CHAIN_TABS = ['logs', 'outputs', 'decision', 'history', 'spec', 'kernels'] as const
export type ChainTab = (typeof CHAIN_TABS)[number]

/** Parses the parameters; leaves out those that it cannot parse. */
export function readChainSearch({ attempt, tab, scale, from, to, log, line }: Record<string, unknown>): ChainSearch {
  const isRange = typeof from === 'number' && typeof to === 'number' && Number.isFinite(from) && to > from
  return {
    ...(isCount(attempt) && { attempt }),
    ...(CHAIN_TABS.some((each) => each === tab) && tab !== 'logs' && { tab: tab as ChainTab }),
    ...((scale === true || scale === 'true') && { scale: true as const }),
    ...(isRange && { from: Math.round(from), to: Math.round(to) }),
    ...(log === 'all' && { log: 'all' as const }),
    ...(isCount(line) && { line }),
  }
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0
}
