import { oneOf, readSearch, text, type Reader } from '../../app/search-reader.ts'
import type { ChainFilter } from './chains.generated.ts'

/** What the address says about the list of chains: the same address is the same list for a colleague. */
export interface ChainsSearch {
  state?: StateTab
  cause?: CauseWord
  /** `team:cms` */
  label?: string
  q?: string
  project?: string
  since?: SinceWord
  order?: OrderWord
  /** What of the address was not understood, and is left out. */
  dropped?: string[]
}

/** Tabs, in their order, and the states of chains that they show. */
export const STATE_TABS = {
  running: 'LIVE',
  waiting: 'WAITING_RETRY',
  held: 'HELD',
  failed: 'FAILED',
  succeeded: 'SUCCEEDED',
  cancelled: 'CANCELLED',
} as const
export type StateTab = keyof typeof STATE_TABS

export const CAUSES = {
  exit: 'KERNEL_NONZERO_EXIT',
  oom: 'OOM_KILLED',
  agent: 'AGENT_TRANSIENT',
  image: 'IMAGE_PULL_FAILURE',
  scheduler: 'SCHEDULER_TIMEOUT',
  unknown: 'UNKNOWN',
  cancelled: 'USER_CANCELLED',
} as const
export type CauseWord = keyof typeof CAUSES

/** Hours. */
export const SINCE = { '1h': 1, '24h': 24, '7d': 168, '30d': 720 } as const
export type SinceWord = keyof typeof SINCE

/** With `-`, the largest or newest first. */
export const ORDERS = {
  '-latest': { field: 'ACTIVITY', direction: 'DESC' },
  latest: { field: 'ACTIVITY', direction: 'ASC' },
  name: { field: 'NAME', direction: 'ASC' },
  '-name': { field: 'NAME', direction: 'DESC' },
  '-attempts': { field: 'ATTEMPTS', direction: 'DESC' },
  attempts: { field: 'ATTEMPTS', direction: 'ASC' },
  '-total': { field: 'TOTAL_TIME', direction: 'DESC' },
  total: { field: 'TOTAL_TIME', direction: 'ASC' },
  '-created': { field: 'CREATED_AT', direction: 'DESC' },
  created: { field: 'CREATED_AT', direction: 'ASC' },
  due: { field: 'DUE_AT', direction: 'ASC' },
} as const
export type OrderWord = keyof typeof ORDERS
export const DEFAULT_ORDER: OrderWord = '-latest'

const READERS: Readonly<Record<Exclude<keyof ChainsSearch, 'dropped'>, Reader>> = {
  state: oneOf(STATE_TABS),
  cause: oneOf(CAUSES),
  label: (value) => (/^[^:]+:/.test(text(value) ?? '') ? text(value) : undefined),
  q: text,
  project: text,
  since: oneOf(SINCE),
  order: oneOf(ORDERS),
}

/** What is not understood is left out, and named. */
export function readChainsSearch(given: Record<string, unknown>): ChainsSearch {
  return readSearch(READERS, given)
}

/** @param now milliseconds since 1970, by the server's clock */
export function filterOf({ state, cause, label, q, project, since }: ChainsSearch, now: number): ChainFilter {
  const [, key, value] = /^([^:]+):(.*)$/s.exec(label ?? '') ?? []
  const minute = Math.floor(now / 60_000) * 60_000
  return {
    ...(state && { state: [STATE_TABS[state]] }),
    ...(cause && { cause: [CAUSES[cause]] }),
    ...(key !== undefined && { label: { key, value: value! } }),
    ...(q && { search: q }),
    ...(project && { project }),
    ...(since && { activityAt: { gte: new Date(minute - SINCE[since] * 3_600_000).toISOString() } }),
  }
}
