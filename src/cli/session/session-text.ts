import type { Attempt, Session, SessionSummary } from '../../client/node/index.ts'
import { exitStatus } from '../exit-codes.ts'
import { binaryBytes, counted, duration } from '../output/format.ts'

type Ended = Pick<
  SessionSummary,
  | 'status'
  | 'exitCode'
  | 'failureCause'
  | 'failureReason'
  | 'statusReason'
  | 'pendingReason'
  | 'progress'
  | 'result'
  | 'timedOut'
  | 'batchTimeout'
>

/** Words for failures whose name does not explain them. */
const REASONS: Readonly<Record<string, string>> = {
  'kernel-exited': 'failed program',
  'oom-killed': 'out of memory',
  'user-cancelled': 'cancelled',
}

/** Words for causes; a failure of an unknown name has only its cause. */
const CAUSES: Readonly<Record<NonNullable<SessionSummary['failureCause']>, string>> = {
  AGENT_TRANSIENT: 'agent lost',
  SCHEDULER_TIMEOUT: 'scheduler timeout',
  IMAGE_PULL_FAILURE: 'image not pulled',
  KERNEL_NONZERO_EXIT: 'failed program',
  OOM_KILLED: 'out of memory',
  UNKNOWN: 'unknown cause',
  HUNG: 'hung',
  USER_CANCELLED: 'cancelled',
  VALIDATION_ERROR: 'invalid',
  QUOTA_EXCEEDED: 'over quota',
}

/** Returns `exit code 1`, `out of memory`, or the reason why it is waiting; empty if there is nothing to report. */
export function outcomeOf(ended: Ended): string {
  const { status, exitCode, failureCause, failureReason, statusReason, pendingReason, result } = ended
  if (result === 'SUCCESS') return 'succeeded'
  if (ended.timedOut) return timeoutWords(ended)
  if (failureCause !== null) {
    if (exitCode !== null && failureReason === 'kernel-exited') return `exit code ${exitCode}`
    if (failureReason === null || failureReason === '') return CAUSES[failureCause]
    return REASONS[failureReason] ?? failureReason.replaceAll('-', ' ')
  }
  if (status === 'PENDING') return pendingReason?.replace(/^impossible: /, '') ?? ''
  return (status === 'RUNNING' ? ended.progress : null) ?? statusReason ?? ''
}

/** `timed out after 2 s` */
function timeoutWords({ batchTimeout }: Pick<Ended, 'batchTimeout'>): string {
  return batchTimeout === null ? 'timed out' : `timed out after ${duration(batchTimeout)}`
}

/**
 * Returns the status for people: a session that ended by itself without failing has succeeded, and one that waits in
 * vain is impossible.
 */
export function statusWord({
  status,
  result,
  impossible,
}: Pick<SessionSummary, 'status' | 'result' | 'impossible'>): string {
  if (impossible) return 'IMPOSSIBLE'
  return status === 'TERMINATED' && result === 'SUCCESS' ? 'SUCCEEDED' : status
}

/** Returns the phase of its retry; null while nothing has been decided. */
export function phaseWord({ retryState: { phase } }: Pick<SessionSummary, 'retryState'>): string | null {
  return phase === 'UNDECIDED' ? null : phase
}

/**
 * Names an attempt by its position in the chain, and the retries of its budget: `attempt 6 · retry 1 of 2`, or `attempt
 * 1 · up to 2 retries` before the first of them.
 */
export function attemptWords({
  attempt,
  retryCount,
  retryState: { maxAttempts },
}: Pick<SessionSummary, 'attempt' | 'retryCount'> & { retryState: { maxAttempts: number } }): string {
  const maxRetries = maxAttempts - 1
  if (retryCount > 0) return `attempt ${attempt} · retry ${retryCount} of ${maxRetries}`
  if (maxRetries === 0) return `attempt ${attempt}`
  return `attempt ${attempt} · up to ${counted(maxRetries, 'retry', 'retries')}`
}

type Ran = Pick<SessionSummary, 'startedAt' | 'terminatedAt'> & { usage: { wallSeconds: number | null } | null }

/**
 * Formats how long it ran, as its agent measured it, or has been running. Without a measurement the server only knows
 * when it learned of the end, which may be late after an outage.
 */
export function ranFor({ startedAt, terminatedAt, usage }: Ran): string {
  if (!startedAt) return '–'
  if (terminatedAt && usage?.wallSeconds != null) return duration(usage.wallSeconds)
  // The server's clock may be ahead of this machine's.
  const milliseconds = (terminatedAt ? Date.parse(terminatedAt) : Date.now()) - Date.parse(startedAt)
  return `${terminatedAt ? 'at most ' : ''}${duration(Math.max(0, milliseconds) / 1000)}`
}

/** Explains why it was, will be or is not retried, as stored by the server. */
export function whyRetried(attempt: Pick<Attempt, 'retryDecision' | 'retryState'>): string | null {
  const { phase, reason } = attempt.retryState
  // Only the state has who holds it.
  return phase === 'HELD' ? reason : (attempt.retryDecision?.explanation ?? reason)
}

/** Exit status of a program ended by a signal: this plus the signal's number. */
const SIGNALLED = 128

/** Returns the exit status for work whose last attempt is this one. */
export function workStatus({ result, exitCode }: Pick<SessionSummary, 'result' | 'exitCode'>): number {
  if (result === 'SUCCESS') return 0
  if (exitCode === null || exitCode === 0) return exitStatus('NO_STATUS')
  return exitCode < 0 ? SIGNALLED - exitCode : exitCode
}

/** Returns the exit status for several pieces of work: the work's own for one, otherwise whether all succeeded. */
export function worksStatus(last: readonly Pick<SessionSummary, 'result' | 'exitCode'>[]): number {
  if (last.length === 1) return workStatus(last[0]!)
  return last.every(({ result }) => result === 'SUCCESS') ? 0 : exitStatus('FAILED')
}

type Used = Pick<NonNullable<Attempt['usage']>, 'cpuSeconds' | 'peakMemoryBytes'> & { source?: string }

/** Formats the usage: `1.2 s CPU, 104 MiB`. Figures that are sums over processes are marked as approximate. */
export function formatUsage({ cpuSeconds, peakMemoryBytes, source }: Used): string | null {
  const words = [
    cpuSeconds === null ? null : `${duration(cpuSeconds)} CPU`,
    peakMemoryBytes === null ? null : binaryBytes(peakMemoryBytes),
  ].filter((each) => each !== null)
  if (words.length === 0) return null
  return `${source === 'PROCESSES' ? 'about ' : ''}${words.join(', ')}`
}

/** Formats the usage of GPUs: `2.1 GPU h, at most 31 GiB, 74 % busy (peak 100 %), 1.2 MJ`. */
export function formatGpuUsage(used: NonNullable<Session['gpuUsage']>): string {
  const { peakMemoryBytes, meanUtilization, peakUtilization, energyJoules, gpuSeconds } = used
  const percent = (share: number) => `${Math.round(share * 100)} %`
  const peak = peakUtilization === null ? '' : ` (peak ${percent(peakUtilization)})`
  return [
    `${duration(gpuSeconds)} of GPU time`,
    peakMemoryBytes === null ? null : `at most ${binaryBytes(peakMemoryBytes)}`,
    meanUtilization === null ? null : `${percent(meanUtilization)} busy${peak}`,
    energyJoules === null ? null : `${Math.round(energyJoules / 1000)} kJ`,
  ]
    .filter((each) => each !== null)
    .join(', ')
}
