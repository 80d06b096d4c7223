import { describe } from 'vitest'
import { ENGINES, type EngineName } from './engines.ts'

/** No test is expected to take a twentieth of this on an idle machine. */
const LONG = { timeout: 300_000 }

/**
 * The same tests for each engine: those of one engine run in order, the engines beside each other.
 *
 * @param title `%s` stands for the engine
 */
export function describeEngines(title: string, tests: (name: EngineName) => void): void {
  for (const name of ENGINES)
    // oxlint-disable-next-line vitest/valid-title -- the engine's name is a string
    describe.concurrent(name, LONG, () => {
      // oxlint-disable-next-line vitest/valid-title -- the title is a string
      describe(title.replace('%s', name), { concurrent: false }, () => {
        tests(name)
      })
    })
}

/** The same for tests that share nothing but an engine: all of them run beside each other. */
export function describeEnginesConcurrently(title: string, tests: (name: EngineName) => void): void {
  for (const name of ENGINES)
    // oxlint-disable-next-line vitest/valid-title -- the title is a string
    describe.concurrent(title.replace('%s', name), LONG, () => {
      tests(name)
    })
}
