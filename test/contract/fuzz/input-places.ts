import {
  getNamedType,
  getNullableType,
  isEnumType,
  isInputObjectType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLInputType,
  type GraphQLLeafType,
  type GraphQLSchema,
} from 'graphql'
import type { Values } from '../tenancy/fill-arguments.ts'

type Parameter = GraphQLArgument | GraphQLInputField

/** A place in the arguments of a field where a value can stand, and all arguments with that value in it. */
export interface Place {
  /** `filter.name.equals` */
  name: string
  /** The input type and its field: `StringFilter.equals`; the argument itself is of no input type. */
  field: string | null
  type: GraphQLLeafType
  /** Whether it is in a list, which can be of any length. */
  listed: boolean
  /** `values` stand in the list, or the first of them alone. */
  put(values: readonly unknown[]): Record<string, unknown>
}

/** An operation whose one field gives as little as it can. */
export interface PlainOperation {
  name: string
  query: string
  places: Place[]
}

/** Input objects within input objects: filters hold filters. */
const DEPTH_MAX = 5

/** For all fields of the three root types that take arguments. */
export function plainOperations(schema: GraphQLSchema, values: Values): PlainOperation[] {
  const roots = {
    query: schema.getQueryType(),
    mutation: schema.getMutationType(),
    subscription: schema.getSubscriptionType(),
  }
  return Object.entries(roots).flatMap(([word, type]) =>
    Object.values(type!.getFields())
      .filter(({ args }) => args.length > 0)
      .map((field) => ({
        name: `${word} ${field.name}`,
        query: queryOf(word, field),
        places: field.args.flatMap((argument) => placesIn(argument, others(field.args, argument, values), values, 0)),
      })),
  )
}

function queryOf(word: string, { name, args, type }: GraphQLField<unknown, unknown>): string {
  const declarations = args.map((argument) => `$${argument.name}: ${String(argument.type)}`)
  const uses = args.map((argument) => `${argument.name}: $${argument.name}`)
  return `${word} (${declarations.join(', ')}) { ${name}(${uses.join(', ')}) ${selectionOf(type)} }`
}

function selectionOf(given: GraphQLField<unknown, unknown>['type']): string {
  const type = getNamedType(given)
  if (isLeafType(type)) return ''
  // A connection counts, and reads a page.
  return isObjectType(type) && 'totalCount' in type.getFields() ? '{ totalCount edges { cursor } }' : '{ __typename }'
}

function placesIn(
  parameter: Parameter,
  around: (value: unknown) => Record<string, unknown>,
  values: Values,
  depth: number,
  parent: string | null = null,
): Place[] {
  const { name } = parameter
  const nullable = getNullableType(parameter.type)
  const listed = isListType(nullable)
  const type = getNullableType(listed ? nullable.ofType : nullable)
  const put = (given: readonly unknown[]) => around(listed ? given : given[0])
  if (isLeafType(type)) return [{ name, field: parent && `${parent}.${name}`, type, listed, put }]
  if (!isInputObjectType(type) || depth === DEPTH_MAX) return []
  const fields = Object.values(type.getFields())
  return fields
    .filter((field) => getNamedType(field.type) !== type || depth < 1)
    .flatMap((field) => {
      const beside = others(fields, field, values)
      const within = placesIn(field, (value) => put([beside(value)]), values, depth + 1, type.name)
      // A filter in a filter is walked through in the same way: its texts are enough.
      const kept = getNamedType(field.type) === type ? within.filter((place) => place.type.name === 'String') : within
      return kept.map((place) => ({ ...place, name: `${name}.${place.name}` }))
    })
}

/** All that is required beside the one, and the one. */
function others(parameters: readonly Parameter[], one: Parameter, values: Values) {
  const required = parameters.filter(
    (each) => each !== one && isNonNullType(each.type) && each.defaultValue === undefined,
  )
  const beside = Object.fromEntries(required.map((each) => [each.name, plain(each, values)]))
  return (value: unknown) => ({ ...beside, [one.name]: value })
}

function plain({ name, type }: Parameter, values: Values): unknown {
  const nullable = getNullableType(type)
  if (isListType(nullable)) return [plainOfType(getNullableType(nullable.ofType), name, values)]
  return plainOfType(nullable, name, values)
}

const PLAIN: Record<string, unknown> = { String: 'plain', ID: 'plain', Int: 1, Float: 1, Boolean: false }

function plainOfType(type: GraphQLInputType, name: string, values: Values): unknown {
  if (isInputObjectType(type)) {
    const required = Object.values(type.getFields()).filter((field) => isNonNullType(field.type))
    return Object.fromEntries(required.map((field) => [field.name, plain(field, values)]))
  }
  if (isEnumType(type)) return type.getValues()[0]!.name
  const { name: typeName } = type as GraphQLLeafType
  return values[name] ?? values[typeName] ?? PLAIN[typeName] ?? '00000000-0000-7000-8000-000000000002'
}
