import { readFileSync } from 'node:fs'
import type { AirflowSettingsInput } from '../../client/node/index.ts'
import { UsageError } from '../present-error.ts'
import { API_ENUMS } from './api-enums.generated.ts'
import { oneOf } from './values.ts'

type Setting = keyof AirflowSettingsInput

/** Settings by their names in Airflow and in the API. */
const NAMES: Readonly<Record<string, Setting>> = {
  retries: 'retries',
  retry_delay: 'retryDelay',
  retry_exponential_backoff: 'retryExponentialBackoff',
  max_retry_delay: 'maxRetryDelay',
  dag_id: 'dagId',
  task_id: 'taskId',
  logical_date: 'logicalDate',
  execution_date: 'logicalDate',
  release: 'release',
}

const DURATIONS: readonly Setting[] = ['retryDelay', 'maxRetryDelay']

/**
 * Settings of an Airflow operator, or its `default_args`, as JSON: the text itself, a file or `-`. Times are seconds or
 * `H:MM:SS`, as Python writes a timedelta. Settings that do not concern retries are ignored.
 * @throws UsageError
 */
export function readAirflowSettings(given: string): AirflowSettingsInput {
  const settings: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(readObject(given))) {
    const field = Object.values(NAMES).find((known) => known === name) ?? NAMES[name]
    if (field === undefined) continue
    if (DURATIONS.includes(field)) settings[field] = toSeconds(name, value)
    else settings[field] = field === 'release' ? oneOf(String(value), API_ENUMS.AirflowRelease) : value
  }
  if (Object.keys(settings).length === 0) throw new UsageError(`There is none of ${Object.keys(NAMES).join(', ')}.`)
  return settings
}

function readObject(given: string): object {
  try {
    const text = given.trimStart().startsWith('{') ? given : readFileSync(given === '-' ? 0 : given, 'utf8')
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null) return value
  } catch (error) {
    throw new UsageError(`--from-airflow: ${(error as Error).message}`)
  }
  throw new UsageError('--from-airflow: not a JSON object')
}

function toSeconds(name: string, value: unknown): number | null {
  if (value === null || typeof value === 'number') return value
  const match = /^(?:(\d+) days?, )?(\d+):(\d\d):(\d\d(?:\.\d+)?)$/.exec(typeof value === 'string' ? value : '')
  if (!match) throw new UsageError(`--from-airflow: ${name} is neither seconds nor like 0:05:00`)
  const [days, hours, minutes, seconds] = match.slice(1).map((part) => Number(part ?? 0))
  return ((days! * 24 + hours!) * 60 + minutes!) * 60 + seconds!
}
