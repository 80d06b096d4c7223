import { join } from 'node:path'

export const SEEDS_FILE = join(import.meta.dirname, '../../seeds.json')

/** A test and a seed with which it has failed: each run of the suite repeats it. */
export interface SavedSeed {
  /** From the project's root. */
  file: string
  /** The full name. */
  test: string
  seed: number
  /** When it was found, `2026-11-27`. */
  date: string
  /** The beginning of the error message. */
  found: string
}
