import { RepriseError } from '../domain/errors.ts'
import { ANSWER_FIELDS_MAX, FIELDS_PER_TURN } from './limits/limits.ts'

/**
 * How much of an answer has been made, and when the rest is. One per operation, or for the events of a subscription that
 * are executed together.
 */
export interface Pace {
  /**
   * The items, of which some come in later turns of the event loop.
   * @throws RepriseError VALIDATION_FAILED if the answer has too many fields with them
   */
  spread<Item>(items: readonly Item[], fieldsOfEach: number): (Item | Promise<Item>)[]
  /** Whether it had too many fields. */
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
          `The answer is too large: more than ${ANSWER_FIELDS_MAX} fields. Ask for fewer items, or for less of each.`,
        )
      }
      return items.map((item) => take(item, fieldsOfEach))
    },
    get exceeded() {
      return fields > ANSWER_FIELDS_MAX
    },
  }
}
