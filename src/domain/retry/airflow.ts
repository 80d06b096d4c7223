import { z } from 'zod'
import type { ValidationIssue } from '../errors.ts'
import { AIRFLOW_DELAY_SECONDS_MAX, NAME_LENGTH_MAX, RETRIES_MAX, RETRY_DELAY_CEILING_MS } from '../limits.ts'
import { sha1 } from './delay.ts'
import type { PlannedRetry } from './preview.ts'
import type { RetryPolicy } from './policy/policy.ts'

/** Delays as computed by Airflow's `next_retry_datetime`, in seconds; whole seconds whenever backoff is on. */

/** Airflow releases, grouped by formula: up to 2.5.3, 2.6 to 2.9, 2.10 to 3.1, and from 3.2 on. */
export const AIRFLOW_RELEASES = ['AIRFLOW_2_5', 'AIRFLOW_2_6', 'AIRFLOW_2_10', 'AIRFLOW_3_2'] as const
export type AirflowRelease = (typeof AIRFLOW_RELEASES)[number]

/** Every release since 2.6 caps delays with backoff at 24 hours. */
const AIRFLOW_CEILING_SECONDS = 86_400
/** Earlier releases cap them only at Python's longest `timedelta`: `timedelta.max.total_seconds() - 1`, as a double. */
const TIMEDELTA_CEILING_SECONDS = 86_399_999_999_999

interface AirflowBackoff {
  release: AirflowRelease
  retryDelay: number
  /** 0 turns backoff off. */
  multiplier: number
  /** Null or 0 means no maximum. */
  maxRetryDelay: number | null
}

/** The input of the jitter's hash. */
interface AirflowTask {
  dagId: string
  taskId: string
  /** The date as Python prints it: `2016-01-01 00:00:00+00:00`, or `None`. */
  logicalDate: string
}

interface AirflowDelay {
  /** Null if backoff is off. */
  minBackoff: bigint | null
  /** A value in [0, minBackoff). */
  jitter: bigint
  seconds: number
}

/**
 * Converts the setting to a multiplier. Up to 3.1 the setting was a flag, and any number but 0 meant true; since 3.2 it
 * is the multiplier itself.
 */
export function airflowMultiplier(release: AirflowRelease, setting: boolean | number): number {
  if (typeof setting === 'boolean') return setting ? 2 : 0
  if (release !== 'AIRFLOW_3_2') return setting === 0 ? 0 : 2
  return setting > 0 && setting !== 1 ? setting : 0
}

/** The try number that the formula uses for the nth retry. Up to 2.9 it was one more than the failed try's number. */
export function airflowTryNumber(release: AirflowRelease, retry: number): number {
  return countsNextTry(release) ? retry + 1 : retry
}

export function airflowDelay(backoff: AirflowBackoff, task: AirflowTask, tryNumber: number): AirflowDelay {
  const minBackoff = airflowMinBackoff(backoff, tryNumber)
  if (minBackoff === null) return { minBackoff, jitter: 0n, seconds: backoff.retryDelay }
  const jitter = sha1(`${task.dagId}#${task.taskId}#${task.logicalDate}#${tryNumber}`) % minBackoff
  return { minBackoff, jitter, seconds: cut(minBackoff + jitter, backoff) }
}

/** Shortest and longest delay over all tasks, both inclusive. */
export function airflowDelayBounds(backoff: AirflowBackoff, tryNumber: number): { earliest: number; latest: number } {
  const minBackoff = airflowMinBackoff(backoff, tryNumber)
  if (minBackoff === null) return { earliest: backoff.retryDelay, latest: backoff.retryDelay }
  return { earliest: cut(minBackoff, backoff), latest: cut(2n * minBackoff - 1n, backoff) }
}

/** Computes the delay before jitter; null if backoff is off. A product that overflows a float becomes the ceiling. */
function airflowMinBackoff({ release, retryDelay, multiplier }: AirflowBackoff, tryNumber: number): bigint | null {
  if (multiplier === 0 || multiplier === 1) return null
  const exponent = countsNextTry(release) ? tryNumber - 2 : tryNumber - 1
  const product = Math.ceil(retryDelay * multiplier ** exponent)
  if (!Number.isFinite(product)) return BigInt(ceilingOf(release))
  return BigInt(Math.max(product, 1))
}

function cut(seconds: bigint, { release, maxRetryDelay }: AirflowBackoff): number {
  const ceiling = ceilingOf(release)
  return Math.min(Number(seconds), maxRetryDelay ? Math.min(maxRetryDelay, ceiling) : ceiling)
}

