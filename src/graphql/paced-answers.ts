import SchemaBuilder, {
  BasePlugin,
  type PothosOutputFieldConfig,
  type PothosOutputFieldType,
  type SchemaTypes,
} from '@pothos/core'
import { Kind, type GraphQLFieldResolver, type GraphQLResolveInfo, type SelectionSetNode } from 'graphql'
import type { GraphQLContext } from './context.ts'

const NAME = 'pacedAnswers'

declare global {
  export namespace PothosSchemaTypes {
    export interface Plugins<Types extends SchemaTypes> {
      [NAME]: PacedAnswers<Types>
    }
  }
}

/**
 * Objects in lists are completed a bounded number of fields at a time, and an answer has a bounded number of them. The
 * price of an operation only assumes how long its lists are.
 */
class PacedAnswers<Types extends SchemaTypes> extends BasePlugin<Types> {
  override wrapResolve(
    wrapped: GraphQLFieldResolver<unknown, Types['Context'], object>,
    { type }: PothosOutputFieldConfig<Types>,
  ): GraphQLFieldResolver<unknown, Types['Context'], object> {
    if (!isListOfObjects(type)) return wrapped
    return (root, args, context, info) => {
      const { pace } = context as GraphQLContext
      const spread = (items: unknown) =>
        Array.isArray(items) && items.length > 0 ? pace.spread(items as unknown[], fieldsOfItems(info)) : items
      const found: unknown = wrapped(root, args, context, info)
      return found instanceof Promise ? found.then(spread) : spread(found)
    }
  }
}

function isListOfObjects<Types extends SchemaTypes>(type: PothosOutputFieldType<Types>): boolean {
  return type.kind === 'List' && type.type.kind !== 'Scalar' && type.type.kind !== 'Enum'
}

/** By the first of the field's selections, which is the same object each time that a document is executed. */
const counted = new WeakMap<SelectionSetNode, number>()

function fieldsOfItems({ fieldNodes, fragments }: GraphQLResolveInfo): number {
  const count = ({ selections }: SelectionSetNode): number => {
    let fields = 0
    for (const selection of selections) {
      if (selection.kind === Kind.FIELD) fields += 1 + (selection.selectionSet ? count(selection.selectionSet) : 0)
      else if (selection.kind === Kind.INLINE_FRAGMENT) fields += count(selection.selectionSet)
      else fields += count(fragments[selection.name.value]!.selectionSet)
    }
    return fields
  }
  const first = fieldNodes[0]!.selectionSet
  if (!first) return 1
  const known = counted.get(first)
  if (known !== undefined) return known
  const fields = fieldNodes.reduce((sum, { selectionSet }) => sum + (selectionSet ? count(selectionSet) : 0), 0)
  counted.set(first, fields)
  return fields
}

SchemaBuilder.registerPlugin(NAME, PacedAnswers)

export default NAME
