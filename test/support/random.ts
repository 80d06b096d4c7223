export interface Random {
  /** From 0 to below 1. */
  next(): number
  /** A whole number from 0 to below `bound`. */
  below(bound: number): number
  chance(share: number): boolean
  pick<T>(items: readonly T[]): T
}

/** The same sequence for the same seed (mulberry32). */
export function randomOf(seed: number): Random {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (bound: number) => Math.floor(next() * bound)
  return { next, below, chance: (share) => next() < share, pick: (items) => items[below(items.length)]! }
}
