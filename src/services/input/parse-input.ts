import type { z } from 'zod'
import { RepriseError, type ValidationIssue } from '../../domain/errors.ts'

/** @throws RepriseError VALIDATION_FAILED with all faults at once */
export function parseInput<Schema extends z.ZodType>(schema: Schema, input: unknown): z.output<Schema> {
  const parsed = schema.safeParse(input)
  if (parsed.success) return parsed.data
  return refuseInput(parsed.error.issues.map(({ path, message }) => ({ path: path.join('.'), message })))
}

/** @throws RepriseError VALIDATION_FAILED */
export function refuseInput(issues: readonly ValidationIssue[]): never {
  const faults = issues.map(({ path, message }) => `${path || 'input'}: ${message}`)
  throw new RepriseError('VALIDATION_FAILED', faults.join('; '), issues)
}
