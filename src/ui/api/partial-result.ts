import { makeErrorResult, makeResult, type Operation, type OperationResult } from '@urql/core'
import { ApiError } from '../../client/connection/create-connection.ts'

/**
 * Of an answer of which a part is missing: what there is, with what is missing and where. If nothing but the moment of
 * the answer is there, and of all other errors, the error alone.
 */
export function resultOfError(operation: Operation, error: unknown): OperationResult {
  if (error instanceof ApiError && hasSome(error.data)) {
    return makeResult(operation, { data: error.data, errors: [...error.faults], hasNext: false })
  }
  return makeErrorResult(operation, error instanceof Error ? error : new Error(String(error)))
}

/** Fields that every page reads, and none is about. */
const BESIDES: ReadonlySet<string> = new Set(['__typename', 'now', 'eventCursor'])

function hasSome(data: unknown): data is Record<string, unknown> {
  return (
    typeof data === 'object' &&
    data !== null &&
    Object.entries(data).some(([name, value]) => value !== null && !BESIDES.has(name))
  )
}
