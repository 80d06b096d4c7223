import { complexityFromQuery } from '@pothos/plugin-complexity'
import {
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
  type FieldNode,
  getOperationAST,
  GraphQLError,
  type GraphQLSchema,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
  TypeInfo,
  type ValueNode,
  visit,
  visitWithTypeInfo,
} from 'graphql'
import type { Plugin } from 'graphql-yoga'
import { CHAIN_STATES } from '../../domain/chain/outlook.ts'
import { RepriseError } from '../../domain/errors.ts'
import { COUNT_COST, FILTERED_COUNT_COST, QUERY_BREADTH_MAX, QUERY_COMPLEXITY_MAX, QUERY_DEPTH_MAX } from './limits.ts'

const QUERY_COST_MAX: Cost = {
  depth: QUERY_DEPTH_MAX,
  breadth: QUERY_BREADTH_MAX,
  complexity: QUERY_COMPLEXITY_MAX,
}

/**
 * Computes the cost of an operation before it is executed. The cost is computed only once if variables cannot change
 * it.
 */
export function useOperationCost(): Plugin {
  /** Costs, keyed by document and name of the operation; null if the cost depends on variables. */
  const known = new WeakMap<DocumentNode, Map<string, Cost | null>>()

  function costOf(args: ExecutionArgs): Cost | undefined {
    const ofDocument = known.get(args.document) ?? new Map<string, Cost | null>()
    known.set(args.document, ofDocument)
    const name = args.operationName ?? ''
    const remembered = ofDocument.get(name)
    if (remembered) return remembered
    const depends = remembered === null || dependsOnVariables(args)
    const cost = weigh(args, depends)
    if (cost) ofDocument.set(name, depends ? null : cost)
    return cost
  }

  function check(payload: { args: ExecutionArgs; setResultAndStopExecution(result: ExecutionResult): void }): void {
    const cost = costOf(payload.args)
    const error = cost && tooMuch(cost)
    if (!error) return
    const { message, code } = error
    payload.setResultAndStopExecution({ errors: [new GraphQLError(message, { extensions: { code } })] })
  }

  return { onExecute: check, onSubscribe: check }
}

/**
 * Computes a cost. Undefined if there is no such operation or its variables are invalid; the execution then reports the
 * error.
 */
function weigh(
  { schema, document, operationName, variableValues }: ExecutionArgs,
  withVariables: boolean,
): Cost | undefined {
  const operation = getOperationAST(document, operationName)
  if (!operation) return undefined
  const fragments = document.definitions.filter(({ kind }) => kind === Kind.FRAGMENT_DEFINITION)
  // The plugin computes the cost of the first operation, and walks through all of its variables, which may be large.
  const weighed = withVariables ? operation : { ...operation, variableDefinitions: [] }
  const alone = { ...document, definitions: [weighed, ...fragments] }
  try {
    const cost = complexityFromQuery(alone, { schema, variables: { ...variableValues } })
    // The cost of counts is not added for an operation that already costs too much: with nested fragments, it can have
    // any number of fields.
    return { ...cost, complexity: cost.complexity + (tooMuch(cost) ? 0 : countCost(operation, document)) }
  } catch (error) {
    if (error instanceof GraphQLError) return undefined
    throw error
  }
}

/**
 * Complexity of the counts of the root fields (`totalCount`, and `counts` by state). The most expensive one is free.
 */
function countCost({ selectionSet }: OperationDefinitionNode, document: DocumentNode): number {
  const fragments = new Map(
    document.definitions.flatMap((each) => (each.kind === Kind.FRAGMENT_DEFINITION ? [[each.name.value, each]] : [])),
  )
  const fieldsOf = ({ selections }: SelectionSetNode, within: ReadonlySet<string> = new Set()): FieldNode[] =>
    selections.flatMap((selection) => {
      if (selection.kind === Kind.FIELD) return [selection]
      if (selection.kind === Kind.INLINE_FRAGMENT) return fieldsOf(selection.selectionSet, within)
      const name = selection.name.value
      const fragment = within.has(name) ? undefined : fragments.get(name)
      return fragment ? fieldsOf(fragment.selectionSet, new Set([...within, name])) : []
    })
  const filtered = ({ arguments: given = [] }: FieldNode) => given.some(({ name }) => name.value === 'filter')
  const prices = fieldsOf(selectionSet).flatMap((field) => {
    const price = filtered(field) ? FILTERED_COUNT_COST : COUNT_COST
    const asked = new Set(field.selectionSet && fieldsOf(field.selectionSet).map(({ name }) => name.value))
    const total = asked.has('totalCount') || asked.has('totalCountIsExact')
    return Array<number>((total ? 1 : 0) + (asked.has('counts') ? CHAIN_STATES.length : 0)).fill(price)
  })
  return prices.reduce((sum, price) => sum + price, 0) - Math.max(0, ...prices)
}

/** Whether a field whose cost depends on its arguments has a variable in one of them. */
function dependsOnVariables({ schema, document }: { schema: GraphQLSchema; document: DocumentNode }): boolean {
  const typeInfo = new TypeInfo(schema)
  let depends = false
  const Field = ({ arguments: args = [] }: { arguments?: readonly { value: ValueNode }[] }) => {
    const cost = typeInfo.getFieldDef()?.extensions['complexity']
    if (typeof cost === 'function' && args.some(({ value }) => holdsVariable(value))) depends = true
  }
  visit(document, visitWithTypeInfo(typeInfo, { Field }))
  return depends
}

function holdsVariable(value: ValueNode): boolean {
  if (value.kind === Kind.LIST) return value.values.some(holdsVariable)
  if (value.kind === Kind.OBJECT) return value.fields.some((field) => holdsVariable(field.value))
  return value.kind === Kind.VARIABLE
}

interface Cost {
  depth: number
  breadth: number
  complexity: number
}

/** Returns an error that names the first limit that an operation exceeds; undefined if it exceeds none. */
function tooMuch(cost: Cost): RepriseError | undefined {
  const measures = [
    ['deep', cost.depth, QUERY_COST_MAX.depth],
    ['broad', cost.breadth, QUERY_COST_MAX.breadth],
    ['complex', cost.complexity, QUERY_COST_MAX.complexity],
  ] as const
  const over = measures.find(([, is, max]) => is > max)
  if (!over) return undefined
  const [what, is, max] = over
  return new RepriseError('VALIDATION_FAILED', `The query is too ${what}: ${is}, and the limit is ${max}.`)
}
