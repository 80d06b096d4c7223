import type { LifecycleName, PromotionName } from './session/handlers.ts'

/** Background work by the name of the service that does it, and `events` for readers of the outbox. */
export type WakeTopic =
  | LifecycleName
  | PromotionName
  | 'enforce-batch-timeouts'
  | 'decide-retries'
  | 'dispatch-retries'
  | 'resubmit-sessions'
  | 'deliver-webhooks'
  | 'drive-deployments'
  | 'drive-routes'
  | 'check-route-health'
  | 'sync-discovery'
  | 'events'

/** Who follows the progress of one thing. */
export type FollowTopic = `resubmission:${string}`

/** Says, after a commit, that there may be work. Too often costs a look; too seldom costs an interval. */
export interface Wake {
  wake(...topics: (WakeTopic | FollowTopic)[]): void
  /** These agents have something new to be told. */
  wakeAgents(agentIds: readonly string[]): void
}
