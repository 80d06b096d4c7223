import { describeAmount, describeBytes, formatDecimal } from '../amounts.ts'
import { FAILURE_NAMES, type FailureCause, type FailureError } from '../session/failure.ts'
import type { Delay } from './delay.ts'
import type { RetryRule, RuleMatch } from './policy/policy.ts'
import {
  asksForGpus,
  gpuMemoryOf,
  type Growable,
  type GrowthCause,
  isPreempted,
  type MatchedRule,
  startOf,
} from './policy/rules.ts'
import type { RetryVerdict } from './verdict.ts'
import type { RetryEventData } from '../events.ts'

/** Builders of the explanations that people read. */

/** Error messages are cut to this length. */
const MESSAGE_CHARACTERS_MAX = 200

/** Failures of a program whose message says more than its exit code. */
const EXPLAINED: readonly string[] = ['command-not-found', 'path-read-only']

/** Failures of a program that was ended: its exit code says nothing. */
const TIME_LIMITS: readonly string[] = ['task-timeout', 'gpu-idle', 'no-progress']

/** The words for failures whose name does not explain them. */
const FAILURE_WORDS: Readonly<Record<string, string>> = {
  'kernel-exited': 'failed program',
  'task-timeout': 'timed out',
  'gpu-idle': 'idle GPUs',
  'no-progress': 'hung',
  'oom-killed': 'out of memory',
  'user-cancelled': 'cancelled',
}

/** The words for causes: at the beginning of a sentence, and within one. */
const CAUSE_WORDS: Readonly<Record<FailureCause, readonly [failure: string, noun: string]>> = {
  AGENT_TRANSIENT: ['agent lost', 'the loss of an agent'],
  SCHEDULER_TIMEOUT: ['scheduler timeout', 'a scheduler timeout'],
  IMAGE_PULL_FAILURE: ['image not pulled', 'an image that is not pulled'],
  KERNEL_NONZERO_EXIT: ['failed program', 'a failed program'],
  OOM_KILLED: ['out of memory', 'a lack of memory'],
  UNKNOWN: ['unknown cause', 'an unknown cause'],
  HUNG: ['hung', 'a program that hangs'],
  USER_CANCELLED: ['cancelled', 'a cancelled session'],
  VALIDATION_ERROR: ['invalid', 'an invalid session'],
  QUOTA_EXCEEDED: ['over quota', 'a session over its quota'],
}

/** Returns text such as `a lack of memory`. */
export function describeCause(cause: FailureCause): string {
  return CAUSE_WORDS[cause][1]
}

/** Returns text such as `exit code 137` or `out of memory (used 2.1 GiB of memory, more than its 2 GiB)`. */
export function describeFailure(cause: FailureCause, error: FailureError | null, exitCode: number | null): string {
  const isOwnEnd = error === null || !TIME_LIMITS.includes(error.name)
  if (cause === 'KERNEL_NONZERO_EXIT' && exitCode !== null && isOwnEnd) {
    const reason = error?.verdict?.reason ?? (error !== null && EXPLAINED.includes(error.name) ? error.message : null)
    return reason === null
      ? `exit code ${exitCode}`
      : `exit code ${exitCode} (${reason.slice(0, MESSAGE_CHARACTERS_MAX)})`
  }
  const [words] = CAUSE_WORDS[cause]
  if (error === null) return words
  const { name } = error
  const message = error.message.slice(0, MESSAGE_CHARACTERS_MAX)
  if (!FAILURE_NAMES.includes(name)) return `${words} (${message === '' ? name : `${name}: ${message}`})`
  const failure = FAILURE_WORDS[name] ?? name.replaceAll('-', ' ')
  return message === '' ? failure : `${failure} (${message})`
}

export function describeRule(matched: MatchedRule): string {
  return `rules[${matched.index}] (${matched.rule.action})`
}

const ACTION_WORDS: Readonly<Record<RetryRule['action'], string>> = {
  RETRY: 'is retried',
  RETRY_UNCOUNTED: 'is retried without using up a retry',
  FAIL: 'is not retried',
}

