/** Whose sessions a quota is about. */
export type QuotaScope = 'USER' | 'PROJECT' | 'DOMAIN'

/** What may exist at once; null, and a slot that is not named, limits nothing. */
export interface QuotaLimits {
  /** Over all kernels that hold slots: exact decimals as text, bytes for `mem`. */
  slots: Record<string, string>
  /** Sessions between PENDING and the terminal statuses: they hold slots, or are about to. */
  maxRunning: number | null
  /** Sessions in PENDING. */
  maxPending: number | null
}

/** What counts against them. A retry counts once it is a session, so not while it waits out a backoff. */
export interface QuotaUsage {
  slots: Record<string, string>
  running: number
  pending: number
}

/** What a quota is found by. */
export interface QuotaKey {
  scope: QuotaScope
  scopeId: string
}

export interface Quota extends QuotaKey, QuotaLimits {
  /** Of the user, project or domain. */
  name: string
}
