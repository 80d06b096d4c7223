import { sha1 } from './sha1.ts'

/** Computes delays as Airflow's `next_retry_datetime` does. In seconds; whole ones whenever backoff is on. */

/** Releases by formula: up to 2.5.3, 2.6 to 2.9, 2.10 to 3.1, and from 3.2 on. */
export const AIRFLOW_RELEASES = ['AIRFLOW_2_5', 'AIRFLOW_2_6', 'AIRFLOW_2_10', 'AIRFLOW_3_2'] as const
export type AirflowRelease = (typeof AIRFLOW_RELEASES)[number]

/** Every release since 2.6 caps delays with backoff at 24 hours. */
export const AIRFLOW_CEILING_SECONDS = 86_400
/** Before, only what Python's `timedelta` can hold did: `timedelta.max.total_seconds() - 1`, a double. */
const TIMEDELTA_CEILING_SECONDS = 86_399_999_999_999

export interface AirflowBackoff {
  release: AirflowRelease
  retryDelay: number
  /** 0 turns backoff off. */
  multiplier: number
  /** Null or 0 for no maximum. */
  maxRetryDelay: number | null
}

/** The input of the jitter's hash. */
export interface AirflowTask {
  dagId: string
  taskId: string
  /** As Python prints it: `2016-01-01 00:00:00+00:00`, or `None`. */
  logicalDate: string
}

export interface AirflowDelay {
  /** Null where backoff is off. */
  minBackoff: bigint | null
  /** In [0, minBackoff). */
  jitter: bigint
  seconds: number
}

/** Up to 3.1 the setting was a flag, and any number but 0 was true; since 3.2 it is the multiplier itself. */
export function airflowMultiplier(release: AirflowRelease, setting: boolean | number): number {
  if (typeof setting === 'boolean') return setting ? 2 : 0
  if (release !== 'AIRFLOW_3_2') return setting === 0 ? 0 : 2
  return setting > 0 && setting !== 1 ? setting : 0
}

/**
 * The try number that the formula uses for the nth retry. Up to 2.9 it was already one more than the failed try's
 * number.
 */
export function airflowTryNumber(release: AirflowRelease, retry: number): number {
  return countsNextTry(release) ? retry + 1 : retry
}

export function airflowDelay(backoff: AirflowBackoff, task: AirflowTask, tryNumber: number): AirflowDelay {
  const minBackoff = airflowMinBackoff(backoff, tryNumber)
  if (minBackoff === null) return { minBackoff, jitter: 0n, seconds: backoff.retryDelay }
  const jitter = sha1(`${task.dagId}#${task.taskId}#${task.logicalDate}#${tryNumber}`) % minBackoff
  return { minBackoff, jitter, seconds: cut(minBackoff + jitter, backoff) }
}

/** The least and greatest delay of any task, both inclusive. */
export function airflowDelayBounds(backoff: AirflowBackoff, tryNumber: number): { earliest: number; latest: number } {
  const minBackoff = airflowMinBackoff(backoff, tryNumber)
  if (minBackoff === null) return { earliest: backoff.retryDelay, latest: backoff.retryDelay }
  return { earliest: cut(minBackoff, backoff), latest: cut(2n * minBackoff - 1n, backoff) }
}

/** Null if backoff is off. A product that overflows a float becomes the ceiling. */
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

/** Seconds. */
function ceilingOf(release: AirflowRelease): number {
  return release === 'AIRFLOW_2_5' ? TIMEDELTA_CEILING_SECONDS : AIRFLOW_CEILING_SECONDS
}

function countsNextTry(release: AirflowRelease): boolean {
  return release === 'AIRFLOW_2_5' || release === 'AIRFLOW_2_6'
}
