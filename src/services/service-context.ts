import type { LifecycleName, PromotionName } from '../domain/session/handlers.ts'
import type { Logger } from '../observability/log.ts'
import type { Database } from '../store/database.ts'

export type Role = 'ADMIN' | 'MEMBER' | 'VIEWER' | 'AGENT'

/** Who asks. From the token alone. */
export interface Viewer {
  tokenId: string
  userId: string | null
  name: string
  role: Role
  /** The one project that it sees; null sees all (ADMIN only). */
  projectId: string | null
}

/** Background work by the name of the service that does it, and `events` for readers of the outbox. */
export type WakeTopic =
  | LifecycleName
  | PromotionName
  | 'enforce-batch-timeouts'
  | 'decide-retries'
  | 'dispatch-retries'
  | 'events'

/** Says, after a commit, that there may be work. Too often costs a look; too seldom costs an interval. */
export interface Wake {
  wake(...topics: WakeTopic[]): void
  /** These agents have something new to be told. */
  wakeAgents(agentIds: readonly string[]): void
}

/** What every service is given: the database, who asks, and how to say that there is work. */
export interface ServiceContext {
  db: Database
  viewer: Viewer
  wake: Wake
  log: Logger
}