/** Returns text such as `out of memory is retried, mem × 2 up to 64 GiB` or `exit code 1 or 64-78 is not retried`. */
export function ruleInWords(rule: RetryRule): string {
  const { action, delay, scaleResources = [], scaleGpuMemory, scaleTimeout, avoid, exclude } = rule
  const grown = (what: string, factor: number, max: string | undefined) =>
    `${what} × ${factor}${max === undefined ? '' : ` up to ${max}`}`
  const slots = scaleResources.map(({ slot, from, factor, max }) =>
    grown(from === 'PEAK' ? `peak of ${slot}` : slot, factor, max && describeAmount(slot, max)),
  )
  const changes = [
    ...(delay === undefined ? [] : [`after ${seconds(delay * 1000)}`]),
    ...slots,
    ...(scaleGpuMemory
      ? [grown('GPU memory', scaleGpuMemory.factor, scaleGpuMemory.max && describeAmount('mem', scaleGpuMemory.max))]
      : []),
    ...(scaleTimeout
      ? [
          grown(
            'timeout',
            scaleTimeout.factor,
            scaleTimeout.max === undefined ? undefined : seconds(scaleTimeout.max * 1000),
          ),
        ]
      : []),
    ...(avoid === undefined ? [] : [`rather ${avoid === 'AGENT' ? 'on another agent' : 'in another resource group'}`]),
    ...(exclude === undefined ? [] : ['only on another agent']),
  ]
  return [`${matchInWords(rule.match)} ${ACTION_WORDS[action]}`, ...changes].join(', ')
}

function matchInWords({ causes, exitCodes, exitCodesNotIn, reason }: RuleMatch): string {
  const either = (words: readonly (string | number)[]) =>
    [...(words.length > 1 ? [words.slice(0, -1).join(', ')] : []), words.at(-1)].join(' or ')
  const conditions = [
    ...(causes === undefined ? [] : [either(causes.map((cause) => CAUSE_WORDS[cause][0]))]),
    ...(exitCodes === undefined ? [] : [`exit code ${either(exitCodes)}`]),
    ...(exitCodesNotIn === undefined ? [] : [`an exit code other than ${either(exitCodesNotIn)}`]),
    ...(reason === undefined ? [] : [`the reason “${reason}”`]),
  ]
  const [first = 'any failure', ...others] = conditions
  return others.length === 0 ? first : `${first} with ${others.join(' and ')}`
}

/**
 * Returns text such as `75.3 s = 60 s + 15.3 s jitter`, `12.3 s, drawn from 0 s to 60 s` or `5 min (delays[1])`. `entry`:
 * the position in the table of delays; null if the delay is not from there.
 */
export function describeDelay(delay: Delay, entry: number | null): string {
  return `${describeSum(delay)}${entry === null ? '' : ` (delays[${entry}])`}`
}

function describeSum({ baseMs, jitterMs, delayMs, ceilingMs, drawn }: Delay): string {
  if (drawn && drawn.fromMs < drawn.toMs) {
    return `${seconds(delayMs)}, drawn from ${seconds(drawn.fromMs)} to ${seconds(drawn.toMs)}`
  }
  if (baseMs + jitterMs > ceilingMs) return `${seconds(delayMs)}, the ceiling`
  if (jitterMs === 0) return seconds(delayMs)
  return `${seconds(delayMs)} = ${seconds(baseMs)} + ${seconds(jitterMs)} jitter`
}

/** Returns text such as `mem 2 GiB → 2.6 GiB, timeout 60 s → 78 s`; empty if nothing grew. */
export function describeGrowth(before: Growable, after: Growable): string {
  const slots = [...new Set([...Object.keys(before.resourceSlots), ...Object.keys(after.resourceSlots)])]
  const amount = (slot: string, of: string | undefined) => (of === undefined ? 'none' : describeAmount(slot, of))
  const changes = slots
    .map((slot) => ({ slot, from: before.resourceSlots[slot], to: after.resourceSlots[slot] }))
    .filter(({ from, to }) => from !== to)
    .map(({ slot, from, to }) => `${slot} ${amount(slot, from)} → ${amount(slot, to)}`)
  changes.push(...describeGpuChange(before, after))
  if (after.batchTimeout !== before.batchTimeout) {
    const [from, to] = [before, after].map(({ batchTimeout }) =>
      batchTimeout === null ? 'none' : seconds(batchTimeout * 1000),
    )
    changes.push(`timeout ${from} → ${to}`)
  }
  return changes.join(', ')
}

/** The memory of a session that asked for none is that of the GPU that it had. */
function describeGpuChange(before: Growable, after: Growable): string[] {
  const [from, to] = [before, after].map(({ gpuNeed }) => gpuNeed ?? { model: null, memoryBytes: null })
  const bytes = (value: number | null) => (value === null ? 'any' : describeBytes(value))
  return [
    ...(from!.model === to!.model ? [] : [`GPU model ${from!.model ?? 'any'} → ${to!.model ?? 'any'}`]),
    ...(from!.memoryBytes === to!.memoryBytes
      ? []
      : [`GPU memory ${bytes(gpuMemoryOf(before))} → ${bytes(to!.memoryBytes)}`]),
  ]
}

