import { RETRY_DELAY_CEILING_MS } from '../../limits.ts'
import { ELIGIBLE_CAUSES, type EligibleCause, type FailureCause } from '../../session/causes.ts'
import type { ExitCodes } from './exit-codes.ts'

export const BACKOFFS = ['FIXED', 'EXPONENTIAL'] as const
export type Backoff = (typeof BACKOFFS)[number]

export const JITTERS = ['NONE', 'DETERMINISTIC', 'RANDOM', 'FULL', 'DECORRELATED'] as const
export type Jitter = (typeof JITTERS)[number]

export const RULE_ACTIONS = ['RETRY', 'RETRY_UNCOUNTED', 'FAIL'] as const
export type RuleAction = (typeof RULE_ACTIONS)[number]

export const AVOIDANCES = ['AGENT', 'RESOURCE_GROUP'] as const
export type Avoidance = (typeof AVOIDANCES)[number]

export const EXCLUSIONS = ['AGENT'] as const
export type Exclusion = (typeof EXCLUSIONS)[number]

/** A resolved policy, as a session stores it. Durations are in seconds. */
export interface RetryPolicy {
  /** Total attempts = 1 + maxRetries. */
  maxRetries: number
  retryDelay: number
  backoff: Backoff
  backoffMultiplier: number
  /** Null means the hard ceiling. */
  maxRetryDelay: number | null
  jitter: Jitter
  jitterRatio: number
  eligibleCauses: EligibleCause[]
  emitRetryEvents: boolean
  /** No retry starts later than this after the epoch's first attempt was created. */
  maxElapsed: number | null
  /** If false, an attempt whose user code never started does not use up the budget. */
  countPreStartFailures: boolean
  /** Per epoch. */
  maxUncountedRetries: number
  /** Follow what programs ask for in their verdict files. Their reasons are shown and matched in any case. */
  trustVerdicts: boolean
  /** Ordered; the first match decides. */
  rules: RetryRule[]
}

export interface RetryRule {
  match: RuleMatch
  action: RuleAction
  /** Seconds; replaces the formula's base. */
  delay?: number
  scaleResources?: SlotGrowth[]
  scaleTimeout?: TimeoutGrowth
  /** A wish: the place is used all the same if there is no other. */
  avoid?: Avoidance
  /** A condition: the retry waits rather than go there. */
  exclude?: Exclusion
}

/** All given conditions must match; an empty match matches every failure. */
export interface RuleMatch {
  causes?: FailureCause[]
  exitCodes?: ExitCodes[]
  exitCodesNotIn?: ExitCodes[]
  /** Glob with `*` and `?` over the whole reason. */
  reason?: string
}

export interface SlotGrowth {
  slot: string
  factor: number
  /** Plain decimal text; unbounded if absent. */
  max?: string
}

export interface TimeoutGrowth {
  factor: number
  /** Seconds. */
  max?: number
}

export const SHIPPED_POLICY: Readonly<RetryPolicy> = {
  maxRetries: 0,
  retryDelay: 60,
  backoff: 'FIXED',
  backoffMultiplier: 2,
  maxRetryDelay: 3600,
  jitter: 'DETERMINISTIC',
  jitterRatio: 0.25,
  eligibleCauses: [...ELIGIBLE_CAUSES],
  emitRetryEvents: true,
  maxElapsed: null,
  countPreStartFailures: true,
  maxUncountedRetries: 10,
  trustVerdicts: true,
  rules: [],
}

/** The longest delay under this policy, in whole milliseconds. */
export function delayCeilingMs(policy: Pick<RetryPolicy, 'maxRetryDelay'>): number {
  if (policy.maxRetryDelay === null) return RETRY_DELAY_CEILING_MS
  return Math.min(Math.round(policy.maxRetryDelay * 1000), RETRY_DELAY_CEILING_MS)
}
