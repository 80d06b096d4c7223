import { type Draft, type Field, type Kind, POLICY_FIELDS } from './policy-fields.ts'

/** The fields of a policy in the API; `given` names those that are set. */
export type SetPolicy = Readonly<Record<string, unknown>> & { given: readonly string[] }

/** The texts of the form for a policy. */
export function draftOfPolicy(policy: SetPolicy): Draft {
  return Object.fromEntries(
    POLICY_FIELDS.filter(({ path }) => policy.given.includes(path))
      .map((field) => [field.name, textOf(field, policy[field.path])])
      .filter(([, text]) => text !== ''),
  ) as Draft
}

/** Fields that are set but have no input; they are sent unchanged. */
export function untypedOf(policy: SetPolicy): Record<string, unknown> {
  const typed = new Set(
    POLICY_FIELDS.filter((field) => textOf(field, policy[field.path]) !== '').map(({ path }) => path),
  )
  return Object.fromEntries(policy.given.filter((path) => !typed.has(path)).map((path) => [path, policy[path]]))
}

/** The text for a value; empty where the form has none. */
function textOf({ kind, on }: Field, value: unknown): string {
  if (value === undefined || (value === null && kind !== 'duration' && kind !== 'durations')) return ''
  switch (kind) {
    case 'duration':
      return value === null ? 'none' : `${value as number}s`
    case 'durations':
      return value === null ? 'none' : (value as number[]).map((seconds) => `${seconds}s`).join(',')
    case 'choice':
      return inWords(value as string)
    case 'causes':
      return (value as string[]).map(inWords).join(',') || 'none'
    case 'rules':
      return JSON.stringify(value, (_key, each: unknown) => each ?? undefined)
    case 'switch':
      return value === on ? 'true' : ''
    case 'count':
    case 'decimal':
    case 'growth':
    case 'text':
      return typeof value === 'string' ? value : JSON.stringify(value)
  }
}

/** `OOM_KILLED` → `oom-killed` */
function inWords(name: string): string {
  return name.toLowerCase().replaceAll('_', '-')
}

interface Given {
  /** The API's input. */
  input: Record<string, unknown>
  /** Faults because of which the input cannot be sent, by field. */
  faults: Record<string, string>
}

/** Parses the typed texts of these fields. */
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
  durations: 'These are not durations separated by commas, like 20s, 5m, 2h.',
  rules: 'It is not a list in JSON.',
  growth: 'It is not True, False or a number.',
}

/** Parses a text; undefined where it is not valid. */
function valueOf(field: Field, text: string): unknown {
  switch (field.kind) {
    case 'count':
      return /^-?\d+$/.test(text) ? Number(text) : undefined
    case 'decimal':
      return numberOf(text)
    case 'duration':
      return text === 'none' ? null : secondsOf(text)
    case 'durations':
      return text === 'none' ? null : listOfSeconds(text)
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

export function secondsOf(text: string): number | undefined {
  const [, amount, unit = 's'] = /^(-?\d+(?:\.\d+)?)\s*(ms|s|m|h|d|w)?$/.exec(text) ?? []
  return amount === undefined ? undefined : Number(amount) * UNITS[unit as keyof typeof UNITS]
}

function listOfSeconds(text: string): (number | undefined)[] | undefined {
  const list = text.split(',').map((each) => secondsOf(each.trim()))
  return list.includes(undefined) ? undefined : list
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

/** The policy as JSON, for `--policy` or the API's `retryPolicy`. */
export function policyAsJson(policy: object): string {
  return JSON.stringify(policy, null, 2)
}

/**
 * A command that runs a program under this policy: with options, or with the policy as JSON where options are not
 * enough.
 */
export function policyAsCommand(draft: Draft, policy: object): string {
  const options = policyOptions(draft)
  if (options === null || options.length === 0) return policyAsInput(policy)
  return ['npx reprise run', ...options, '-- COMMAND'].join(' \\\n  ')
}

/** The typed policy as options of the command line; null if some of it has no option. */
export function policyOptions(draft: Draft): string[] | null {
  const given = POLICY_FIELDS.filter(({ name }) => (draft[name]?.trim() ?? '') !== '')
  if (given.some(({ option }) => option === undefined) || draft['on'] === 'none') return null
  return given.map(({ name, kind, option }) =>
    kind === 'switch' ? option! : `${option!} ${draft[name]!.trim().replace(/\s+/g, '')}`,
  )
}

/** A command with the policy from standard input. */
export function policyAsInput(policy: object): string {
  return `npx reprise run --policy - -- COMMAND <<'JSON'\n${policyAsJson(policy)}\nJSON`
}

/** The fields that are set, in the form of the input. */
export function givenOf(policy: SetPolicy): Record<string, unknown> {
  const given = Object.fromEntries(policy.given.map((path) => [path, policy[path]]))
  return JSON.parse(
    JSON.stringify(given, (key, each: unknown) => (policy.given.includes(key) ? each : (each ?? undefined))),
  ) as Record<string, unknown>
}
