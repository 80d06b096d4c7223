import type { RepriseClientError } from './errors.ts'

/** Progress reported while a caller waits. */
export type Progress =
  /** An operation failed and is retried, at once or after a pause. */
  | {
      kind: 'retry'
      layer: 'http' | 'network' | 'endpoint'
      operation: string
      /** How many attempts of this layer have failed. */
      failed: number
      delaySeconds: number
      error: RepriseClientError
    }
  /** A subscription's connection broke; it is reopened after the pause and resumes where it stopped. */
  | { kind: 'reconnect'; operation: string; failed: number; delaySeconds: number; error: unknown }

export type OnProgress = (progress: Progress) => void
