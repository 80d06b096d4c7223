import type { z } from 'zod'
import { RepriseError, type ValidationIssue } from '../../domain/errors.ts'
import { isStorableText, STORABLE_TEXT } from '../../domain/storable-text.ts'

/** @throws RepriseError VALIDATION_FAILED with all faults at once */
export function parseInput<Schema extends z.ZodType>(schema: Schema, input: unknown): z.output<Schema> {
  const parsed = schema.safeParse(input)
  if (parsed.success) return parsed.data
  return refuseInput(issuesOf(parsed.error))
}

/** @throws RepriseError VALIDATION_FAILED */
export function refuseInput(issues: readonly ValidationIssue[]): never {
  throw inputError(issues)
}

/** Each issue's message says what is wrong with what its path names. */
export function inputError(issues: readonly ValidationIssue[]): RepriseError {
  const faults = issues.map(({ path, message }) => `${path || 'input'}: ${message}`)
  return new RepriseError('VALIDATION_FAILED', faults.join('; '), issues)
}

/** The message is a sentence that stands for itself. */
export function argumentError(path: string, message: string): RepriseError {
  return new RepriseError('VALIDATION_FAILED', message, [{ path, message }])
}

export function issuesOf({ issues }: z.ZodError): ValidationIssue[] {
  return issues.map(({ path, message }) => ({ path: path.join('.'), message }))
}

/** The issues of what stands under `name` in the input. */
export function issuesUnder(name: string, issues: readonly ValidationIssue[]): ValidationIssue[] {
  return issues.map(({ path, message }) => ({ path: path === '' ? name : `${name}.${path}`, message }))
}

/**
 * Looks at every text of what a reader asks for: nothing that the database stores has such a text, and it would refuse
 * to compare one. Inputs of changes are checked by their services, which tell all of their faults at once.
 * @throws RepriseError VALIDATION_FAILED with the place of the first text that cannot be stored
 */
export function refuseUnstorable(input: unknown, path = ''): void {
  const place = placeOfUnstorable(input, path)
  if (place === undefined) return
  refuseInput([{ path: place, message: STORABLE_TEXT }])
}

function placeOfUnstorable(value: unknown, path: string): string | undefined {
  if (typeof value === 'string') return isStorableText(value) ? undefined : path
  if (typeof value !== 'object' || value === null) return undefined
  for (const [key, part] of Object.entries(value)) {
    const found = placeOfUnstorable(part, path === '' ? key : `${path}.${key}`)
    if (found !== undefined) return found
  }
  return undefined
}

type WithoutNulls<Input> = Input extends object ? { [Name in keyof Input]?: NonNullable<Input[Name]> } : Input

/** Removes fields that are null, which counts as missing; their values are left as they are. */
export function withoutNulls<Input>(input: Input): WithoutNulls<Input> {
  if (typeof input !== 'object' || input === null) return input as WithoutNulls<Input>
  const given = Object.entries(input).filter(([, value]) => value !== null && value !== undefined)
  return Object.fromEntries(given) as WithoutNulls<Input>
}

/** JSON that is equal for equal values: keys are sorted, and missing fields left out. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join()}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const entries = Object.entries(value).filter(([, field]) => field !== undefined)
  const sorted = entries.toSorted(([a], [b]) => (a < b ? -1 : 1))
  return `{${sorted.map(([name, field]) => `${JSON.stringify(name)}:${canonicalJson(field)}`).join()}}`
}
