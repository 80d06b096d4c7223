import { FAILURE_FIELDS, POLICY_FIELDS, type Field, type Section } from '../../policy/policy-fields.ts'

const AIRFLOW: readonly Field[] = [
  { name: 'retries', path: 'retries', kind: 'count', label: 'retries', standard: '0' },
  { name: 'delay', path: 'retryDelay', kind: 'duration', label: 'retry_delay', standard: '300s' },
  {
    name: 'exponential',
    path: 'retryExponentialBackoff',
    kind: 'growth',
    label: 'retry_exponential_backoff',
    hint: 'True, False, or a factor since 3.2',
    standard: 'False',
  },
  { name: 'ceiling', path: 'maxRetryDelay', kind: 'duration', label: 'max_retry_delay', standard: 'none' },
  {
    name: 'release',
    path: 'release',
    kind: 'choice',
    label: 'Release of Airflow',
    standard: 'airflow-3-2',
    choices: {
      'airflow-2-5': 'up to 2.5',
      'airflow-2-6': '2.6 to 2.9',
      'airflow-2-10': '2.10 to 3.1',
      'airflow-3-2': '3.2 and later',
    },
  },
]

const TASK: readonly Field[] = [
  { name: 'dag', path: 'dagId', kind: 'text', label: 'dag_id' },
  { name: 'task', path: 'taskId', kind: 'text', label: 'task_id' },
  { name: 'date', path: 'logicalDate', kind: 'text', label: 'logical_date', hint: '2026-01-31 00:00:00+00:00' },
]

export const AIRFLOW_FIELDS: readonly Field[] = [...AIRFLOW, ...TASK]
export const AIRFLOW_SECTIONS: readonly Section[] = [
  ['The operator', AIRFLOW],
  ['Its task, for the exact jitter', TASK],
]

/** All that this page's address may have. */
export const ALL_FIELDS: readonly Field[] = [...POLICY_FIELDS, ...FAILURE_FIELDS, ...AIRFLOW_FIELDS]
