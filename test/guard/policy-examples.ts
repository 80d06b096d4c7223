import { type DecidedSession, decideRetry } from '../../src/domain/retry/decide.ts'
import { delayBounds } from '../../src/domain/retry/delay.ts'
import { parseRetryPolicy } from '../../src/domain/retry/policy/stored-policy.ts'
import type { RetryPolicy } from '../../src/domain/retry/policy/policy.ts'
import { resolvePolicy } from '../../src/domain/retry/policy/resolve-policy.ts'
import type { RetryVerdict } from '../../src/domain/retry/verdict.ts'
import { describeAmount, describeBytes, parseAmount } from '../../src/domain/amounts.ts'
import { ENDED_AT, failedSession } from '../unit/retry/sessions.ts'

/** The lines of examples in docs/retry-policy.md: how an attempt ended → what the decision makes of it. */

const HOUR_MS = 3_600_000

/** `then`, `waits` and `with`, as the documentation has them. */
export function outcomeOf(written: unknown, ended: string): [string, string, string] {
  const parsed = parseRetryPolicy(written)
  if ('issues' in parsed) throw new Error(JSON.stringify(parsed.issues))
  const { policy } = resolvePolicy([{ source: 'SESSION', policy: parsed.policy }])
  const session = sessionThat(ended, policy)
  const verdict = decideRetry({ session, policy, now: ENDED_AT, random: 0.5 })
  if (verdict.phase === 'EXHAUSTED') return ['exhausted', '', '']
  if (verdict.phase !== 'SCHEDULED') return ['not retried', '', '']
  return [ordinal(verdict, session, policy), waits(verdict, session, policy), changes(verdict, session)]
}

/** Conditions, separated by commas, each of which says something of the session. */
function sessionThat(ended: string, policy: RetryPolicy): DecidedSession {
  const conditions = ended.split(/, (?=(?:[^"]*"[^"]*")*[^"]*$)/)
  const size = { resourceSlots: { cpu: '1', mem: String(2 * 2 ** 30) }, batchTimeout: 3600 }
  const base = failedSession({ ...size, maxRetries: policy.maxRetries, epochStartedAt: ENDED_AT })
  return Object.assign(base, ...conditions.map((condition) => readCondition(condition))) as DecidedSession
}

const ERROR_NAMES: Readonly<Record<string, string>> = {
  AGENT_TRANSIENT: 'agent-lost',
  SCHEDULER_TIMEOUT: 'scheduler-timeout',
  IMAGE_PULL_FAILURE: 'image-pull-failed',
  OOM_KILLED: 'oom-killed',
  USER_CANCELLED: 'user-cancelled',
  'task-timeout': 'task-timeout',
  'gpu-memory': 'gpu-memory',
}

const GIB = 1024 ** 3

const WITH_GPU = { resourceSlots: { cpu: '1', 'cuda.device': '1' } }

const CONDITIONS: readonly [RegExp, (value: string) => Partial<DecidedSession>][] = [
  [/^exit code (\d+)$/, (code) => ({ ...endedBy('kernel-exited'), exitCode: Number(code) })],
  [/^([A-Z_]+|task-timeout|gpu-memory)$/, (cause) => ({ ...endedBy(ERROR_NAMES[cause]!), exitCode: null })],
  [/^reason "(.*)"$/, (statusReason) => ({ statusReason })],
  [/^(\d+) retr(?:y|ies) used$/, (count) => ({ retryCount: Number(count) })],
  [/^(\d+) uncounted retr(?:y|ies) used$/, (count) => ({ uncountedRetries: Number(count) })],
  [/^the delay before was (\d+) s$/, (seconds) => ({ delayBeforeMs: Number(seconds) * 1000 })],
  [/^(before it started)$/, () => ({ startedAt: null })],
  [/^([\d.]+) h after the first attempt$/, (hours) => ({ epochStartedAt: hoursBeforeTheEnd(Number(hours)) })],
  [/^mem (\d+) GiB$/, (amount) => ({ resourceSlots: { cpu: '1', mem: parseAmount('mem', `${amount}g`)! } })],
  [/^GPUs of (\d+) GiB$/, (gib) => ({ ...WITH_GPU, hadGpuMemoryBytes: Number(gib) * GIB })],
  [/^GPUs of (unknown) memory$/, () => WITH_GPU],
  [/^GPU memory (\d+) GiB$/, (gib) => ({ ...WITH_GPU, gpuNeed: { model: null, memoryBytes: Number(gib) * GIB } })],
  [/^peak ([\d.]+) GiB$/, (gib) => ({ peakMemoryBytes: Number(gib) * GIB })],
  [/^timeout (\d+) s$/, (seconds) => ({ batchTimeout: Number(seconds) })],
]

function readCondition(condition: string): Partial<DecidedSession> {
  for (const [pattern, read] of CONDITIONS) {
    const found = pattern.exec(condition)
    if (found) return read(found[1]!)
  }
  throw new Error(`what does "${condition}" mean?`)
}

function endedBy(name: string): Partial<DecidedSession> {
  return { statusReason: name, statusData: { error: { name, message: name } } }
}

function hoursBeforeTheEnd(hours: number): Date {
  return new Date(ENDED_AT.getTime() - hours * HOUR_MS)
}

function ordinal(verdict: RetryVerdict, session: DecidedSession, policy: RetryPolicy): string {
  if (verdict.counted) return `retry ${session.retryCount + 1} of ${policy.maxRetries}`
  return `uncounted retry ${session.uncountedRetries + 1} of ${policy.maxUncountedRetries}`
}

function waits(verdict: RetryVerdict, session: DecidedSession, policy: RetryPolicy): string {
  const rule = verdict.matchedRule === null ? undefined : policy.rules[verdict.matchedRule]
  const { earliestMs, latestMs } = delayBounds(policy, session.retryCount, {
    baseSeconds: rule?.delay,
    delayBeforeMs: session.delayBeforeMs,
  })
  const delayMs = verdict.delayMs!
  if (delayMs < earliestMs || delayMs > latestMs) throw new Error(`${delayMs} ms is out of its bounds`)
  return earliestMs === latestMs ? `${delayMs / 1000} s` : `${earliestMs / 1000} to ${latestMs / 1000} s`
}

function changes({ growth, avoid }: RetryVerdict, session: DecidedSession): string {
  const changed: string[] = []
  const mem = growth?.resourceSlots['mem']
  if (mem !== undefined && mem !== session.resourceSlots['mem']) changed.push(`mem ${describeAmount('mem', mem)}`)
  const gpuMemory = growth?.gpuNeed?.memoryBytes ?? null
  if (gpuMemory !== null && gpuMemory !== session.gpuNeed?.memoryBytes) {
    changed.push(`GPU memory ${describeBytes(gpuMemory)}`)
  }
  if (growth && growth.batchTimeout !== session.batchTimeout) changed.push(`timeout ${growth.batchTimeout} s`)
  if (avoid.agents.length > 0) changed.push('another agent')
  if (avoid.groups.length > 0) changed.push('another resource group')
  return changed.join(', ')
}
