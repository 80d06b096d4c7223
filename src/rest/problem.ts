import { z } from '@hono/zod-openapi'
import { type ErrorCode, ERRORS, type ErrorType, maskedFault, RepriseError } from '../domain/errors.ts'
import { snakeCase } from './snake-case.ts'

export const PROBLEM_TYPE = 'application/problem+json'

/** A problem document (RFC 9457) with the error code and all issues at once. */
export const Problem = z
  .object({
    type: z.string().openapi({
      description: 'The kind of error, as a URN of its code.',
      example: 'urn:reprise:error:SESSION_NOT_FOUND',
    }),
    title: z
      .string()
      .openapi({ description: 'The kind of error, with the name that GraphQL uses.', example: 'NotFoundError' }),
    status: z.int().openapi({ description: 'The HTTP status.', example: 404 }),
    detail: z.string().openapi({ description: 'Explanation of the error, for people.' }),
    code: z.string().openapi({
      description: 'The error code; INTERNAL for a fault of the server.',
      example: 'SESSION_NOT_FOUND',
    }),
    issues: z
      .array(z.object({ path: z.string(), message: z.string() }))
      .openapi({ description: 'All faults of the input, each with its field.' }),
    request_id: z.string().openapi({ description: 'Id of the request, under which the log has the details.' }),
  })
  .openapi('Problem')

interface ProblemAnswer {
  status: number
  body: z.infer<typeof Problem>
}

/**
 * Creates the problem document of an error. Known errors are shown as they are; any other shows only the request id.
 */
export function problemOf(error: unknown, requestId: string): ProblemAnswer {
  if (!(error instanceof RepriseError)) {
    const detail = maskedFault(requestId)
    return describe({ code: 'INTERNAL', title: 'InternalError', status: 500, detail, issues: [], requestId })
  }
  const { code, type: title, message: detail, issues } = error
  return describe({ code, title, status: ERRORS[code].httpStatus, detail, issues, requestId })
}

function describe(problem: {
  code: ErrorCode | 'INTERNAL'
  title: ErrorType | 'InternalError'
  status: number
  detail: string
  issues: RepriseError['issues']
  requestId: string
}): ProblemAnswer {
  const { code, title, status, detail, requestId } = problem
  const issues = problem.issues.map(({ path, message }) => ({ path: snakeCase(path), message }))
  return {
    status,
    body: { type: `urn:reprise:error:${code}`, title, status, detail, code, issues, request_id: requestId },
  }
}

/**
 * The response to all requests while the server starts: a problem document that also has `message` and `errors`, for
 * agents and GraphQL clients.
 */
export function startingProblem(requestId: string): { status: number; body: object } {
  const error = new RepriseError(
    'SERVER_STARTING',
    'The server is starting. Try again in a moment, or use another one.',
  )
  const { status, body } = problemOf(error, requestId)
  const { code } = error
  const errors = [{ message: error.message, extensions: { code, requestId } }]
  return { status, body: { ...body, message: error.message, requestId, errors } }
}
