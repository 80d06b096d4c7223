import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import fc from 'fast-check'
import { inject, TestRunner } from 'vitest'
import { SEEDS_FILE, type SavedSeed } from './run/saved-seeds.ts'

export { type Random, randomOf } from './random.ts'

/**
 * The seeds of all tests that make random choices. In the suite each of these tests runs with one fixed seed, and with
 * those in test/seeds.json with which it has failed before. `npm run test:long -- --minutes N` runs them with new ones.
 */

const ROOT = join(import.meta.dirname, '../..')
const SUITE_SEED = 20_261_127

declare module 'vitest' {
  interface ProvidedContext {
    /** The only seed of this run. */
    seed?: number
  }
  interface TaskMeta {
    /** Whether the test has asked for seeds. */
    seeded?: boolean
  }
}

/** The test that asks. A concurrent test must pass its own: `test('…', ({ task }) => …)`. */
export interface SeededTask {
  file: { filepath: string }
  fullTestName: string
  meta: { seeded?: boolean }
}

const saved = JSON.parse(readFileSync(SEEDS_FILE, 'utf8')) as SavedSeed[]

export function seedsOf(given?: SeededTask, known: readonly SavedSeed[] = saved): number[] {
  const task = given ?? currentTask()
  task.meta.seeded = true
  const seed = inject('seed')
  if (seed !== undefined) return [seed]
  const file = relative(ROOT, task.file.filepath)
  const own = known.filter((entry) => entry.file === file && entry.test === task.fullTestName)
  return [SUITE_SEED, ...own.map((entry) => entry.seed)]
}

function currentTask(): SeededTask {
  const task = TestRunner.getCurrentTest()
  if (!task) throw new Error('Seeds are for tests: ask for them within one')
  if (task.concurrent) throw new Error('Which of the concurrent tests asks for seeds is not known: pass its task')
  return task
}

/** Runs `work` with each seed of the test. */
export async function forEachSeed(work: (seed: number) => Promise<void> | void, task?: SeededTask): Promise<void> {
  for (const seed of seedsOf(task)) {
    try {
      await work(seed)
    } catch (error) {
      if (error instanceof Error) error.message = `With seed ${seed}: ${error.message}`
      throw error
    }
  }
}

type Options<Ts> = Omit<fc.Parameters<Ts>, 'seed'> & { task?: SeededTask }

/**
 * Checks a property with each seed of the test, `numRuns` times with each. Asynchronous ones end at the first failure:
 * the search for a smaller one takes longer than a test may.
 */
export function checkProperty<Ts>(property: fc.IAsyncProperty<Ts>, options?: Options<Ts>): Promise<void>
export function checkProperty<Ts>(property: fc.IProperty<Ts>, options?: Options<Ts>): void
export function checkProperty<Ts>(
  property: fc.IAsyncProperty<Ts> | fc.IProperty<Ts>,
  { task, ...parameters }: Options<Ts> = {},
): Promise<void> | void {
  if (property.isAsync()) {
    const check = (seed: number) => fc.assert(property, { endOnFailure: true, ...parameters, seed })
    return forEachSeed(check, task)
  }
  for (const seed of seedsOf(task)) fc.assert(property as fc.IProperty<Ts>, { ...parameters, seed })
}
