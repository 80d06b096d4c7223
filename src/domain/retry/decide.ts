import type { FailureError } from '../session/failure.ts'
import type { SessionOrigin, SessionResult, SessionType } from '../session/lifecycle.ts'
import { judgeBudget } from './admit.ts'
import {
  type Classification,
  classifyFailure,
  type FinishedSession,
  judgeEligibility,
  programWish,
} from './classify.ts'
import { computeDelay, type Delay, tableIndex } from './delay.ts'
import {
  describeDelay,
  describeFailure,
  describeGrowth,
  describePeaks,
  describePlaces,
  describeRule,
  describeUnknownGpuMemory,
} from './explain.ts'
import { applyGrowth, firstMatch, type Growable, isPreempted, type MatchedRule } from './policy/rules.ts'
import type { RetryPolicy, RetryRule } from './policy/policy.ts'
import { readStoredPolicy } from './policy/stored-policy.ts'
import { type ChildSize, type RetryVerdict, verdict } from './verdict.ts'

const UUID = /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/

/** The facts about a finished session that the decision needs. */
export interface DecidedSession extends FinishedSession, FailedSession, Growable {
  id: string
  result: SessionResult
  sessionType: SessionType
  origin: SessionOrigin
  retryCount: number
  uncountedRetries: number
  maxRetries: number
  attempt: number
  exitCode: number | null
  statusReason: string | null
  statusData: unknown
  /** Missing means false. */
  neverRunTwice?: boolean
  /** Null if its user code never started. */
  startedAt: Date | null
  terminatedAt: Date
  epochStartedAt: Date
  /** The delay before this session. Null if the session is not a retry, or if its policy does not use the delay. */
  delayBeforeMs: number | null
  resourceSlots: Record<string, string>
}

export interface DecisionInput {
  session: DecidedSession
  /** As stored with the session. If it is no longer valid, the session is not retried. */
  policy: unknown
  now: Date
  /** In [0, 1). */
  random: number
}

/** Makes the decision about a finished session. Pure and total: the same input gives the same verdict. */
export function decideRetry({ policy, ...input }: DecisionInput): RetryVerdict {
  return decideUnder({ ...input, policy: readStoredPolicy(policy) })
}

/** The decision, under a policy that has been read already: a policy, or why it cannot be followed. */
export function decideUnder(input: Omit<DecisionInput, 'policy'> & { policy: RetryPolicy | string }): RetryVerdict {
  const { session, policy, now, random } = input
  const mayEmit = typeof policy === 'string' || policy.emitRetryEvents
  if (session.result === 'SUCCESS') return succeeded(session, mayEmit)

  const classified = classifyFailure(session, session.statusData)
  const cause = classified.kind === 'cause' ? classified.cause : null
  const failure = describe(session, classified)
  const notRetried = (phase: 'NONE' | 'NOT_ELIGIBLE', why: string, matchedRule: number | null = null) =>
    verdict(phase, { cause, matchedRule, explanation: `not retried: ${failure}; ${why}` })
  if (session.sessionType !== 'BATCH') return notRetried('NONE', `${session.sessionType} sessions never are`)
  if (session.neverRunTwice) return notRetried('NONE', 'it must never run twice (neverRunTwice)')
  if (session.maxRetries === 0) return notRetried('NONE', 'maxRetries is 0')
  if (classified.kind === 'malformed') return notRetried('NOT_ELIGIBLE', 'a failure that cannot be classified never is')
  if (typeof policy === 'string') return notRetried('NOT_ELIGIBLE', policy)

  const facts = {
    cause: classified.cause,
    exitCode: session.exitCode ?? classified.error?.exitCode ?? null,
    reasons: reasonsOf(session, classified.error),
  }
  const matched = firstMatch(policy.rules, facts)
  const wish = programWish(policy, classified.error)
  const eligibility = judgeEligibility(policy, facts.cause, matched, wish)
  if (!eligibility.eligible) {
    const asked = wish.note === '' || wish.retry === 'no' ? '' : `${wish.note}; `
    return notRetried('NOT_ELIGIBLE', `${asked}${eligibility.reason}`, eligibility.byRule ? matched!.index : null)
  }

  const { id: sessionId, retryCount } = session
  const baseSeconds = wish.delaySeconds ?? matched?.rule.delay
  const delay = computeDelay({
    policy,
    sessionId,
    retryCount,
    random,
    baseSeconds,
    delayBeforeMs: session.delayBeforeMs,
  })
  const dueAt = new Date(now.getTime() + delay.delayMs)
  const budget = judgeBudget(policy, session, matched, dueAt, wish)
  const common = { cause, matchedRule: matched?.index ?? null, counted: budget.counted }
  if (!budget.left) {
    const explanation = `retries exhausted: ${budget.reason}; ${withRule(failure, matched)}`
    return verdict('EXHAUSTED', { ...common, explanation, emit: mayEmit ? 'session.retry_exhausted' : null })
  }
  const { error } = classified
  const { ordinal } = budget
  const entry = baseSeconds === undefined && policy.delays !== null ? tableIndex(policy.delays, retryCount) : null
  const planned = { common, matched, delay, entry, dueAt, failure, error, exitCode: facts.exitCode, ordinal }
  return scheduled(session, policy, { ...planned, note: wish.note })
}

