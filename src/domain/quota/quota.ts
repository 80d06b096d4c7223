/** The kind of scope that a quota limits. */
export type QuotaScope = 'USER' | 'PROJECT' | 'DOMAIN'

/** The most that may exist at once; null, or a slot that is not named, is unlimited. */
export interface QuotaLimits {
  /** Summed over all kernels that hold slots: exact decimals as text, bytes for `mem`. */
  slots: Record<string, string>
  /** Sessions between PENDING and the terminal statuses: they hold slots, or are about to. */
  maxRunning: number | null
  /** Sessions in PENDING. */
  maxPending: number | null
  /** Bytes of all checkpoints: while they have as much, no new chain starts. */
  maxCheckpointBytes: number | null
}

/** The present usage. A retry counts once it is a session, so not while it waits out a backoff. */
export interface QuotaUsage {
  slots: Record<string, string>
  running: number
  pending: number
  /** As last measured. */
  checkpointBytes: number
}

/** Identifies a quota. */
export interface QuotaKey {
  scope: QuotaScope
  scopeId: string
}

export interface Quota extends QuotaKey, QuotaLimits {
  /** The name of the user, project or domain. */
  name: string
}
