import type { z } from '@hono/zod-openapi'
import { ERRORS, type ErrorCode } from '../domain/errors.ts'
import { Problem, PROBLEM_TYPE } from './resources/problem.ts'

/** For a route's `responses`: a successful answer. */
export function json<Schema extends z.ZodType>(schema: Schema, description: string) {
  return { description, content: { 'application/json': { schema } } }
}

/** For a route's `responses`: one entry per status, listing the error codes that have it. */
export function problems(...codes: ErrorCode[]) {
  const byStatus = Map.groupBy(codes, (code) => ERRORS[code].httpStatus)
  const entries = [...byStatus].map(([status, meant]) => {
    return [status, { description: meant.join(', '), content: { [PROBLEM_TYPE]: { schema: Problem } } }] as const
  })
  return Object.fromEntries(entries)
}

/** The errors of every route. */
export const COMMON_PROBLEMS = problems('UNAUTHENTICATED', 'FORBIDDEN', 'VALIDATION_FAILED')
