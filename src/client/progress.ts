import type { RepriseClientError } from './errors.ts'

/** What goes on while a caller waits. */
export type Progress =
  /** An operation failed and is tried again, at once or after a pause. */
  | {
      kind: 'retry'
      layer: 'http' | 'network' | 'endpoint'
      operation: string
      /** How many attempts of this layer have failed. */
      failed: number
      delaySeconds: number
      error: RepriseClientError
    }
  /** A subscription's connection broke; it is made again after the pause and goes on where it was. */
  | { kind: 'reconnect'; operation: string; failed: number; delaySeconds: number; error: unknown }

export type OnProgress = (progress: Progress) => void