interface Planned {
  common: Pick<RetryVerdict, 'cause' | 'matchedRule' | 'counted'>
  matched: MatchedRule | null
  delay: Delay
  /** Position in the table of delays, from 0; null if the delay is not from there. */
  entry: number | null
  dueAt: Date
  failure: string
  error: FailureError | null
  exitCode: number | null
  ordinal: string
  /** Describes the retry that the session's program asked for in its verdict file; empty if it asked for none. */
  note: string
}

function scheduled(session: DecidedSession, policy: RetryPolicy, planned: Planned): RetryVerdict {
  const { common, matched, delay, entry, dueAt } = planned
  const failed = { name: planned.error?.name ?? null, exitCode: planned.exitCode }
  const after: Growable = matched ? applyGrowth(session, matched.rule, failed) : session
  const grew = describeGrowth(session, after)
  const places = failedPlaces(session, matched?.rule, planned.error)
  const parts = [
    withRule(planned.failure, matched),
    planned.note,
    grew,
    describePeaks(session, matched?.rule, failed),
    describeUnknownGpuMemory(session, isPreempted(failed) ? undefined : matched?.rule),
    describePlaces(places, matched?.rule, session.agentNames ?? {}),
    `waits ${describeDelay(delay, entry)}`,
  ]
  return verdict('SCHEDULED', {
    ...common,
    baseMs: delay.baseMs,
    jitterMs: delay.jitterMs,
    delayMs: delay.delayMs,
    dueAt,
    explanation: `${planned.ordinal}: ${parts.filter((part) => part !== '').join('; ')}`,
    growth: grew === '' ? null : childSize(after),
    ...places,
    emit: policy.emitRetryEvents ? 'session.retry_scheduled' : null,
  })
}

/** The part of grown values that a decision stores. */
export function childSize({ resourceSlots, batchTimeout, gpuNeed }: Growable): ChildSize {
  return { resourceSlots: { ...resourceSlots }, batchTimeout, gpuNeed }
}

function succeeded(session: DecidedSession, mayEmit: boolean): RetryVerdict {
  const byRetry = session.origin === 'AUTO_RETRY'
  return verdict('SUCCEEDED', {
    explanation: `succeeded on attempt ${session.attempt}`,
    emit: byRetry && mayEmit ? 'session.retry_succeeded' : null,
  })
}

function describe(session: DecidedSession, classified: Classification): string {
  if (classified.kind === 'malformed') return classified.message
  if (session.terminatedBy !== null) return `ended by ${session.terminatedBy}`
  if (classified.error?.name === 'task-timeout' && session.batchTimeout !== null) {
    return `timed out after ${session.batchTimeout} s`
  }
  const exitCode = session.exitCode ?? classified.error?.exitCode ?? null
  return describeFailure(classified.cause, classified.error, exitCode)
}

/** All texts that the glob of a rule is matched against. */
function reasonsOf(session: DecidedSession, error: FailureError | null): string[] {
  return [session.statusReason, error?.name, error?.verdict?.reason].filter((reason) => typeof reason === 'string')
}

function withRule(failure: string, matched: MatchedRule | null): string {
  return matched ? `${failure} matched ${describeRule(matched)}` : failure
}

interface FailedSession {
  /** The agents whose kernels failed in this attempt. */
  failedAgents: string[]
  /** The names of its agents, by id; may be missing if no rule concerns agents. */
  agentNames?: Readonly<Record<string, string>> | null
  avoidAgents: string[]
  resourceGroup: string
}

/**
 * Lists the places that the retry avoids and excludes from now on. An avoided agent that fails again is listed even if
 * the rule avoids no agents: it moves to the end of the child's list, and so is chosen last.
 */
function failedPlaces(
  session: FailedSession,
  rule: RetryRule | undefined,
  error: FailureError | null,
): Pick<RetryVerdict, 'avoid' | 'exclude'> {
  const named = error?.agentId !== undefined && UUID.test(error.agentId) ? [error.agentId] : []
  const agents = [...new Set([...session.failedAgents, ...named])]
  return {
    avoid: {
      agents: rule?.avoid === 'AGENT' ? agents : agents.filter((id) => session.avoidAgents.includes(id)),
      groups: rule?.avoid === 'RESOURCE_GROUP' ? [session.resourceGroup] : [],
    },
    exclude: { agents: rule?.exclude === 'AGENT' ? agents : [] },
  }
}
