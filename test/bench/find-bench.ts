import type { Bench } from './bench.ts'
import { BENCHES } from './benches.ts'
import { QUICK_BENCHES } from './quick/quick-benches.ts'
import { TEST_BENCHES } from './test-benches.ts'

/** By set. Those of tests are run only if they are asked for by name. */
export const SETS = { whole: BENCHES, quick: QUICK_BENCHES } satisfies Record<string, readonly Bench[]>

export type Set = keyof typeof SETS

export function findBench(set: Set, name: string): Bench | undefined {
  return [...SETS[set], ...TEST_BENCHES].find((bench) => bench.name === name)
}
