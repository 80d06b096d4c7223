import type { BenchDatabase } from '../ground.ts'

/** One of those compared, running. */
export interface Running extends AsyncDisposable {
  /** Adds jobs, each of which fails once and then succeeds. */
  enqueue(count: number): Promise<void>
  /** How many jobs have succeeded so far, as its store has it. */
  succeeded(): Promise<number>
}

export interface Side {
  name: string
  /** Between the failure and the next attempt. */
  backoffMs: number
  /** How it is run. */
  set: string
  /** Its PostgreSQL database, or the directory of its append-only file. */
  store: BenchDatabase | { aofDirectory: string }
  start(): Promise<Running>
}
