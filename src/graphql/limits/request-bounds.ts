import { getOperationAST, GraphQLError, Kind, OperationTypeNode } from 'graphql'
import type { ExecutionArgs, ExecutionResult, OperationDefinitionNode } from 'graphql'
import type { Plugin } from 'graphql-yoga'
import { ERRORS, type ErrorCode } from '../../domain/errors.ts'
import { excessOf } from '../../domain/json-bounds.ts'
import { CREATE_SESSIONS_VALUES_MAX, REQUEST_BYTES_MAX, REQUEST_VALUES_MAX } from '../../domain/limits.ts'
import { variableErrors } from './coerce-variables.ts'
import type { WholeRequest } from '../transport/whole-request.ts'

type Check = (payload: { args: ExecutionArgs; setResultAndStopExecution(result: ExecutionResult): void }) => void

/**
 * Bounds what the variables of an operation hold, over all transports, before anything walks through them by their
 * types. Only `createSessions` may be large.
 */
export function useRequestBounds(): Plugin {
  const check: Check = ({ args, setResultAndStopExecution }) => {
    const operation = getOperationAST(args.document, args.operationName)
    // Executing it reports the error.
    if (!operation) return
    const errors = faultsOf(args, operation)
    if (errors.length > 0) setResultAndStopExecution({ errors })
  }
  return { onExecute: check, onSubscribe: check }
}

function faultsOf(args: ExecutionArgs, operation: OperationDefinitionNode): GraphQLError[] {
  const { request } = args.contextValue as { request?: Partial<WholeRequest> }
  const values = args.variableValues ?? {}
  const large = onlyCreatesSessions(operation)
  if (!large && request?.isLarge) {
    return [refusal('REQUEST_TOO_LARGE', `The request is too large: the limit is ${REQUEST_BYTES_MAX} bytes.`)]
  }
  const excess = excessOf(values, large ? CREATE_SESSIONS_VALUES_MAX : REQUEST_VALUES_MAX)
  if (excess !== undefined) return [refusal('REQUEST_TOO_LARGE', `The request is too large: ${excess}.`)]
  return variableErrors(args.schema, operation.variableDefinitions ?? [], values)
}

function refusal(code: ErrorCode, message: string): GraphQLError {
  return new GraphQLError(message, { extensions: { code, http: { status: ERRORS[code].httpStatus } } })
}

function onlyCreatesSessions({ operation, selectionSet: { selections } }: OperationDefinitionNode): boolean {
  if (operation !== OperationTypeNode.MUTATION) return false
  const [only] = selections
  return selections.length === 1 && only!.kind === Kind.FIELD && only!.name.value === 'createSessions'
}
