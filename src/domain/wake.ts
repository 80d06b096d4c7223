import type { LifecycleName, PromotionName } from './session/lifecycle.ts'

/** The background services by name, and `events` for readers of the outbox. */
export type WakeTopic =
  | LifecycleName
  | PromotionName
  | 'enforce-batch-timeouts'
  | 'decide-retries'
  | 'dispatch-retries'
  | 'resubmit-sessions'
  | 'run-schedules'
  | 'settle-groups'
  | 'group-failures'
  | 'deliver-webhooks'
  | 'drive-deployments'
  | 'drive-routes'
  | 'check-route-health'
  | 'sync-discovery'
  | 'events'

/** The topic for followers of one resubmission's progress. */
export type FollowTopic = `resubmission:${string}`

/**
 * Signals, after a commit, that there may be work. A superfluous signal costs one pass; a missing one costs an
 * interval.
 */
export interface Wake {
  wake(...topics: (WakeTopic | FollowTopic)[]): void
  /** Signals that the next sync of these agents has something new to return. */
  wakeAgents(agentIds: readonly string[]): void
}
