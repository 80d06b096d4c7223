import { z } from '@hono/zod-openapi'
import {
  type ErrorCode,
  ERRORS,
  type ErrorType,
  maskedFault,
  type ObjectInTheWay,
  RepriseError,
} from '../domain/errors.ts'
import { listIssues } from '../services/input/parse-input.ts'
import { fieldNames } from './openapi.ts'
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
    existing: z
      .object({
        type: z.string().openapi({ description: 'Its type, with the name that GraphQL uses.' }),
        id: z.string().openapi({ description: 'Its id; of a resource group, its name.' }),
      })
      .optional()
      .openapi({
        description: 'With a ConflictError: the object that exists already, and has the creation id, key or name.',
      }),
    child_session_id: z
      .uuid()
      .optional()
      .openapi({ description: 'With an InvalidStateError: the next attempt, if it is in the way.' }),
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
    return describe({
      code: 'INTERNAL',
      title: 'InternalError',
      status: 500,
      detail,
      issues: [],
      inTheWay: null,
      requestId,
    })
  }
  const { code, type: title, inTheWay } = error
  const issues = error.issues.map(({ path, message }) => ({ path: snakeCase(path), message: restMessage(message) }))
  const isList = error.message === listIssues(error.issues)
  const detail = isList ? listIssues(issues) : restMessage(error.message)
  return describe({ code, title, status: ERRORS[code].httpStatus, detail, issues, inTheWay, requestId })
}

let names: ReadonlySet<string> | undefined

/**
 * Returns a service's message with the names of fields as REST writes them: `session_ids` for `sessionIds`. Quoted words
 * and words that are no field of any request stay.
 */
export function restMessage(message: string): string {
  names ??= fieldNames()
  return message.replaceAll(/"[^"]*"|\b[a-z]+(?:[A-Z][a-z0-9]*)+\b/g, (word) => {
    const name = snakeCase(word)
    return names!.has(name) ? name : word
  })
}

function describe(problem: {
  code: ErrorCode | 'INTERNAL'
  title: ErrorType | 'InternalError'
  status: number
  detail: string
  issues: RepriseError['issues']
  inTheWay: ObjectInTheWay | null
  requestId: string
}): ProblemAnswer {
  const { code, title, status, detail, issues, inTheWay, requestId } = problem
  return {
    status,
    body: {
      type: `urn:reprise:error:${code}`,
      title,
      status,
      detail,
      code,
      issues: [...issues],
      ...(inTheWay && title === 'ConflictError' && { existing: inTheWay }),
      ...(inTheWay && title === 'InvalidStateError' && { child_session_id: inTheWay.id }),
      request_id: requestId,
    },
  }
}

/**
 * The response to all requests while the server starts: a problem document. Outside REST it also has `message`,
 * `requestId` and `errors`, for agents and GraphQL clients.
 */
export function startingProblem(path: string, requestId: string): { status: number; body: object } {
  const error = new RepriseError(
    'SERVER_STARTING',
    'The server is starting. Try again in a moment, or use another one.',
  )
  const { status, body } = problemOf(error, requestId)
  if (path.startsWith('/v2/')) return { status, body }
  const { code } = error
  const errors = [{ message: error.message, extensions: { code, requestId } }]
  return { status, body: { ...body, message: error.message, requestId, errors } }
}
