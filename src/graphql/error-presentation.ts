import { type ExecutionResult, GraphQLError } from 'graphql'
import { handleStreamOrSingleExecutionResult, type Plugin } from 'graphql-yoga'
import { ERRORS, maskedFault, RepriseError } from '../domain/errors.ts'
import { RATE_RETRY_AFTER_SECONDS } from '../domain/limits.ts'
import type { Logger } from '../observability/log.ts'
import { outageOf, refusalOf, tookTooLong, wasCancelled } from '../services/database-outage.ts'
import type { GraphQLContext } from './context.ts'

/**
 * Shows clients the errors of queries and mutations that they can act on; `useEventsTogether` does it for subscriptions.
 * For an unexpected error they see only the request id; the log has the
 * details under this id.
 */
export function useErrorPresentation(): Plugin<GraphQLContext> {
  return {
    onExecute: () => ({
      onExecuteDone: (payload) => handleStreamOrSingleExecutionResult(payload, presentResult),
    }),
  }
}

function presentResult(payload: {
  args: { contextValue: GraphQLContext }
  result: ExecutionResult
  setResult: (result: ExecutionResult) => void
}): void {
  const { args, result, setResult } = payload
  const presented = presentErrors(result, args.contextValue)
  if (presented !== result) setResult(presented)
}

/** @returns the same object if it has no errors */
export function presentErrors(result: ExecutionResult, context: GraphQLContext): ExecutionResult {
  if (!result.errors?.length) return result
  return { ...result, errors: result.errors.map((error) => presentThrown(innermost(error), context, error)) }
}

interface Reporter {
  log: Logger
  requestId: string
}

/** Converts anything that was thrown. `at` is the GraphQL error around `thrown`, if it was thrown during execution. */
export function presentThrown(thrown: unknown, reporter: Reporter, at?: GraphQLError): GraphQLError {
  if (thrown instanceof RepriseError) {
    const { code, message, issues } = thrown
    const extensions = { code, ...(issues.length > 0 && { issues }) }
    return new GraphQLError(message, { ...(at && locationOf(at)), extensions })
  }
  if (thrown instanceof GraphQLError) return coded(at ?? thrown)
  return presentFault(thrown, reporter, at)
}

/** Adds a code to errors of the libraries, which have none: a malformed global id, for example. */
function coded(error: GraphQLError): GraphQLError {
  if (typeof error.extensions['code'] === 'string') return error
  const extensions = { ...error.extensions, code: 'VALIDATION_FAILED' }
  return new GraphQLError(error.message, { ...locationOf(error), extensions })
}

/** Logs an unexpected error and hides its details from the client. Only a temporary fault is reported as such. */
export function presentFault(fault: unknown, { log, requestId }: Reporter, at?: GraphQLError): GraphQLError {
  const outage = outageOf(fault)
  if (outage !== null) {
    const { code, message } = outage
    const path = at?.path?.join('.')
    if (code === 'SERVER_DISK_FULL') log.error({ err: fault, requestId, path }, 'a disk is full')
    else log.warn({ requestId, path, reason: String(fault) }, `a request failed because of an outage: ${code}`)
    const headers = code === 'SERVER_DISK_FULL' ? undefined : { 'Retry-After': '1' }
    const http = { status: ERRORS[code].httpStatus, headers }
    return new GraphQLError(message, { ...(at && locationOf(at)), extensions: { code, requestId, http } })
  }
  if (wasCancelled(fault)) {
    const { code, message } = tookTooLong()
    return new GraphQLError(message, { ...(at && locationOf(at)), extensions: { code, requestId } })
  }
  log.error({ err: fault, requestId, path: at?.path?.join('.') }, 'a request failed unexpectedly')
  return new GraphQLError(maskedFault(requestId), {
    ...(at && locationOf(at)),
    extensions: { code: 'INTERNAL', requestId },
  })
}

function innermost(error: unknown): unknown {
  let inner = error
  while (inner instanceof GraphQLError && inner.originalError) inner = inner.originalError
  return refusalOf(inner) ?? inner
}

function locationOf({ nodes, source, positions, path }: GraphQLError) {
  return { nodes, source, positions, path }
}

export function tooManyRequests({ code, message }: RepriseError): GraphQLError {
  const headers = { 'Retry-After': String(RATE_RETRY_AFTER_SECONDS) }
  return new GraphQLError(message, { extensions: { code, http: { status: ERRORS[code].httpStatus, headers } } })
}
