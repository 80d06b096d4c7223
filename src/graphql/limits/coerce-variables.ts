import {
  coerceInputValue,
  GraphQLError,
  isInputType,
  isNonNullType,
  typeFromAST,
  type GraphQLSchema,
  type VariableDefinitionNode,
} from 'graphql'
import { REQUEST_ERRORS_MAX } from '../../domain/limits.ts'

/**
 * The errors of an operation's variables, REQUEST_ERRORS_MAX at most. GraphQL's own way to find them prints the whole
 * variable into each message, and its limit is not used everywhere: 29 kB of unknown keys took it 6 s.
 */
export function variableErrors(
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
  const report = (message: string) => errors.push(refusal(message, node))
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

function refusal(message: string, node: VariableDefinitionNode): GraphQLError {
  return new GraphQLError(message, { nodes: node, extensions: { code: 'VALIDATION_FAILED', http: { status: 400 } } })
}

const step = (key: string | number) => (typeof key === 'number' ? `[${key}]` : `.${key}`)

/** Nothing of lists and objects: the place says which. */
function shown(value: unknown): string {
  if (typeof value === 'object') return ''
  const text = JSON.stringify(value)
  return text === undefined || text.length > 100 ? '' : ` ${text}`
}
