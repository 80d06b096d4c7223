import type { SessionType } from '../session/lifecycle.ts'
import type { RetryPolicy } from './policy/policy.ts'
import { NO_WISH, type ProgramWish } from './classify.ts'
import type { MatchedRule } from './policy/rules.ts'
import { BREAKER_PROBE_MIN_MS, HELD_RECHECK_MS } from '../limits.ts'
import type { Owner, PendingPlaces, QuotaScope } from '../quota.ts'
import type { HoldReason } from '../session/failure.ts'
import type { RetryScope } from './policy/resolve-policy.ts'

interface BudgetedSession {
  retryCount: number
  uncountedRetries: number
  maxRetries: number
  startedAt: Date | null
  epochStartedAt: Date
}

/**
 * Number of retries that a session may use. Only batch sessions are retried; for others it is 0, even if they have
 * inherited a policy.
 */
export function budgetOf(session: { sessionType: SessionType; maxRetries: number }): number {
  return session.sessionType === 'BATCH' ? session.maxRetries : 0
}

type Budget =
  /** `ordinal` is text such as `retry 2 of 5`. */
  { left: true; counted: boolean; ordinal: string } | { left: false; counted: boolean; reason: string }

/**
 * Judges whether a retry is left. A counted retry needs budget. An uncounted one is limited only by its own bound, even
 * if the budget is used up.
 */
export function judgeBudget(
  policy: Pick<RetryPolicy, 'countPreStartFailures' | 'maxUncountedRetries' | 'maxElapsed'>,
  session: BudgetedSession,
  matched: MatchedRule | null,
  dueAt: Date,
  wish: Pick<ProgramWish, 'retry'> = NO_WISH,
): Budget {
  const counted = isCounted(policy, session, matched, wish)
  const [used, max] = counted
    ? [session.retryCount, session.maxRetries]
    : [session.uncountedRetries, policy.maxUncountedRetries]
  const noun = `${counted ? '' : 'uncounted '}${max === 1 ? 'retry' : 'retries'}`
  if (used >= max) return { left: false, counted, reason: `${used} of ${max} ${noun} used` }
  if (isTooLate(policy.maxElapsed, session.epochStartedAt, dueAt)) {
    const reason = `the next would start later than ${policy.maxElapsed} s after the first attempt`
    return { left: false, counted, reason }
  }
  return { left: true, counted, ordinal: `${counted ? 'retry' : 'uncounted retry'} ${used + 1} of ${max}` }
}

function isCounted(
  policy: Pick<RetryPolicy, 'countPreStartFailures'>,
  session: BudgetedSession,
  matched: MatchedRule | null,
  wish: Pick<ProgramWish, 'retry'>,
): boolean {
  if (matched?.rule.action === 'RETRY_UNCOUNTED') return false
  // The program's verdict decides only if no rule matched.
  if (matched === null && wish.retry === 'uncounted') return false
  return policy.countPreStartFailures || session.startedAt !== null
}

/** Whether a retry that starts at this time would start later than `maxElapsed` (seconds) allows. */
export function isTooLate(maxElapsed: number | null, epochStartedAt: Date, startsAt: Date): boolean {
  return maxElapsed !== null && startsAt.getTime() > epochStartedAt.getTime() + maxElapsed * 1000
}

/** The switch that holds a retry, as it was when the retry was last checked. Times are in ISO 8601, as it is stored. */
export interface HoldingSwitch {
  scope: RetryScope
  /** Null for the cluster. */
  name: string | null
  /** Who set it, when, and why; null if its value came back because a temporary one expired. */
  by: string | null
  reason: string | null
  since: string | null
  /** When it ends by itself; null if it does not. */
  until: string | null
}

/** The retry switch of one scope, as in force now. */
export interface RetrySwitch {
  scope: RetryScope
  /** The projects of the batch's retries that the scope covers. */
  projectIds: readonly string[]
  disabled: boolean
  /** Time until this kill switch ends by itself; null if it does not. */
  disabledForMs: number | null
  rateLimit: RateLimit | null
  /** Time until this rate limit ends by itself; null if it does not. */
  limitForMs: number | null
  tokens: number
  /** What is shown of the kill switch, and of the rate limit. */
  shown: Readonly<Record<'disabled' | 'rateLimit', HoldingSwitch>>
}

/** A token bucket. */
export interface RateLimit {
  perSecond: number
  burst: number
}

/** Number of tokens in the bucket after this many seconds. A clock that was set back removes none. */
export function refill({ perSecond, burst }: RateLimit, tokens: number, seconds: number): number {
  return Math.min(burst, tokens + Math.max(0, seconds) * perSecond)
}

export interface Admissible extends Owner {
  /** Milliseconds until every kernel of the failed attempt is certain to be gone; 0 if all are. */
  parentAliveMs: number
  /** The group of its failure, if the breaker of that group is open. */
  breakerId: string | null
}

/** The open breaker of a group of failures: its retries are held, but for single probes at growing intervals. */
export interface OpenBreaker {
  groupId: string
  /** Time until the next probe may go; 0 if it may go now. */
  nextProbeInMs: number
  /** What is shown of it. */
  shown: HoldingSwitch
}