/** The ceiling in seconds. */
function ceilingOf(release: AirflowRelease): number {
  return release === 'AIRFLOW_2_5' ? TIMEDELTA_CEILING_SECONDS : AIRFLOW_CEILING_SECONDS
}

function countsNextTry(release: AirflowRelease): boolean {
  return release === 'AIRFLOW_2_5' || release === 'AIRFLOW_2_6'
}

/** The settings of an Airflow operator that affect retries, with Airflow's defaults. Durations are in seconds. */
export type AirflowSettings = z.output<typeof retrySettings>

type ParsedAirflowSettings = { settings: AirflowSettings; task: AirflowTask | null } | { issues: ValidationIssue[] }

const retrySettings = z.strictObject({
  release: z.enum(AIRFLOW_RELEASES).default('AIRFLOW_3_2'),
  retries: z.int().nonnegative().default(0),
  retryDelay: z.number().nonnegative().max(AIRFLOW_DELAY_SECONDS_MAX).default(300),
  retryExponentialBackoff: z.union([z.boolean(), z.number()]).default(false),
  /** Airflow treats 0 as none. */
  maxRetryDelay: z
    .number()
    .nonnegative()
    .max(AIRFLOW_DELAY_SECONDS_MAX)
    .transform((seconds) => (seconds === 0 ? null : seconds))
    .nullable()
    .default(null),
})

const name = z.string().min(1).max(NAME_LENGTH_MAX)

const settingsWithTask = z
  .strictObject({
    ...retrySettings.shape,
    dagId: name.optional(),
    taskId: name.optional(),
    logicalDate: name.default('None'),
  })
  .refine(({ dagId, taskId }) => (dagId === undefined) === (taskId === undefined), {
    path: ['taskId'],
    message: 'dagId and taskId are given together or not at all',
    // The check also runs if a field is invalid, so that all errors are reported at once.
    when: ({ value }) => typeof value === 'object' && value !== null,
  })

/** Parses Airflow settings; null counts as not given. Without a DAG and a task no jitter can be computed. */
export function parseAirflowSettings(input: object): ParsedAirflowSettings {
  const given = Object.fromEntries(Object.entries(input).filter(([, value]) => value !== null && value !== undefined))
  const parsed = settingsWithTask.safeParse(given)
  if (!parsed.success) {
    return { issues: parsed.error.issues.map(({ path, message }) => ({ path: path.join('.'), message })) }
  }
  const { dagId, taskId, logicalDate, ...settings } = parsed.data
  const task = dagId === undefined || taskId === undefined ? null : { dagId, taskId, logicalDate }
  return { settings, task }
}

/** A `PlannedRetry` with Airflow's delays. */
export type AirflowRetry = Omit<PlannedRetry, 'resourceSlots' | 'batchTimeout' | 'gpuMemoryBytes'>

/**
 * Plans as many retries as a policy can have, with Airflow's delays. Without a task the jitter is unknown, and the
 * shortest delays are given.
 */
export function planAirflowRetries(settings: AirflowSettings, task: AirflowTask | null): AirflowRetry[] {
  const { release, retryDelay, maxRetryDelay } = settings
  const multiplier = airflowMultiplier(release, settings.retryExponentialBackoff)
  const backoff = { release, retryDelay, multiplier, maxRetryDelay }
  const planned: AirflowRetry[] = []
  let elapsedSeconds = 0
  for (let retry = 1; retry <= Math.min(settings.retries, RETRIES_MAX); retry++) {
    const tryNumber = airflowTryNumber(release, retry)
    const { earliest, latest } = airflowDelayBounds(backoff, tryNumber)
    const delaySeconds = task === null ? earliest : airflowDelay(backoff, task, tryNumber).seconds
    elapsedSeconds += delaySeconds
    planned.push({ retry, delaySeconds, earliestSeconds: earliest, latestSeconds: latest, elapsedSeconds })
  }
  return planned
}

interface AirflowConversion {
  /** The policy fields that the settings determine. */
  policy: Partial<RetryPolicy>
  explanation: AirflowExplanation
}

/** A comparison of Airflow's behaviour with the policy's, one sentence per entry. */
export interface AirflowExplanation {
  alike: string[]
  differs: string[]
}

/** Delays are stored in whole milliseconds. */
const RETRY_DELAY_SECONDS_MIN = 0.001
const CEILING_SECONDS = RETRY_DELAY_CEILING_MS / 1000

