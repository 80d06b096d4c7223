import { HELD_RECHECK_MS } from '../limits.ts'
import type { Owner, PendingPlaces } from '../quota/pending-places.ts'
import type { QuotaScope } from '../quota/quota.ts'
import type { HoldReason } from './causes.ts'
import type { RetryScope } from './scope.ts'

/** What holds in one scope at this moment. */
export interface RetrySwitch {
  scope: RetryScope
  /** Projects of the batch that lie in it. */
  projectIds: readonly string[]
  disabled: boolean
  /** When this kill switch ends by itself; null where it does not. */
  disabledForMs: number | null
  rateLimit: RateLimit | null
  /** When this rate limit ends by itself; null where it does not. */
  limitForMs: number | null
  tokens: number
}

/** A token bucket. */
export interface RateLimit {
  perSecond: number
  burst: number
}

/** What is in the bucket after this long. Clocks that were set back take nothing out. */
export function refill({ perSecond, burst }: RateLimit, tokens: number, seconds: number): number {
  return Math.min(burst, tokens + Math.max(0, seconds) * perSecond)
}

export interface Admissible extends Owner {
  /** Until every kernel of the failed attempt is certain to be gone; 0 where they are. */
  parentAliveMs: number
}

/** Not now. */
export interface Hold<Retry> {
  retry: Retry
  reason: HoldReason
  /** Whose switch or quota it is; null for what concerns this retry alone. */
  scope: RetryScope | QuotaScope | null
  /** No sooner than this. */
  waitMs: number
  rateLimit: RateLimit | null
  /** When the rate limit ends by itself; null where it does not. */
  limitForMs: number | null
}

export interface Admission<Retry, Switch extends RetrySwitch> {
  go: Retry[]
  held: Hold<Retry>[]
  /** Tokens left of the limits that were looked at. */
  left: Map<Switch, number>
}

/**
 * Which of the due retries may be dispatched, in the order given. A kill switch of any scope holds; so does a parent
 * that may be alive, and a quota with no room for another pending session; and a retry takes a place of every quota
 * and a token of every rate limit that it is under, or none of any.
 */
export function admit<Retry extends Admissible, Switch extends RetrySwitch>(
  retries: readonly Retry[],
  switches: readonly Switch[],
  places: PendingPlaces,
): Admission<Retry, Switch> {
  const byProject = switchesByProject(switches)
  const buckets = new Map(switches.filter(({ rateLimit }) => rateLimit).map((found) => [found, found.tokens]))
  const queued = new Map<Switch, number>()
  const go: Retry[] = []
  const held: Hold<Retry>[] = []
  for (const retry of retries) {
    const here = byProject.get(retry.projectId) ?? []
    const limits = here.filter(({ rateLimit }) => rateLimit !== null)
    const hold =
      disabledHere(here, retry) ??
      parentAlive(retry) ??
      quotaFull(places, retry) ??
      rateLimited(limits, retry, buckets, queued)
    if (hold) held.push(hold)
    else {
      go.push(retry)
      places.take(retry)
      for (const limit of limits) buckets.set(limit, buckets.get(limit)! - 1)
    }
  }
  return { go, held, left: buckets }
}

function switchesByProject<Switch extends RetrySwitch>(switches: readonly Switch[]): Map<string, Switch[]> {
  const found = new Map<string, Switch[]>()
  for (const each of switches) {
    for (const projectId of each.projectIds) found.set(projectId, [...(found.get(projectId) ?? []), each])
  }
  return found
}

function disabledHere<Retry>(here: readonly RetrySwitch[], retry: Retry): Hold<Retry> | undefined {
  const off = here.filter(({ disabled }) => disabled)
  if (off.length === 0) return undefined
  const longest = off.reduce((a, b) => (endOf(b) > endOf(a) ? b : a))
  const waitMs = Math.min(endOf(longest), HELD_RECHECK_MS)
  return { retry, reason: 'DISABLED', scope: longest.scope, waitMs, rateLimit: null, limitForMs: null }
}

function endOf({ disabledForMs }: RetrySwitch): number {
  return disabledForMs ?? Infinity
}

function parentAlive<Retry extends Admissible>(retry: Retry): Hold<Retry> | undefined {
  const waitMs = retry.parentAliveMs
  if (waitMs === 0) return undefined
  return { retry, reason: 'PARENT_ALIVE', scope: null, waitMs, rateLimit: null, limitForMs: null }
}

/** It comes forward as soon as there is room, so that nobody looks at those for which there is none. */
function quotaFull<Retry extends Admissible>(places: PendingPlaces, retry: Retry): Hold<Retry> | undefined {
  const full = places.fullFor(retry)
  if (!full) return undefined
  const waitMs = HELD_RECHECK_MS
  return { retry, reason: 'QUOTA', scope: full.scope, waitMs, rateLimit: null, limitForMs: null }
}

/** Of the limits that have no token left, the one that has its next free one last. */
function rateLimited<Retry, Switch extends RetrySwitch>(
  limits: readonly Switch[],
  retry: Retry,
  buckets: ReadonlyMap<Switch, number>,
  queued: Map<Switch, number>,
): Hold<Retry> | undefined {
  const holds = limits
    .filter((limit) => buckets.get(limit)! < 1)
    .map((limit): Hold<Retry> => {
      const place = (queued.get(limit) ?? 0) + 1
      queued.set(limit, place)
      const waitMs = ((place - buckets.get(limit)!) / limit.rateLimit!.perSecond) * 1000
      const { scope, rateLimit, limitForMs } = limit
      return { retry, reason: 'RATE_LIMITED', scope, waitMs, rateLimit, limitForMs }
    })
  return holds.reduce<Hold<Retry> | undefined>(
    (last, hold) => (last && last.waitMs >= hold.waitMs ? last : hold),
    undefined,
  )
}
