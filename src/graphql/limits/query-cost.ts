import { RepriseError } from '../../domain/errors.ts'
import { QUERY_BREADTH_MAX, QUERY_COMPLEXITY_MAX, QUERY_DEPTH_MAX } from './limits.ts'

export interface Cost {
  depth: number
  breadth: number
  complexity: number
}

const QUERY_COST_MAX: Cost = {
  depth: QUERY_DEPTH_MAX,
  breadth: QUERY_BREADTH_MAX,
  complexity: QUERY_COMPLEXITY_MAX,
}

/** An error that names the first limit that an operation exceeds; undefined if it exceeds none. */
export function tooMuch(cost: Cost): RepriseError | undefined {
  const measures = [
    ['deep', cost.depth, QUERY_COST_MAX.depth],
    ['broad', cost.breadth, QUERY_COST_MAX.breadth],
    ['complex', cost.complexity, QUERY_COST_MAX.complexity],
  ] as const
  const over = measures.find(([, is, max]) => is > max)
  if (!over) return undefined
  const [what, is, max] = over
  return new RepriseError('VALIDATION_FAILED', `The query is too ${what}: ${is}, where the limit is ${max}.`)
}
