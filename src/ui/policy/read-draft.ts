import type { Draft, Field, Kind } from './policy-fields.ts'

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

export function secondsOf(text: string): number | undefined {
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
