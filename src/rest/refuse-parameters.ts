import type { z } from 'zod'
import { RepriseError } from '../domain/errors.ts'

/** Refuses path and query parameters that do not match the OpenAPI document. @throws RepriseError */
export function refuseParameters(result: { success: true } | { success: false; error: z.core.$ZodError }): void {
  if (result.success) return
  const issues = result.error.issues.map(({ path, message }) => ({ path: path.join('.'), message }))
  const detail = issues.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; ')
  throw new RepriseError('VALIDATION_FAILED', detail, issues)
}
