import type { QuotaScope } from './quota.ts'

/** A limit on pending sessions, counted with its quota locked. */
export interface PendingLimit {
  scope: QuotaScope
  scopeId: string
  name: string
  /** The projects it covers; none for a user's quota. */
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
  /** A limit with no place left for a session of this owner, with its present count; undefined if all have one. */
  fullFor(owner: Owner): PendingLimit | undefined
  /** Takes one place of every limit that applies to this owner. */
  take(owner: Owner): void
}

/** Hands out the places that the limits still have. */
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

function covers({ scope, scopeId, projectIds }: PendingLimit, { projectId, userId }: Owner): boolean {
  return scope === 'USER' ? scopeId === userId : projectIds.includes(projectId)
}

/** With the numbers: `project default has 12 pending sessions, and may have 12`. */
export function describeFull({ scope, name, pending, maxPending }: PendingLimit): string {
  return `${scope.toLowerCase()} ${name} has ${pending} pending sessions, and may have ${maxPending}`
}
