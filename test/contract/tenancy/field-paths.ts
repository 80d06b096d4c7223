import {
  getNamedType,
  isAbstractType,
  isEnumType,
  isLeafType,
  isNonNullType,
  isObjectType,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLSchema,
} from 'graphql'

type Field = GraphQLField<unknown, unknown>

/** One way from a field of a root type to a type behind it. */
export interface FieldPath {
  root: Field
  /** Field by field, each with the type that has it. */
  steps: { type: GraphQLObjectType; field: Field | null }[]
}

/** `Session.kernels` */
export function fieldName(type: GraphQLObjectType, field: Field): string {
  return `${type.name}.${field.name}`
}

/**
 * For each field of the root type, the ways to everything behind it, breadth first. A field that leads on is taken
 * once, from lists rather than from what has to be named; each end has all its leaves selected.
 */
export function fieldPaths(schema: GraphQLSchema, rootType: GraphQLObjectType): FieldPath[] {
  const visited = new Set<string>()
  const paths: FieldPath[] = []
  const roots = Object.values(rootType.getFields()).toSorted(
    (a, b) => Number(needsArguments(a)) - Number(needsArguments(b)),
  )
  const queue: FieldPath[] = roots.flatMap((root) =>
    membersOf(schema, root).map((type) => ({ root, steps: [{ type, field: null }] })),
  )
  for (let path = queue.shift(); path !== undefined; path = queue.shift()) {
    paths.push(path)
    const { type } = path.steps.at(-1)!
    for (const field of Object.values(type.getFields())) {
      if (
        isLeafType(getNamedType(field.type)) ||
        needsArguments(field) ||
        visited.has(`${path.root.name} ${fieldName(type, field)}`)
      )
        continue
      visited.add(`${path.root.name} ${fieldName(type, field)}`)
      const steps = [...path.steps.slice(0, -1), { type, field }]
      for (const next of membersOf(schema, field))
        queue.push({ ...path, steps: [...steps, { type: next, field: null }] })
    }
  }
  return paths
}

/** Everything that the end of this way tells by itself, in a selection from the root field on. */
export function selectionOf({ steps }: FieldPath): string {
  const [first, ...rest] = steps
  const { type, field } = first!
  const inner =
    field === null ? leavesOf(type) : `${field.name}${pageOf(field)} ${selectionOf({ root: field, steps: rest })}`
  return `{ __typename ... on ${type.name} { ${inner} } }`
}

export function leavesOf(type: GraphQLObjectType): string {
  const leaves = Object.values(type.getFields()).filter(
    (field) => isLeafType(getNamedType(field.type)) && !needsArguments(field),
  )
  return leaves.length === 0 ? '__typename' : leaves.map(({ name }) => name).join(' ')
}

function membersOf(schema: GraphQLSchema, field: Field): readonly GraphQLObjectType[] {
  const named = getNamedType(field.type)
  if (isAbstractType(named)) return schema.getPossibleTypes(named)
  return isObjectType(named) && !isEnumType(named) ? [named] : []
}

export function needsArguments(field: Field): boolean {
  return field.args.some(({ type, defaultValue }) => isNonNullType(type) && defaultValue === undefined)
}

/** All of a small list, so that what should not be there is seen. */
function pageOf(field: Field): string {
  return field.args.some(({ name }) => name === 'first') ? '(first: 10)' : ''
}
