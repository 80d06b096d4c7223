import { AGENTS_NAMED_MAX } from '../limits.ts'
import { retryCreationId } from '../session/creation-id.ts'
import type { FailureCause } from '../session/causes.ts'
import type { RetryVerdict } from './verdict.ts'

export interface RetriedParent {
  id: string
  chainId: string
  /** The creation id of the chain's first session. */
  chainCreationId: string
  attempt: number
  retryCount: number
  uncountedRetries: number
  epoch: number
  epochStartedAt: Date
  resourceSlots: Record<string, string>
  batchTimeout: number | null
  resourceGroup: string
  avoidAgents: string[]
  excludeAgents: string[]
  avoidGroups: string[]
}

/** The fields of an automatic child that are its own; the rest of its spec, and the policy, are its parent's. */
export interface DerivedChild {
  parentSessionId: string
  chainId: string
  creationId: string
  attempt: number
  retryCount: number
  uncountedRetries: number
  epoch: number
  epochStartedAt: Date
  origin: 'AUTO_RETRY'
  retryCause: FailureCause | null
  resourceSlots: Record<string, string>
  batchTimeout: number | null
  avoidAgents: string[]
  excludeAgents: string[]
  avoidGroups: string[]
}

/** The part of a verdict that changes the child, as stored with the decision; decisions of before exclude nothing. */
export type ChildChanges = Pick<RetryVerdict, 'cause' | 'counted' | 'growth' | 'avoid'> &
  Partial<Pick<RetryVerdict, 'exclude'>>

export function deriveChild(parent: RetriedParent, changes: ChildChanges): DerivedChild {
  const failedAgain = parent.avoidGroups.includes(parent.resourceGroup) ? [parent.resourceGroup] : []
  return {
    parentSessionId: parent.id,
    chainId: parent.chainId,
    creationId: retryCreationId(parent.chainCreationId, parent.attempt + 1),
    attempt: parent.attempt + 1,
    retryCount: parent.retryCount + (changes.counted ? 1 : 0),
    uncountedRetries: parent.uncountedRetries + (changes.counted ? 0 : 1),
    epoch: parent.epoch,
    epochStartedAt: parent.epochStartedAt,
    origin: 'AUTO_RETRY',
    retryCause: changes.cause,
    resourceSlots: { ...(changes.growth?.resourceSlots ?? parent.resourceSlots) },
    batchTimeout: changes.growth ? changes.growth.batchTimeout : parent.batchTimeout,
    avoidAgents: withLast(parent.avoidAgents, changes.avoid.agents),
    excludeAgents: withLast(parent.excludeAgents, changes.exclude?.agents ?? []),
    avoidGroups: withLast(parent.avoidGroups, [...changes.avoid.groups, ...failedAgain]),
  }
}

/** The places that failed last are at the end. The oldest are forgotten when the list grows too long. */
function withLast(places: readonly string[], failed: readonly string[]): string[] {
  const last = new Set(failed)
  return [...places.filter((place) => !last.has(place)), ...last].slice(-AGENTS_NAMED_MAX)
}
