import { CombinedError } from '@urql/core'
import { ApiError, RepriseClientError } from '../../client/connection/create-connection.ts'

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
  return { message: cause instanceof Error ? cause.message : String(cause), code: null, requestId: null, issues: [] }
}

export function isUnauthenticated(error: unknown): boolean {
  return problemOf(error).code === 'UNAUTHENTICATED'
}

function causeOf(error: unknown): unknown {
  return error instanceof CombinedError ? (error.networkError ?? error.graphQLErrors[0] ?? error) : error
}
