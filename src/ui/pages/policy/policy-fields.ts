/** How what is typed becomes a value: `count` and `decimal` are numbers, `duration` is seconds. */
type Kind = 'count' | 'decimal' | 'duration' | 'choice' | 'switch' | 'causes' | 'rules' | 'growth' | 'text'

export interface Field {
  /** In the address and in the form. */
  name: string
  /** In the input of the API. */
  path: string
  kind: Kind
  label: string
  hint?: string
  /** What holds where nothing is typed. */
  standard?: string
  /** Words of a choice, as the command line has them, and how they are shown. */
  choices?: Readonly<Record<string, string>>
  /** The option of the command line, where there is one. */
  option?: string
  /** `none` is a value. */
  canBeNone?: true
  /** What the field is when the switch is on. */
  on?: boolean
}

export type Section = readonly [title: string, fields: readonly Field[]]

/** Everything that is typed, by names of fields. What is empty is not there. */
export type Draft = Readonly<Record<string, string>>

export const CAUSES = {
  'agent-transient': 'agent lost',
  'scheduler-timeout': 'scheduler timeout',
  'image-pull-failure': 'image not pulled',
  'kernel-nonzero-exit': 'exit code',
  'oom-killed': 'out of memory',
  unknown: 'unknown cause',
} as const

const BUDGET: readonly Field[] = [
  {
    name: 'retries',
    path: 'maxRetries',
    kind: 'count',
    label: 'Retries',
    hint: '0 to 100',
    standard: '0',
    option: '--retries',
  },
  {
    name: 'within',
    path: 'maxElapsed',
    kind: 'duration',
    label: 'Time limit',
    hint: 'of all attempts together',
    standard: 'none',
    option: '--max-elapsed',
    canBeNone: true,
  },
]

const DELAYS: readonly Field[] = [
  {
    name: 'delay',
    path: 'retryDelay',
    kind: 'duration',
    label: 'First delay',
    hint: 'like 30, 90s, 5m or 2h',
    standard: '60s',
    option: '--retry-delay',
  },
  {
    name: 'backoff',
    path: 'backoff',
    kind: 'choice',
    label: 'Backoff',
    standard: 'fixed',
    choices: { fixed: 'fixed', exponential: 'exponential' },
    option: '--backoff',
  },
  {
    name: 'factor',
    path: 'backoffMultiplier',
    kind: 'decimal',
    label: 'Factor',
    hint: 'to the next delay',
    standard: '2',
    option: '--backoff-multiplier',
  },
  {
    name: 'ceiling',
    path: 'maxRetryDelay',
    kind: 'duration',
    label: 'Ceiling',
    hint: 'none means 24 h',
    standard: '1h',
    option: '--max-retry-delay',
    canBeNone: true,
  },
  {
    name: 'jitter',
    path: 'jitter',
    kind: 'choice',
    label: 'Jitter',
    standard: 'deterministic',
    choices: {
      none: 'none',
      deterministic: 'by session',
      random: 'random',
      full: 'full',
      decorrelated: 'decorrelated',
    },
    option: '--jitter',
  },
  {
    name: 'share',
    path: 'jitterRatio',
    kind: 'decimal',
    label: 'Share of jitter',
    hint: 'of the delay, 0 to 1',
    standard: '0.25',
    option: '--jitter-ratio',
  },
]

const WHICH: readonly Field[] = [
  {
    name: 'on',
    path: 'eligibleCauses',
    kind: 'causes',
    label: 'Failures that are retried',
    choices: CAUSES,
    option: '--retry-on',
  },
  {
    name: 'preset',
    path: 'preset',
    kind: 'choice',
    label: 'Start from a preset',
    choices: { 'cms-exit-codes': 'exit codes of CMS' },
    option: '--preset',
  },
  {
    name: 'uncounted-max',
    path: 'maxUncountedRetries',
    kind: 'count',
    label: 'Uncounted retries',
    hint: 'at most, 0 to 100',
    standard: '10',
    option: '--max-uncounted-retries',
  },
  {
    name: 'uncounted',
    path: 'countPreStartFailures',
    kind: 'switch',
    label: 'Failures before the work starts use up no retry',
    option: '--uncounted-pre-start',
    on: false,
  },
  {
    name: 'ignore-verdicts',
    path: 'trustVerdicts',
    kind: 'switch',
    label: 'Ignore what programs ask for in verdict files',
    option: '--ignore-verdicts',
    on: false,
  },
  {
    name: 'rules',
    path: 'rules',
    kind: 'rules',
    label: 'Rules, as JSON',
    hint: 'at most 20; the first that matches decides',
  },
]

