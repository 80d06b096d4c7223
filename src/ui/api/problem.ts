import { CombinedError } from '@urql/core'
import { ApiError, RepriseClientError, type GraphQLFault } from '../../client/connection/create-connection.ts'

/** What went wrong, as people are told. */
export interface Problem {
  message: string
  code: string | null
  requestId: string | null
  /** What is wrong with an input, and where: `policy.retryDelay`. */
  issues: readonly { path: string; message: string }[]
}

export function problemOf(error: unknown): Problem {
  const cause = causeOf(error)
  if (cause instanceof RepriseClientError) {
    const issues = cause instanceof ApiError ? cause.issues : []
    return { message: cause.message, code: cause.code, requestId: cause.requestId ?? null, issues }
  }
  // What is missing of an answer of which the rest is there: as the server wrote it.
  if (typeof cause === 'object' && cause !== null && 'extensions' in cause) {
    const { message, extensions } = cause as GraphQLFault
    const { code = null, requestId = null, issues = [] } = extensions ?? {}
    return { message, code, requestId, issues }
  }
  return { message: cause instanceof Error ? cause.message : String(cause), code: null, requestId: null, issues: [] }
}

export function isUnauthenticated(error: unknown): boolean {
  return problemOf(error).code === 'UNAUTHENTICATED'
}

function causeOf(error: unknown): unknown {
  return error instanceof CombinedError ? (error.networkError ?? error.graphQLErrors[0] ?? error) : error
}
