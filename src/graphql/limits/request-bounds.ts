import {
  coerceInputValue,
  type ExecutionArgs,
  type ExecutionResult,
  getOperationAST,
  GraphQLError,
  type GraphQLSchema,
  isInputType,
  isNonNullType,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
  typeFromAST,
  type VariableDefinitionNode,
} from 'graphql'
import type { Plugin } from 'graphql-yoga'
import { type ErrorCode, ERRORS } from '../../domain/errors.ts'
import { excessOf } from '../../domain/json-bounds.ts'
import {
  CREATE_SESSIONS_VALUES_MAX,
  REQUEST_BYTES_MAX,
  REQUEST_ERRORS_MAX,
  REQUEST_VALUES_MAX,
} from '../../domain/limits.ts'
import type { WholeRequest } from '../transport/whole-request.ts'
import { describeBytes } from '../../domain/amounts.ts'

type Check = (payload: { args: ExecutionArgs; setResultAndStopExecution(result: ExecutionResult): void }) => void

/**
 * Bounds the size of an operation's variables, over all transports, before they are coerced to their types. Only
 * `createSessions` or `addSessions` may be large.
 */
export function useRequestBounds(): Plugin {
  const check: Check = ({ args, setResultAndStopExecution }) => {
    const operation = getOperationAST(args.document, args.operationName)
    // The execution reports the missing operation.
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
    return [refusal('REQUEST_TOO_LARGE', `The request is too large: the limit is ${describeBytes(REQUEST_BYTES_MAX)}.`)]
  }
  const excess = excessOf(values, large ? CREATE_SESSIONS_VALUES_MAX : REQUEST_VALUES_MAX)
  if (excess !== undefined) return [refusal('REQUEST_TOO_LARGE', `The request is too large: ${excess}.`)]
  return variableErrors(args.schema, operation.variableDefinitions ?? [], values)
}

function refusal(code: ErrorCode, message: string): GraphQLError {
  return new GraphQLError(message, { extensions: { code, http: { status: ERRORS[code].httpStatus } } })
}

/** Mutations whose input has sessions. */
const CREATING: ReadonlySet<string> = new Set(['createSessions', 'addSessions'])

function onlyCreatesSessions({ operation, selectionSet: { selections } }: OperationDefinitionNode): boolean {
  if (operation !== OperationTypeNode.MUTATION) return false
  const [only] = selections
  return selections.length === 1 && only!.kind === Kind.FIELD && CREATING.has(only!.name.value)
}

/**
 * Checks an operation's variables, and returns at most REQUEST_ERRORS_MAX errors. GraphQL's own function prints the
 * whole variable into each message, and does not apply its limit everywhere: 29 kB of unknown keys took it 6 s.
 */
function variableErrors(
  schema: GraphQLSchema,
  definitions: readonly VariableDefinitionNode[],
  values: Readonly<Record<string, unknown>>,
): GraphQLError[] {
  const errors: GraphQLError[] = []
  for (const definition of definitions) {
    if (errors.length >= REQUEST_ERRORS_MAX) return errors
    coerce(schema, definition, values, errors)
  }
  return errors
}

/** Ends the walk through one value. */
const ENOUGH = new Error('enough')

function coerce(
  schema: GraphQLSchema,
  node: VariableDefinitionNode,
  values: Readonly<Record<string, unknown>>,
  errors: GraphQLError[],
): void {
  const name = node.variable.name.value
  const type = typeFromAST(schema, node.type)
  // Validation has refused all other types.
  if (!isInputType(type)) return
  const report = (message: string) => errors.push(invalidVariable(message, node))
  if (!Object.hasOwn(values, name) || values[name] === undefined) {
    if (isNonNullType(type) && !node.defaultValue)
      report(`Variable "$${name}" of required type "${String(type)}" was not provided.`)
    return
  }
  const value = values[name]
  if (value === null) {
    if (isNonNullType(type)) report(`Variable "$${name}" of non-null type "${String(type)}" must not be null.`)
    return
  }
  try {
    coerceInputValue(value, type, (path, invalid, { message }) => {
      const place = path.length === 0 ? '' : ` at "${name}${path.map(step).join('')}"`
      report(`Variable "$${name}" got invalid value${shown(invalid)}${place}; ${message}`)
      if (errors.length >= REQUEST_ERRORS_MAX) throw ENOUGH
    })
  } catch (thrown) {
    if (thrown !== ENOUGH) throw thrown
  }
}

function invalidVariable(message: string, node: VariableDefinitionNode): GraphQLError {
  return new GraphQLError(message, { nodes: node, extensions: { code: 'VALIDATION_FAILED', http: { status: 400 } } })
}

const step = (key: string | number) => (typeof key === 'number' ? `[${key}]` : `.${key}`)

/** Prints an invalid value. Empty for lists and objects: the message has their path. */
function shown(value: unknown): string {
  if (typeof value === 'object') return ''
  const text = JSON.stringify(value)
  return text === undefined || text.length > 100 ? '' : ` ${text}`
}