/** A retry that may not be dispatched yet. */
export interface Hold<Retry> {
  retry: Retry
  reason: HoldReason
  /**
   * The scope of the setting (retries switched off, rate limit) or of the quota that holds the retry; null if the
   * reason concerns this retry alone.
   */
  scope: RetryScope | QuotaScope | null
  /** The switch that holds it; null if none does. */
  heldBy: HoldingSwitch | null
  /** The least time to wait. */
  waitMs: number
  rateLimit: RateLimit | null
  /** Time until the rate limit ends by itself; null if it does not. */
  limitForMs: number | null
}

export interface Admission<Retry, Switch extends RetrySwitch> {
  go: Retry[]
  held: Hold<Retry>[]
  /** Tokens left in the buckets of all rate limits. */
  left: Map<Switch, number>
  /** The retries that go as probes, by the group of their failure. */
  probes: Map<string, Retry>
}

/**
 * Decides which of the due retries may be dispatched, in the given order. A retry is held by a kill switch of any
 * scope, by a parent that may still be alive, by an open breaker whose next probe it is not, and by a quota without a
 * place for another pending session. A dispatched retry takes one place of every quota and one token of every rate limit
 * that applies to it; if one of them has none, it takes nothing from any.
 */
export function admit<Retry extends Admissible, Switch extends RetrySwitch>(
  retries: readonly Retry[],
  switches: readonly Switch[],
  places: PendingPlaces,
  breakers: ReadonlyMap<string, OpenBreaker> = new Map(),
): Admission<Retry, Switch> {
  const byProject = switchesByProject(switches)
  const buckets = new Map(switches.filter(({ rateLimit }) => rateLimit).map((found) => [found, found.tokens]))
  const queued = new Map<Switch, number>()
  const probes = new Map<string, Retry>()
  const next = new Set<string>()
  const go: Retry[] = []
  const held: Hold<Retry>[] = []
  for (const retry of retries) {
    const here = byProject.get(retry.projectId) ?? []
    const limits = here.filter(({ rateLimit }) => rateLimit !== null)
    const breaker = retry.breakerId === null ? undefined : breakers.get(retry.breakerId)
    const hold =
      disabledHere(here, retry) ??
      parentAlive(retry) ??
      breakerOpen(breaker, retry, { probes, next }) ??
      quotaFull(places, retry) ??
      rateLimited(limits, retry, buckets, queued)
    if (hold) held.push(hold)
    else {
      go.push(retry)
      if (breaker) probes.set(breaker.groupId, retry)
      places.take(retry)
      for (const limit of limits) buckets.set(limit, buckets.get(limit)! - 1)
    }
  }
  return { go, held, left: buckets, probes }
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
  const { scope, shown } = longest
  return { retry, reason: 'DISABLED', scope, heldBy: shown.disabled, waitMs, rateLimit: null, limitForMs: null }
}

function endOf({ disabledForMs }: RetrySwitch): number {
  return disabledForMs ?? Infinity
}

function parentAlive<Retry extends Admissible>(retry: Retry): Hold<Retry> | undefined {
  const waitMs = retry.parentAliveMs
  if (waitMs === 0) return undefined
  return { retry, reason: 'PARENT_ALIVE', scope: null, heldBy: null, waitMs, rateLimit: null, limitForMs: null }
}

/**
 * Holds a retry unless it may go as the next probe. The first that is held becomes due when the probe after that may go;
 * the others are moved forward when the breaker closes.
 */
function breakerOpen<Retry>(
  breaker: OpenBreaker | undefined,
  retry: Retry,
  { probes, next }: { probes: ReadonlyMap<string, unknown>; next: Set<string> },
): Hold<Retry> | undefined {
  if (breaker === undefined) return undefined
  const { groupId, nextProbeInMs, shown } = breaker
  if (nextProbeInMs <= 0 && !probes.has(groupId)) return undefined
  const probeInMs = nextProbeInMs > 0 ? nextProbeInMs : BREAKER_PROBE_MIN_MS
  const waitMs = next.has(groupId) ? HELD_RECHECK_MS : probeInMs
  next.add(groupId)
  return { retry, reason: 'BREAKER', scope: shown.scope, heldBy: shown, waitMs, rateLimit: null, limitForMs: null }
}

/**
 * Holds a retry whose quota is full. A freed place moves the retry forward at once, so it is not checked in the
 * meantime.
 */
function quotaFull<Retry extends Admissible>(places: PendingPlaces, retry: Retry): Hold<Retry> | undefined {
  const full = places.fullFor(retry)
  if (!full) return undefined
  const waitMs = HELD_RECHECK_MS
  return { retry, reason: 'QUOTA', scope: full.scope, heldBy: null, waitMs, rateLimit: null, limitForMs: null }
}

/** Holds a retry by the rate limit whose next free token comes last. */
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
      const { scope, rateLimit, limitForMs, shown } = limit
      return { retry, reason: 'RATE_LIMITED', scope, heldBy: shown.rateLimit, waitMs, rateLimit, limitForMs }
    })
  return holds.reduce<Hold<Retry> | undefined>(
    (last, hold) => (last && last.waitMs >= hold.waitMs ? last : hold),
    undefined,
  )
}
