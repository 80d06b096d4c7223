import type { z } from 'zod'
import { RepriseError, type ValidationIssue } from '../../domain/errors.ts'

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
