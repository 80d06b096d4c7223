/** How a typed text becomes a value: `count` and `decimal` are numbers, `duration` is seconds. */
export type Kind =
  | 'count'
  | 'decimal'
  | 'duration'
  | 'durations'
  | 'choice'
  | 'switch'
  | 'causes'
  | 'rules'
  | 'growth'
  | 'text'

export interface Field {
  /** The name in the address and in the form. */
  name: string
  /** The path in the API's input. */
  path: string
  kind: Kind
  label: string
  hint?: string
  /** The default if nothing is typed. */
  standard?: string
  /** The words of a choice, as on the command line, each with its text. */
  choices?: Readonly<Record<string, string>>
  /** The option of the command line, where there is one. */
  option?: string
  /** The text `none` is a value. */
  canBeNone?: true
  /** The field's value when the switch is on. */
  on?: boolean
}

export type Section = readonly [title: string, fields: readonly Field[]]

/** The typed texts by field, without empty ones. */
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
    name: 'delays',
    path: 'delays',
    kind: 'durations',
    label: 'Table of delays',
    hint: 'like 20s, 5m, 2h, instead of the formula below; the last one repeats',
    option: '--delays',
    canBeNone: true,
  },
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
    name: 'checkpoint',
    path: 'checkpoint',
    kind: 'choice',
    label: 'Checkpoint',
    standard: 'prefer',
    choices: { prefer: 'prefer', require: 'require', ignore: 'ignore' },
    option: '--checkpoint',
  },
  {
    name: 'checkpoint-wait',
    path: 'checkpointWait',
    kind: 'duration',
    label: 'Wait for it',
    hint: 'at most, if it is required',
    standard: '1h',
    option: '--checkpoint-wait',
  },
  {
    name: 'follow-tag',
    path: 'pinImage',
    kind: 'switch',
    label: 'Retries run what the tag of the image stands for by then',
    option: '--follow-tag',
    on: false,
  },
  {
    name: 'ignore-oom',
    path: 'oomIsFailure',
    kind: 'switch',
    label: 'Work that exits with 0 has succeeded, even if the lack of memory killed a part of it',
    option: '--ignore-oom',
    on: false,
  },
  {
    name: 'progress-timeout',
    path: 'progressTimeout',
    kind: 'duration',
    label: 'May make no progress for',
    hint: 'then it has hung, and is stopped',
    standard: 'none',
    option: '--progress-timeout',
    canBeNone: true,
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

export const POLICY_FIELDS: readonly Field[] = [...BUDGET, ...DELAYS, ...WHICH]
export const FAILURE_FIELDS = FAILURE

export const POLICY_SECTIONS: readonly Section[] = [
  ['Budget', BUDGET],
  ['Delays', DELAYS],
  ['Which failures', WHICH],
  ['Tried with', FAILURE],
]
