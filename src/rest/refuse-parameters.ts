import type { z } from 'zod'
import { RepriseError } from '../domain/errors.ts'

/** Parameters of the path and the query that are not as the OpenAPI document says. */
export function refuseParameters(result: { success: true } | { success: false; error: z.core.$ZodError }): void {
  if (result.success) return
  const issues = result.error.issues.map(({ path, message }) => ({ path: path.join('.'), message }))
  const detail = issues.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; ')
  throw new RepriseError('VALIDATION_FAILED', detail, issues)
}
