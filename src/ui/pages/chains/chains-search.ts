import { CAUSES, type CauseWord } from '../../app/causes.ts'
import { moment, oneOf, readSearch, text, uuid, wholeNumber, type Reader } from '../../app/list/search-reader.ts'
import type { ChainFilter } from '../../../client/schema-types.generated.ts'

/** What the address says about the list of chains: the same address is the same list for a colleague. */
export interface ChainsSearch {
  state?: StateTab
  cause?: CauseWord
  /** `team:cms` */
  label?: string
  q?: string
  project?: string
  /** Exactly this one. */
  name?: string
  /** An attempt failed for this cause, or for any, whatever came after it. */
  failed?: CauseWord | 'any'
  /** An attempt failed with this exit code. */
  exit?: number
  /** An attempt failed on the agent of this id. */
  agent?: string
  /** Of the latest activity, or, where the failure of an attempt is asked for, of that. */
  since?: SinceWord
  /** The same, at or after this moment. */
  from?: string
  /** The same, before this moment. */
  to?: string
  /** As many at least. */
  attempts?: number
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

/** Hours. */
export const SINCE = { '1h': 1, '24h': 24, '7d': 168, '30d': 720, '31d': 744 } as const
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
  name: text,
  failed: oneOf({ ...CAUSES, any: true }),
  exit: wholeNumber,
  agent: uuid,
  since: oneOf(SINCE),
  from: moment,
  to: moment,
  attempts: wholeNumber,
  order: oneOf(ORDERS),
}

/** What is not understood is left out, and named. */
export function readChainsSearch(given: Record<string, unknown>): ChainsSearch {
  return readSearch(READERS, given)
}

/** @param now milliseconds since 1970, by the server's clock */
export function filterOf(search: ChainsSearch, now: number): ChainFilter {
  const { state, cause, label, q, project, name, attempts } = search
  const [, key, value] = /^([^:]+):(.*)$/s.exec(label ?? '') ?? []
  return {
    ...(state && { state: [STATE_TABS[state]] }),
    ...(cause && { cause: [CAUSES[cause]] }),
    ...(key !== undefined && { label: { key, value: value! } }),
    ...(q && { search: q }),
    ...(project && { project }),
    ...(name && { name: { equals: name } }),
    ...(attempts && { attempts: { min: attempts } }),
    ...timesOf(search, now),
  }
}

function timesOf({ failed, exit, agent, since, from, to }: ChainsSearch, now: number): ChainFilter {
  const minute = Math.floor(now / 60_000) * 60_000
  const gte = from ?? (since && new Date(minute - SINCE[since] * 3_600_000).toISOString())
  const at = (gte ?? to) && { ...(gte && { gte }), ...(to && { lt: to }) }
  if (failed === undefined && exit === undefined && agent === undefined) return at ? { activityAt: at } : {}
  return {
    failed: {
      ...(at && { at }),
      ...(failed && failed !== 'any' && { cause: [CAUSES[failed]] }),
      ...(exit && { exitCode: [exit] }),
      ...(agent && { agent }),
    },
  }
}
