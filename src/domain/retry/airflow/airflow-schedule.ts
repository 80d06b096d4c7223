import { RETRIES_MAX } from '../../limits.ts'
import {
  airflowDelay,
  airflowDelayBounds,
  airflowMultiplier,
  airflowTryNumber,
  type AirflowTask,
} from './airflow-delay.ts'
import type { AirflowSettings } from './airflow-settings.ts'
import type { PlannedRetry } from '../preview.ts'

/** A `PlannedRetry` with Airflow's delays. */
export type AirflowRetry = Omit<PlannedRetry, 'resourceSlots' | 'batchTimeout'>

/**
 * Airflow's delays, for as many retries as a policy can have; without a task the shortest ones, because the jitter is
 * unknown.
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