/** Converts the settings to the policy that behaves most like Airflow. */
export function convertAirflowSettings(settings: AirflowSettings): AirflowConversion {
  const multiplier = airflowMultiplier(settings.release, settings.retryExponentialBackoff)
  const maxRetries = Math.min(settings.retries, RETRIES_MAX)
  const delays = multiplier === 0 ? flat(settings) : exponential(settings, multiplier)
  const general = explainGeneral(settings, maxRetries)
  return {
    policy: { maxRetries, ...delays.policy },
    explanation: {
      alike: [...general.alike, ...delays.explanation.alike],
      differs: [...delays.explanation.differs, ...general.differs],
    },
  }
}

/**
 * Converts settings without backoff: then Airflow adds no jitter and applies neither `max_retry_delay` nor its 24-hour
 * cap.
 */
function flat({ retryDelay, maxRetryDelay }: AirflowSettings): AirflowConversion {
  const alike = [`Each retry waits ${retryDelay} s, without jitter.`]
  const differs: string[] = []
  if (maxRetryDelay !== null) alike.push('Without backoff Airflow ignores max_retry_delay, and so does the policy.')
  if (retryDelay > CEILING_SECONDS) {
    differs.push(`Airflow waits ${retryDelay} s; here no delay is longer than ${CEILING_SECONDS} s.`)
  }
  if (retryDelay < RETRY_DELAY_SECONDS_MIN) {
    differs.push(`A delay is more than 0 here: it becomes ${RETRY_DELAY_SECONDS_MIN} s.`)
  }
  return {
    policy: {
      retryDelay: Math.max(retryDelay, RETRY_DELAY_SECONDS_MIN),
      backoff: 'FIXED',
      maxRetryDelay: null,
      jitter: 'NONE',
    },
    explanation: { alike, differs },
  }
}

function exponential(settings: AirflowSettings, multiplier: number): AirflowConversion {
  const { retryDelay, maxRetryDelay } = settings
  if (retryDelay === 0) {
    const alike = ['Airflow makes a delay of 0 one second, at every retry and without jitter, and so does the policy.']
    const policy: Partial<RetryPolicy> = { retryDelay: 1, backoff: 'FIXED', maxRetryDelay, jitter: 'NONE' }
    return { policy, explanation: { alike, differs: [] } }
  }
  const ceiling = maxRetryDelay === null ? CEILING_SECONDS : Math.min(maxRetryDelay, CEILING_SECONDS)
  const alike = [
    `Retry n waits at least ${retryDelay} s × ${multiplier}^(n − 1), and jitter adds less than the same again.`,
    `No delay, jitter included, is longer than ${ceiling} s.`,
  ]
  const differs = [
    'Jitter is a hash in both. Airflow hashes DAG, task, logical date and try, so mapped tasks wait equally long; here it is the session, so each waits differently.',
    'Airflow adds whole seconds of jitter, here it is milliseconds.',
  ]
  if (settings.release === 'AIRFLOW_2_5' && (maxRetryDelay === null || maxRetryDelay > CEILING_SECONDS)) {
    differs.push(`Before 2.6 Airflow has no limit; here no delay is longer than ${CEILING_SECONDS} s.`)
  }
  if (!Number.isInteger(retryDelay) || !Number.isInteger(multiplier)) {
    differs.push('Airflow rounds the delay before jitter up to whole seconds, at least 1; here it is exact.')
  }
  return {
    policy: {
      retryDelay: Math.max(retryDelay, RETRY_DELAY_SECONDS_MIN),
      backoff: 'EXPONENTIAL',
      backoffMultiplier: multiplier,
      maxRetryDelay,
      jitter: 'DETERMINISTIC',
      jitterRatio: 1,
    },
    explanation: { alike, differs },
  }
}

function explainGeneral(settings: AirflowSettings, maxRetries: number): AirflowExplanation {
  const { release, retries, retryExponentialBackoff } = settings
  const alike: string[] = []
  const differs: string[] = []
  if (retries > maxRetries) differs.push(`Airflow retries ${retries} times; a policy at most ${maxRetries} times.`)
  else alike.push(retries === 0 ? 'There are no retries.' : `There are at most ${retries + 1} attempts.`)
  if (typeof retryExponentialBackoff === 'number' && release !== 'AIRFLOW_3_2') {
    alike.push('Before Airflow 3.2 retry_exponential_backoff is a flag: any number but 0 doubles the delay.')
  }
  differs.push(
    'Airflow retries every failure except AirflowFailException; here eligibleCauses and rules decide, such as a FAIL rule for an exit code.',
    'A task that is cleared in Airflow goes on with longer delays; a resubmitted session starts again with the first.',
  )
  return { alike, differs }
}
