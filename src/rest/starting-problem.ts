import { RepriseError } from '../domain/errors.ts'
import { problemOf } from './resources/problem.ts'

/**
 * The answer to all requests while the server starts: a problem document that also has `message` and `errors`, for
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
