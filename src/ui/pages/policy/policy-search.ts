import { type Draft, FAILURE_FIELDS, type Field, POLICY_FIELDS, type Section } from '../../policy/policy-fields.ts'

/** The parameters of the policy page's address: the typed texts by field. */
export interface PolicySearch {
  /** The settings are an Airflow operator's. */
  from?: 'airflow'
  /** Its defaults hold for what is not typed. */
  project?: string
  /** The names of query parameters that could not be parsed. */
  dropped?: string[]
  [field: string]: unknown
}

const TEXT_LENGTH_MAX = 200
const LONG_TEXT_LENGTH_MAX = 4_000

/** Parses the parameters; lists unknown ones in `dropped`. Wrong values stay, and are reported at their fields. */
export function readPolicySearch(given: Record<string, unknown>): PolicySearch {
  const read: PolicySearch = {}
  const dropped: string[] = []
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || name === 'dropped') continue
    const text = textOf(value)
    const isLong = name === 'rules' || name === 'delays'
    const isKnown =
      name === 'from' ? text === 'airflow' : name === 'project' || ALL_FIELDS.some((field) => field.name === name)
    if (!isKnown || text === '' || text.length > (isLong ? LONG_TEXT_LENGTH_MAX : TEXT_LENGTH_MAX)) dropped.push(name)
    else read[name] = value
  }
  return { ...read, ...(dropped.length > 0 && { dropped }) }
}

export function draftOf(search: PolicySearch): Draft {
  const { from: _, dropped: __, project: ___, ...fields } = search
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, textOf(value)]))
}

/** The shortest form for the address: numbers and lists without quotes. */
export function searchOf(draft: Draft, from: PolicySearch['from']): PolicySearch {
  const given = Object.entries(draft).filter(([, text]) => text.trim() !== '')
  return { ...(from && { from }), ...Object.fromEntries(given.map(([name, text]) => [name, plain(text.trim())])) }
}

function plain(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return textOf(value) === text || Array.isArray(value) ? value : text
  } catch {
    return text
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

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

/** All fields that the page's address can have. */
const ALL_FIELDS: readonly Field[] = [...POLICY_FIELDS, ...FAILURE_FIELDS, ...AIRFLOW_FIELDS]
