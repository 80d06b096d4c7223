import { z } from 'zod'
import type { ValidationIssue } from '../../errors.ts'
import { AIRFLOW_DELAY_SECONDS_MAX, NAME_LENGTH_MAX } from '../../limits.ts'
import { AIRFLOW_RELEASES, type AirflowTask } from './airflow-delay.ts'

/** The settings of an Airflow operator that affect retries, with Airflow's defaults. Durations are in seconds. */
export type AirflowSettings = z.output<typeof retrySettings>

export type ParsedAirflowSettings =
  | { settings: AirflowSettings; task: AirflowTask | null }
  | { issues: ValidationIssue[] }

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
    // Also runs if a field is invalid, so that all errors are reported at once.
    when: ({ value }) => typeof value === 'object' && value !== null,
  })

/** Null counts as not given. Without a DAG and a task no jitter can be computed. */
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
