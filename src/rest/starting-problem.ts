import { RepriseError } from '../domain/errors.ts'
import { problemOf } from './resources/problem.ts'

/**
 * What is answered to everybody while the server starts. `message` beside `detail`: agents and GraphQL clients, who
 * do not speak problem+json, find theirs.
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
