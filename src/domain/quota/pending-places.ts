import type { QuotaScope } from './quota.ts'

/** A limit on pending sessions, as it was counted with its quota locked. */
export interface PendingLimit {
  scope: QuotaScope
  scopeId: string
  name: string
  /** Projects that lie in it; none for a user's. */
  projectIds: readonly string[]
  maxPending: number
  /** What is pending now. More than `maxPending` where the limit came later. */
  pending: number
}

export interface Owner {
  projectId: string
  userId: string | null
}

export interface PendingPlaces {
  /** A limit that has no place for one more session of this owner, as it stands now; undefined where all have one. */
  fullFor(owner: Owner): PendingLimit | undefined
  /** One place of every limit that this owner is under. */
  take(owner: Owner): void
}

/** Gives out what the limits still have room for. */
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