/** Names the peaks from which a rule lets slots grow, and explains that nothing grows after a preemption. */
export function describePeaks(
  session: Growable,
  rule: Pick<RetryRule, 'scaleResources' | 'scaleGpuMemory' | 'scaleTimeout'> | undefined,
  failed: GrowthCause,
): string {
  if (rule === undefined) return ''
  if (isPreempted(failed)) {
    const grows = [rule.scaleResources, rule.scaleGpuMemory, rule.scaleTimeout].some((growth) => growth !== undefined)
    return grows ? 'nothing grows after a preemption' : ''
  }
  const growths = (rule.scaleResources ?? []).filter(({ slot }) => Object.hasOwn(session.resourceSlots, slot))
  return growths
    .flatMap((growth) => {
      const start = startOf(session, growth)
      if (start.kind === 'request') return []
      if (start.kind === 'unknown') return [`its peak of ${growth.slot} is not known`]
      const peak = describeAmount(growth.slot, formatDecimal(start.amount))
      return [`its peak of ${growth.slot} was ${peak}${start.kind === 'limited' ? ', at the limit' : ''}`]
    })
    .join('; ')
}

/** Explains why a rule cannot grow the GPU memory of a session that asks for GPUs; empty if it can, or has not to. */
export function describeUnknownGpuMemory(
  session: Growable,
  rule: Pick<RetryRule, 'scaleGpuMemory'> | undefined,
): string {
  if (rule?.scaleGpuMemory === undefined || !asksForGpus(session) || gpuMemoryOf(session) !== null) return ''
  return 'GPU memory cannot grow: the session asks for no amount, and that of its GPUs is not known'
}

/** Returns text such as `avoids resource group g1; excludes agent a1`: where a rule says that the retry does not run. */
export function describePlaces(
  { avoid, exclude }: Pick<RetryVerdict, 'avoid' | 'exclude'>,
  rule: Pick<RetryRule, 'avoid'> | undefined,
  agentNames: Readonly<Record<string, string>>,
): string {
  const named = (verb: string, noun: string, places: readonly string[]) =>
    places.length === 0 ? [] : [`${verb} ${noun} ${places.join(', ')}`]
  const names = (ids: readonly string[]) => ids.map((id) => agentNames[id] ?? id)
  return [
    ...named('avoids', 'resource group', avoid.groups),
    // Agents that were avoided before are listed again only to move to the end.
    ...named('avoids', 'agent', rule?.avoid === 'AGENT' ? names(avoid.agents) : []),
    ...named('excludes', 'agent', names(exclude.agents)),
  ].join('; ')
}

/** Returns where a retry runs that avoids its resource group; null if it does not avoid it. */
export function describeGroupChange(
  retry: { resourceGroup: string },
  child: { avoidGroups: readonly string[]; resourceGroup: string },
): string | null {
  if (!child.avoidGroups.includes(retry.resourceGroup)) return null
  return child.resourceGroup === retry.resourceGroup
    ? `stays in resource group ${child.resourceGroup}, because no other could run it`
    : `moves to resource group ${child.resourceGroup}`
}

/** Returns text such as `90 s`, and from ten minutes on `15 min` or `1 h 0.4 s`. Exact to the millisecond. */
export function seconds(ms: number): string {
  if (ms < LONG_MS) return `${ms / 1000} s`
  const [hours, minutes] = [Math.floor(ms / HOUR_MS), Math.floor((ms % HOUR_MS) / MINUTE_MS)]
  const rest = (ms % MINUTE_MS) / 1000
  const parts = [hours > 0 && `${hours} h`, minutes > 0 && `${minutes} min`, rest > 0 && `${rest} s`]
  return parts.filter((part) => part !== false).join(' ')
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
/** People count shorter times in seconds. */
const LONG_MS = 10 * MINUTE_MS

interface Attempt {
  retryCount: number
  maxRetries: number
}

interface Planned {
  cause: FailureCause | null
  delayMs: number | null
  dueAt: Date | null
}

/** Builds the data of an event about a decision; fields that are unknown or do not apply are null. */
export function retryEventData(
  session: Attempt,
  { cause, delayMs, dueAt }: Planned,
  { childSessionId = null, reason }: { childSessionId?: string | null; reason: string },
): RetryEventData {
  return {
    attempt: session.retryCount + 1,
    maxAttempts: session.maxRetries + 1,
    cause,
    delaySeconds: delayMs === null ? null : delayMs / 1000,
    scheduledAt: dueAt?.toISOString() ?? null,
    childSessionId,
    reason,
  }
}

/** Builds the data of an event about a queued retry; null if its policy disables retry events. */
export function queuedRetryEventData(
  retry: Attempt & Planned & { retryPolicy: { emitRetryEvents?: boolean } },
  outcome: { childSessionId?: string; reason: string },
): RetryEventData | null {
  return (retry.retryPolicy.emitRetryEvents ?? true) ? retryEventData(retry, retry, outcome) : null
}

/** The text that is appended to the explanation of a decision whose retry a person cancels. */
export function retryCancelledBy(name: string, reason?: string | null): string {
  return `cancelled by ${name}${reason ? `: ${reason}` : ''}`
}
