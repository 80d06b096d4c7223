import SchemaBuilder, {
  BasePlugin,
  type PothosOutputFieldConfig,
  type PothosOutputFieldType,
  type SchemaTypes,
} from '@pothos/core'
import { type GraphQLFieldResolver, type GraphQLResolveInfo, Kind, type SelectionSetNode } from 'graphql'
import { RepriseError } from '../../domain/errors.ts'
import { ANSWER_FIELDS_MAX, FIELDS_PER_TURN } from '../limits/limits.ts'

export const pacedAnswers = 'pacedAnswers'

declare global {
  export namespace PothosSchemaTypes {
    export interface Plugins<Types extends SchemaTypes> {
      [pacedAnswers]: PacedAnswers<Types>
    }
  }
}

/**
 * Completes objects in lists a bounded number of fields at a time, and limits the number of fields of an answer. The
 * cost of an operation does not limit this number, because it assumes a length for each list.
 */
class PacedAnswers<Types extends SchemaTypes> extends BasePlugin<Types> {
  override wrapResolve(
    wrapped: GraphQLFieldResolver<unknown, Types['Context'], object>,
    { type }: PothosOutputFieldConfig<Types>,
  ): GraphQLFieldResolver<unknown, Types['Context'], object> {
    if (!isListOfObjects(type)) return wrapped
    return (root, args, context, info) => {
      const { pace } = context as { pace: Pace }
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

/** Keyed by the field's first selection set, which is the same object each time the document is executed. */
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

SchemaBuilder.registerPlugin(pacedAnswers, PacedAnswers)

/**
 * Counts the fields of an answer and spreads its items over turns of the event loop. There is one for each operation,
 * or for each batch of events that are executed together.
 */
export interface Pace {
  /**
   * Returns the items, some of them as promises for later turns of the event loop.
   * @throws RepriseError VALIDATION_FAILED if they make the answer too large
   */
  spread<Item>(items: readonly Item[], fieldsOfEach: number): (Item | Promise<Item>)[]
  /** Whether the answer had too many fields. */
  readonly exceeded: boolean
}

export function createPace(): Pace {
  let fields = 0
  let leftThisTurn = FIELDS_PER_TURN
  let waiting: { cost: number; begin: () => void }[] = []
  let nextTurn: NodeJS.Immediate | undefined

  function take<Item>(item: Item, cost: number): Item | Promise<Item> {
    nextTurn ??= setImmediate(turn)
    if (waiting.length === 0 && leftThisTurn > 0) {
      leftThisTurn -= cost
      return item
    }
    const { promise, resolve } = Promise.withResolvers<Item>()
    waiting.push({ cost, begin: () => resolve(item) })
    return promise
  }

  function turn(): void {
    nextTurn = undefined
    leftThisTurn = FIELDS_PER_TURN
    let begun = 0
    for (; begun < waiting.length && leftThisTurn > 0; begun++) {
      const { cost, begin } = waiting[begun]!
      leftThisTurn -= cost
      begin()
    }
    waiting = waiting.slice(begun)
    if (begun > 0) nextTurn = setImmediate(turn)
  }

  return {
    spread(items, fieldsOfEach) {
      fields += items.length * fieldsOfEach
      if (fields > ANSWER_FIELDS_MAX) {
        throw new RepriseError(
          'VALIDATION_FAILED',
          `The answer is too large: more than ${ANSWER_FIELDS_MAX} fields. Ask for fewer items, or for fewer fields of each.`,
        )
      }
      return items.map((item) => take(item, fieldsOfEach))
    },
    get exceeded() {
      return fields > ANSWER_FIELDS_MAX
    },
  }
}
