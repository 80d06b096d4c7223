import fc from 'fast-check'
import {
  getNamedType,
  isInterfaceType,
  isLeafType,
  isObjectType,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLObjectType,
  type GraphQLSchema,
  type GraphQLUnionType,
} from 'graphql'
import { QUERY_BREADTH_MAX } from '../../../src/graphql/limits/limits.ts'
import { fillArguments, type Values } from '../tenancy/fill-arguments.ts'
import { fieldName, fieldPaths, leavesOf, needsArguments, type FieldPath } from '../tenancy/field-paths.ts'
import { arbitraryArguments, type Known } from './arbitrary-arguments.ts'
import { toLiteral } from './literal.ts'

type Field = GraphQLField<unknown, unknown>

export interface Operation {
  query: string
  variables: Record<string, unknown>
}

/** A field with arguments, and what stands around it. */
export interface Target {
  name: string
  field: Field
  around: (use: string, declarations: string) => string
  /** For what leads to it. */
  variables: Values
}

/** The root type's own fields. */
export function rootTargets(schema: GraphQLSchema, type: GraphQLObjectType, word: string): Target[] {
  return Object.values(type.getFields()).map((field) => ({
    name: field.name,
    field,
    around: (use, declarations) => `${word} ${declarations} { ${use} ${resultOf(schema, field)} }`,
    variables: {},
  }))
}

/** They lead to whatever has an id. */
const NODES: ReadonlySet<string> = new Set(['node', 'nodes'])

/** Fields further in that take arguments, each once, behind what the values lead to. */
export function innerTargets(schema: GraphQLSchema, values: Values): Target[] {
  const targets = new Map<string, Target>()
  for (const path of fieldPaths(schema, schema.getQueryType()!)) {
    const { type } = path.steps.at(-1)!
    for (const field of Object.values(type.getFields())) {
      const name = fieldName(type, field)
      if (field.args.length === 0 || targets.has(name) || NODES.has(path.root.name)) continue
      targets.set(name, { name, field, ...surroundings(schema, path, field, values) })
    }
  }
  return [...targets.values()]
}

function surroundings(schema: GraphQLSchema, { root, steps }: FieldPath, field: Field, values: Values) {
  const { declarations, uses, variables } = fillArguments(root, values)
  return {
    variables,
    around(use: string, own: string) {
      const inner = steps.reduceRight(
        (text, step) => `{ ... on ${step.type.name} { ${step.field ? `${step.field.name} ${text}` : text} } }`,
        `${use} ${resultOf(schema, field)}`,
      )
      return `query ${joined(declarations, own)} { ${root.name}${uses} ${inner} }`
    },
  }
}

function joined(...declarations: string[]): string {
  const all = declarations.map((text) => text.slice(1, -1)).filter((text) => text !== '')
  return all.length === 0 ? '' : `(${all.join(', ')})`
}

/** The field with all its arguments as variables, or written into the document. */
export function arbitraryOperation(target: Target, known: Known): fc.Arbitrary<Operation> {
  const { field, around, variables } = target
  const polite = arbitraryArguments(field.args, { rude: false, ...known }, field.name)
  const rude = arbitraryArguments(field.args, { rude: true, ...known }, field.name)
  const all = fc.oneof({ weight: 3, arbitrary: polite }, { weight: 1, arbitrary: rude })
  return fc.tuple(all, fc.nat(4)).map(([given, style]) => {
    const args = field.args.filter(({ name }) => name in given)
    const list = (texts: string[]) => (texts.length === 0 ? '' : `(${texts.join(', ')})`)
    const literal = style === 0 && JSON.stringify(given).length < 10_000
    if (literal) {
      const use = `${field.name}${list(args.map(({ name, type }) => `${name}: ${toLiteral(given[name], type)}`))}`
      return { query: around(use, ''), variables }
    }
    const use = `${field.name}${list(args.map(({ name }) => `${name}: $fuzzed_${name}`))}`
    const declarations = list(args.map(({ name, type }) => `$fuzzed_${name}: ${String(type)}`))
    const fuzzed = Object.fromEntries(args.map(({ name }) => [`fuzzed_${name}`, given[name]]))
    return { query: around(use, declarations), variables: { ...variables, ...fuzzed } }
  })
}

/** All leaves of what a field gives, and of the objects in it, as deep as an operation may ask for all of them. */
function resultOf(schema: GraphQLSchema, field: Field): string {
  const depths = isPage(field) ? [3, 2, 1, 0] : [2, 1, 0]
  const texts = depths.map((depth) => selection(schema, getNamedType(field.type), depth))
  return texts.find((text) => (text.match(/\w+/g)?.length ?? 0) < RESULT_FIELDS_MAX)!
}

/** The path to the field counts, too. */
const RESULT_FIELDS_MAX = QUERY_BREADTH_MAX - 20

function isPage({ args }: Field): boolean {
  return args.some(({ name }) => name === 'after')
}

function selection(schema: GraphQLSchema, type: GraphQLNamedType, depth: number): string {
  if (isLeafType(type)) return ''
  if (isObjectType(type)) return `{ __typename ${fieldsOf(schema, type, depth)} }`
  // Members of an interface may have fields of the same name and of different types.
  if (isInterfaceType(type)) return '{ __typename }'
  const members = schema.getPossibleTypes(type as GraphQLUnionType)
  return `{ __typename ${members.map((member) => `... on ${member.name} { ${fieldsOf(schema, member, depth - 1)} }`).join(' ')} }`
}

function fieldsOf(schema: GraphQLSchema, type: GraphQLObjectType, depth: number): string {
  const inner = Object.values(type.getFields()).filter(
    (field) => depth > 0 && !isLeafType(getNamedType(field.type)) && !needsArguments(field),
  )
  const nested = inner.map((field) => `${field.name} ${selection(schema, getNamedType(field.type), depth - 1)}`)
  return [leavesOf(type), ...nested].join(' ')
}