const FAILURE: readonly Field[] = [
  { name: 'cause', path: 'cause', kind: 'choice', label: 'Cause', choices: CAUSES },
  { name: 'exit', path: 'exitCode', kind: 'count', label: 'Exit code' },
]

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

export const POLICY_FIELDS: readonly Field[] = [...BUDGET, ...DELAYS, ...WHICH]
export const AIRFLOW_FIELDS: readonly Field[] = [...AIRFLOW, ...TASK]
export const FAILURE_FIELDS = FAILURE
export const ALL_FIELDS: readonly Field[] = [...POLICY_FIELDS, ...FAILURE_FIELDS, ...AIRFLOW_FIELDS]

export const POLICY_SECTIONS: readonly Section[] = [
  ['Budget', BUDGET],
  ['Delays', DELAYS],
  ['Which failures', WHICH],
  ['Tried with', FAILURE],
]
export const AIRFLOW_SECTIONS: readonly Section[] = [
  ['The operator', AIRFLOW],
  ['Its task, for the exact jitter', TASK],
]

export interface Given {
  /** As the API takes it. */
  input: Record<string, unknown>
  /** What cannot be sent, by names of fields. */
  faults: Record<string, string>
}

/** The typed values of these fields. */
export function readDraft(draft: Draft, fields: readonly Field[]): Given {
  const given: Given = { input: {}, faults: {} }
  for (const field of fields) {
    const text = draft[field.name]?.trim() ?? ''
    if (text === '') continue
    const value = valueOf(field, text)
    if (value === undefined) given.faults[field.name] = WANTED[field.kind] ?? 'It is not one of these.'
    else given.input[field.path] = value
  }
  return given
}

const WANTED: Partial<Record<Kind, string>> = {
  count: 'It is not a whole number.',
  decimal: 'It is not a number.',
  duration: 'It is not a duration, like 30, 90s, 5m, 2h or 1d.',
  rules: 'It is not a list in JSON.',
  growth: 'It is not True, False or a number.',
}

/** Undefined where the text is none. */
function valueOf(field: Field, text: string): unknown {
  switch (field.kind) {
    case 'count':
      return /^-?\d+$/.test(text) ? Number(text) : undefined
    case 'decimal':
      return numberOf(text)
    case 'duration':
      return text === 'none' ? null : secondsOf(text)
    case 'switch':
      return field.on
    case 'causes':
      return text
        .split(',')
        .filter((cause) => cause !== 'none')
        .map(inApi)
    case 'rules':
      return listOf(text)
    case 'growth':
      return /^(true|false)$/i.test(text) ? text.toLowerCase() === 'true' : numberOf(text)
    case 'choice':
      return Object.hasOwn(field.choices!, text) ? inApi(text) : undefined
    case 'text':
      return text
  }
}

function numberOf(text: string): number | undefined {
  return Number.isFinite(Number(text)) ? Number(text) : undefined
}

const UNITS = { ms: 0.001, s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800 } as const

function secondsOf(text: string): number | undefined {
  const [, amount, unit = 's'] = /^(-?\d+(?:\.\d+)?)\s*(ms|s|m|h|d|w)?$/.exec(text) ?? []
  return amount === undefined ? undefined : Number(amount) * UNITS[unit as keyof typeof UNITS]
}

function listOf(text: string): unknown[] | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** `oom-killed` → `OOM_KILLED` */
function inApi(word: string): string {
  return word.toUpperCase().replaceAll('-', '_')
}

/** What the server says, at the field that it is about; the rest is about no field. */
export function placeIssues(
  issues: readonly { path: string; message: string }[],
  message: string,
  fields: readonly Field[],
): { faults: Record<string, string>; rest: string | null } {
  // A value that has not even the type is refused before the input is read, and the place is in the sentence.
  const [, place, sentence] = /at "(.+?)"; (.+)$/.exec(message) ?? []
  const placed = issues.length > 0 || place === undefined ? issues : [{ path: place, message: sentence! }]
  const faults: Record<string, string> = {}
  const rest: string[] = []
  for (const issue of placed) {
    const [first, ...names] = issue.path.split('.')
    const within = names.length === 0 ? [first!] : names
    const field = fields.find(({ path }) => path === within[0])
    const [, ...deeper] = within
    const words = deeper.length === 0 ? issue.message : `${deeper.join('.')}: ${issue.message}`
    if (field) faults[field.name] = [faults[field.name], words].filter(Boolean).join('; ')
    else rest.push(`${issue.path}: ${issue.message}`)
  }
  return { faults, rest: placed.length === 0 ? message : rest.join('; ') || null }
}
