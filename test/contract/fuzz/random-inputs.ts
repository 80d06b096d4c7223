import {
  getNamedType,
  getNullableType,
  isAbstractType,
  isInputObjectType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLNamedType,
  type GraphQLSchema,
} from 'graphql'
import type { Random } from '../../support/seeds.ts'
import type { Values } from '../tenancy/fill-arguments.ts'
import { hostileValues } from './hostile-places.ts'
import { toLiteral } from './literal.ts'

/** Unexpected inputs for a server: documents from the schema with allowed and forbidden parts. */

const INPUT_DEPTH_MAX = 4
const FIELDS_MAX = 4

export interface RandomDocument {
  query: string
  variables: Record<string, unknown>
  operationName?: string
}

export function randomDocuments(schema: GraphQLSchema, values: Values, random: Random): () => RandomDocument {
  const { below, chance, pick } = random
  let variables: Record<string, unknown> = {}
  let declarations: string[] = []
  let fragments: string[] = []

  function value(type: GraphQLInputType, name: string, depth: number): unknown {
    if (chance(0.03)) return pick([null, [], {}, 'x', -1, [[null]], { a: { b: [1] } }])
    const nullable = getNullableType(type)
    if (isListType(nullable))
      return Array.from({ length: below(chance(0.02) ? 300 : 3) }, () => value(nullable.ofType, name, depth))
    if (isInputObjectType(nullable)) {
      const fields = Object.values(nullable.getFields()).filter(
        (field) => isNonNullType(field.type) || (depth < INPUT_DEPTH_MAX && chance(0.2)),
      )
      const given = fields.map((field) => [field.name, value(field.type, field.name, depth + 1)] as const)
      return Object.fromEntries(chance(0.03) ? [...given, ['nonsense', 1]] : given)
    }
    const known = values[name] ?? values[getNamedType(type).name]
    if (known !== undefined && chance(0.5)) return known
    return pick(hostileValues(nullable as never))
  }

  function argumentsOf({ args }: { args: readonly GraphQLArgument[] }): string {
    const given = args.filter(({ type }) => (isNonNullType(type) ? chance(0.97) : chance(0.4)))
    const texts = given.map(({ name, type }) => {
      const page = name === 'first' || name === 'last'
      const chosen = page && chance(0.8) ? below(4) : value(type, name, 0)
      if (chance(0.3)) return `${name}: ${toLiteral(chosen, type)}`
      const variable = `v${declarations.length}`
      declarations.push(`$${variable}: ${chance(0.98) ? String(type) : pick(['Int', 'String!', '[ID]', 'Nonsense'])}`)
      if (chance(0.97)) variables[variable] = chosen
      return `${name}: $${variable}`
    })
    return texts.length === 0 ? '' : `(${texts.join(', ')})`
  }

  const directive = () =>
    chance(0.05) ? ` @${pick(['include(if: true)', 'skip(if: false)', 'skip(if: $no)', 'defer', 'x'])}` : ''

  function fieldOf(field: GraphQLField<unknown, unknown>, depth: number): string {
    const alias = chance(0.2) ? `${pick(['a', 'b', '__proto__', 'constructor', `a${below(99)}`])}: ` : ''
    const name = chance(0.01) ? 'nonsense' : field.name
    return `${alias}${name}${argumentsOf(field)}${directive()} ${selectionOf(getNamedType(field.type), depth - 1)}`
  }

  function selectionOf(type: GraphQLNamedType, depth: number): string {
    if (isLeafType(type)) return chance(0.01) ? '{ x }' : ''
    if (depth <= 0) return '{ __typename }'
    if (isAbstractType(type)) {
      const members = schema.getPossibleTypes(type).filter(() => chance(0.4))
      return `{ __typename ${members.map((member) => `... on ${member.name} ${selectionOf(member, depth)}`).join(' ')} }`
    }
    if (!isObjectType(type)) return '{ x }'
    const all = Object.values(type.getFields())
    const texts = Array.from({ length: 1 + below(FIELDS_MAX) }, () => fieldOf(pick(all), depth))
    if (!chance(0.08)) return `{ ${texts.join(' ')} }`
    const fragment = `F${fragments.length}`
    // Now and then it spreads itself, or another one that may not exist.
    const more = chance(0.1) ? `...F${below(fragments.length + 2)}` : ''
    fragments.push(`fragment ${fragment} on ${chance(0.98) ? type.name : 'Query'} { ${texts.join(' ')} ${more} }`)
    return `{ ...${fragment}${directive()} }`
  }

  return () => {
    variables = {}
    declarations = []
    fragments = []
    const word = chance(0.8) ? 'query' : 'mutation'
    const root = word === 'query' ? schema.getQueryType()! : schema.getMutationType()!
    const selection = selectionOf(root, 1 + below(chance(0.02) ? 20 : 3))
    const named = declarations.length > 0 ? `(${declarations.join(', ')})` : ''
    const query = `${word} Q${named} ${selection} ${fragments.join(' ')}`
    return { query, variables, ...(chance(0.05) && { operationName: pick(['Q', 'R', '']) }) }
  }
}

const BITS = [
  '{',
  '}',
  '(',
  ')',
  '[',
  ']',
  '"',
  '"""',
  '\\',
  '\0',
  '\ud800',
  ':',
  '$',
  '...',
  '@',
  '#',
  '1e999',
  'null',
  ',',
  '\n',
]

/** A text with a part removed, doubled or inserted. */
export function bent(text: string, { below, chance, pick }: Random): string {
  let bending = text
  for (let times = 1 + below(3); times > 0; times--) {
    const from = below(bending.length + 1)
    const to = Math.min(bending.length, from + below(20))
    const put = chance(0.4) ? pick(BITS) : chance(0.5) ? bending.slice(from, to).repeat(2) : ''
    bending = bending.slice(0, from) + put + bending.slice(to)
  }
  return bending
}
