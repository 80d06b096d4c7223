import type { z } from 'zod'
import { RepriseError, type ValidationIssue } from '../../domain/errors.ts'
import { isStorableText, STORABLE_TEXT } from '../../domain/storable-text.ts'

/**
 * Parses input.
 * @throws RepriseError VALIDATION_FAILED with all faults at once
 */
export function parseInput<Schema extends z.ZodType>(schema: Schema, input: unknown): z.output<Schema> {
  const parsed = schema.safeParse(input)
  if (parsed.success) return parsed.data
  return refuseInput(issuesOf(parsed.error))
}

/** @throws RepriseError VALIDATION_FAILED */
export function refuseInput(issues: readonly ValidationIssue[]): never {
  throw inputError(issues)
}

/** Builds an error from issues whose messages describe the value at their path. */
export function inputError(issues: readonly ValidationIssue[]): RepriseError {
  return new RepriseError('VALIDATION_FAILED', listIssues(issues), issues)
}

/** The message of an error that consists of these issues. */
export function listIssues(issues: readonly ValidationIssue[]): string {
  return issues.map(({ path, message }) => `${path || 'input'}: ${message}`).join('; ')
}

/** Builds an error whose message is a complete sentence. */
export function argumentError(path: string, message: string): RepriseError {
  return new RepriseError('VALIDATION_FAILED', message, [{ path, message }])
}

/** An unknown field is an issue at its own path. */
export function issuesOf({ issues }: z.ZodError): ValidationIssue[] {
  return issues.flatMap((issue) => {
    if (issue.code !== 'unrecognized_keys') return [{ path: issue.path.join('.'), message: issue.message }]
    return issue.keys.map((key) => ({ path: [...issue.path, key].join('.'), message: 'Unknown field' }))
  })
}

/** Moves issues below `name` in the input. */
export function issuesUnder(name: string, issues: readonly ValidationIssue[]): ValidationIssue[] {
  return issues.map(({ path, message }) => ({ path: path === '' ? name : `${name}.${path}`, message }))
}

/**
 * Checks every text in a reader's arguments. No stored value contains an unstorable text, and the database would refuse
 * to compare one. Services check the inputs of changes themselves, and report all faults at once.
 * @throws RepriseError VALIDATION_FAILED with the path of the first text that cannot be stored
 */
export function refuseUnstorable(input: unknown, path = ''): void {
  const place = placeOfUnstorable(input, path)
  if (place === undefined) return
  refuseInput([{ path: place, message: STORABLE_TEXT }])
}

type WithoutNulls<Input> = Input extends object ? { [Name in keyof Input]?: NonNullable<Input[Name]> } : Input

/** Removes fields that are null, because null counts as missing; nested values are kept. */
export function withoutNulls<Input>(input: Input): WithoutNulls<Input> {
  if (typeof input !== 'object' || input === null) return input as WithoutNulls<Input>
  const given = Object.entries(input).filter(([, value]) => value !== null && value !== undefined)
  return Object.fromEntries(given) as WithoutNulls<Input>
}

/** Serialises to JSON that is equal for equal values: keys are sorted, and missing fields are omitted. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join()}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const entries = Object.entries(value).filter(([, field]) => field !== undefined)
  const sorted = entries.toSorted(([a], [b]) => (a < b ? -1 : 1))
  return `{${sorted.map(([name, field]) => `${JSON.stringify(name)}:${canonicalJson(field)}`).join()}}`
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
