import type { FailureCause } from './causes.ts'
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
  avoidAgents: string[]
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
  avoidGroups: string[]
}

/** The part of a verdict that shapes the child, as stored with the decision. */
export type ChildShape = Pick<RetryVerdict, 'cause' | 'counted' | 'growth' | 'avoid'>

export function deriveChild(parent: RetriedParent, shape: ChildShape): DerivedChild {
  return {
    parentSessionId: parent.id,
    chainId: parent.chainId,
    creationId: retryCreationId(parent.chainCreationId, parent.attempt + 1),
    attempt: parent.attempt + 1,
    retryCount: parent.retryCount + (shape.counted ? 1 : 0),
    uncountedRetries: parent.uncountedRetries + (shape.counted ? 0 : 1),
    epoch: parent.epoch,
    epochStartedAt: parent.epochStartedAt,
    origin: 'AUTO_RETRY',
    retryCause: shape.cause,
    resourceSlots: { ...(shape.growth?.resourceSlots ?? parent.resourceSlots) },
    batchTimeout: shape.growth ? shape.growth.batchTimeout : parent.batchTimeout,
    avoidAgents: union(parent.avoidAgents, shape.avoid.agents),
    avoidGroups: union(parent.avoidGroups, shape.avoid.groups),
  }
}

/** Unique in the chain, because attempts are; two dispatchers derive the same one. */
export function retryCreationId(chainCreationId: string, attempt: number): string {
  return `${chainCreationId}:retry:${attempt - 1}`
}

function union(a: readonly string[], b: readonly string[]): string[] {
  return [...new Set([...a, ...b])]
}
