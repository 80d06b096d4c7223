import { RETRIES_MAX, RETRY_DELAY_CEILING_MS } from '../../limits.ts'
import { airflowMultiplier } from './airflow-delay.ts'
import type { AirflowSettings } from './airflow-settings.ts'
import type { RetryPolicy } from '../policy/policy.ts'

export interface AirflowConversion {
  /** The policy fields that the settings determine. */
  policy: Partial<RetryPolicy>
  explanation: AirflowExplanation
}

/** One sentence per entry. */
export interface AirflowExplanation {
  alike: string[]
  differs: string[]
}

/** Delays are stored in whole milliseconds. */
const RETRY_DELAY_SECONDS_MIN = 0.001
const CEILING_SECONDS = RETRY_DELAY_CEILING_MS / 1000

/** The policy that comes closest to what the settings do in Airflow. */
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

/** Without backoff Airflow adds no jitter and applies neither `max_retry_delay` nor its 24-hour cap. */
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
    differs.push(`Before 2.6 Airflow has no limit of its own; here no delay is longer than ${CEILING_SECONDS} s.`)
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
