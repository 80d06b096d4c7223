import { describeAmount } from './amounts.ts'

/** The kind of scope that a quota limits. */
export type QuotaScope = 'USER' | 'PROJECT' | 'DOMAIN'

/** The largest usage that is allowed. Null, or a slot that is not named, means unlimited. */
export interface QuotaLimits {
  /** The sum over all kernels that hold slots: exact decimals as text, bytes for `mem`. */
  slots: Record<string, string>
  /** Sessions between PENDING and the terminal statuses: they hold slots, or are about to. */
  maxRunning: number | null
  /** Sessions in PENDING. */
  maxPending: number | null
  /** Total bytes of all checkpoints. Once the usage reaches this limit, no new chain starts. */
  maxCheckpointBytes: number | null
  /** Total bytes of all kept outputs. Files of further outputs are not collected. */
  maxOutputBytes: number | null
}

/** The present usage. A retry counts only once its session exists: during the backoff it does not count. */
export interface QuotaUsage {
  slots: Record<string, string>
  running: number
  pending: number
  /** Bytes at the last measurement. */
  checkpointBytes: number
  /** Bytes of all kept outputs. Equal contents count each time, though they are stored once. */
  outputBytes: number
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

/** A limit on pending sessions, counted with its quota locked. */
export interface PendingLimit {
  scope: QuotaScope
  scopeId: string
  name: string
  /** The projects that it covers; empty for a user's quota. */
  projectIds: readonly string[]
  maxPending: number
  /** The number of pending sessions. It exceeds `maxPending` if the limit was set later. */
  pending: number
}

export interface Owner {
  projectId: string
  userId: string | null
}

export interface PendingPlaces {
  /** Returns a full limit that applies to this owner, with its present count; undefined if all have a place. */
  fullFor(owner: Owner): PendingLimit | undefined
  /** Takes one place of every limit that applies to this owner. */
  take(owner: Owner): void
}

/** Tracks the free places of the limits during a batch. */
export function pendingPlaces(limits: readonly PendingLimit[]): PendingPlaces {
  const left = new Map(limits.map((limit) => [limit, limit.maxPending - limit.pending]))
  const over = (owner: Owner) => limits.filter((limit) => covers(limit, owner))
  return {
    fullFor(owner) {
      const full = over(owner).find((limit) => left.get(limit)! < 1)
      return full && { ...full, pending: full.maxPending - left.get(full)! }
    },
    take: (owner) => over(owner).forEach((limit) => left.set(limit, left.get(limit)! - 1)),
  }
}

/** Describes a full limit with its numbers: `project default has 12 pending sessions, and may have 12`. */
export function describeFull({ scope, name, pending, maxPending }: PendingLimit): string {
  return `${scope.toLowerCase()} ${name} has ${pending} pending sessions, and may have ${maxPending}`
}

/** A quota whose limit of checkpoint bytes is reached. */
export interface CheckpointShortage {
  scope: QuotaScope
  /** The name of the user, project or domain. */
  name: string
  bytes: number
  maxBytes: number
}

/**
 * Returns `the checkpoints of project p have 12 GiB, and its quota allows 10 GiB: no new chain starts until some are
 * dropped`.
 */
export function explainCheckpointShortage({ scope, name, bytes, maxBytes }: CheckpointShortage): string {
  const [has, allows] = [bytes, maxBytes].map((amount) => describeAmount('mem', String(amount)))
  return `the checkpoints of ${scope.toLowerCase()} ${name} have ${has}, and its quota allows ${allows}: no new chain starts until some are dropped`
}

function covers({ scope, scopeId, projectIds }: PendingLimit, { projectId, userId }: Owner): boolean {
  return scope === 'USER' ? scopeId === userId : projectIds.includes(projectId)
}
