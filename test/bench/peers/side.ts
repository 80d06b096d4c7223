import type { BenchDatabase } from '../ground.ts'

/** A side that has been started. */
export interface Running extends AsyncDisposable {
  /** Adds jobs, each of which fails once and then succeeds. */
  enqueue(count: number): Promise<void>
  /** Number of jobs whose success is in its store. */
  succeeded(): Promise<number>
}

/** Reprise or a peer. */
export interface Side {
  name: string
  /** Between the failure and the next attempt. */
  backoffMs: number
  /** How it is set up, for the notes. */
  setup: string
  /** Its PostgreSQL database, or the directory of its append-only file. */
  store: BenchDatabase | { aofDirectory: string }
  start(): Promise<Running>
}
