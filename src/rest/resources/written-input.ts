import { camelCase, renamed } from './snake-case.ts'

/** Fields of inputs whose values are words of closed sets, or lists of such words. */
const WORDS: ReadonlySet<string> = new Set([
  'sessionType',
  'clusterMode',
  'preset',
  'backoff',
  'jitter',
  'eligibleCauses',
  'causes',
  'action',
  'avoid',
  'exclude',
  'overlap',
])

/**
 * A body as services read it: names in camelCase, words of closed sets in capitals. Names of slots, labels and the like
 * are values and stay.
 */
export function writtenInput(body: unknown): unknown {
  return inCapitals(renamed(body, camelCase))
}

function inCapitals(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inCapitals)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, WORDS.has(name) ? capitals(item) : inCapitals(item)]),
  )
}

function capitals(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(capitals)
  return typeof value === 'string' ? value.toUpperCase() : value
}
