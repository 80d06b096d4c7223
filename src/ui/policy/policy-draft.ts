import { POLICY_FIELDS, type Draft, type Field } from './policy-fields.ts'

/** Fields of a policy as the API has them; `given` are those that are set. */
export type SetPolicy = Readonly<Record<string, unknown>> & { given: readonly string[] }

/** What would have to be typed for this policy. */
export function draftOfPolicy(policy: SetPolicy): Draft {
  return Object.fromEntries(
    POLICY_FIELDS.filter(({ path }) => policy.given.includes(path))
      .map((field) => [field.name, textOf(field, policy[field.path])])
      .filter(([, text]) => text !== ''),
  ) as Draft
}

/** What is set and cannot be typed: it stays. */
export function untypedOf(policy: SetPolicy): Record<string, unknown> {
  const typed = new Set(
    POLICY_FIELDS.filter((field) => textOf(field, policy[field.path]) !== '').map(({ path }) => path),
  )
  return Object.fromEntries(policy.given.filter((path) => !typed.has(path)).map((path) => [path, policy[path]]))
}

/** Empty where the form has no text for it. */
function textOf({ kind, on }: Field, value: unknown): string {
  if (value === undefined || (value === null && kind !== 'duration')) return ''
  switch (kind) {
    case 'duration':
      return value === null ? 'none' : `${value as number}s`
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
