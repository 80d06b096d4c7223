import type { Logger } from '../observability/log.ts'
import type { Database } from '../store/database.ts'

export type Role = 'ADMIN' | 'MEMBER' | 'VIEWER' | 'AGENT'

/** Who asks. From the token alone. */
export interface Viewer {
  tokenId: string
  name: string
  role: Role
  /** The one project that it sees; null sees all (ADMIN only). */
  projectId: string | null
}

/** Topics on which background work sleeps. Waking too often costs a look; waking never costs an interval. */
export type WakeTopic =
  | 'schedule'
  | 'prepare'
  | 'start'
  | 'promote'
  | 'terminate'
  | 'decide'
  | 'dispatch'
  | 'events'
  | 'agents'

export interface Wake {
  wake(...topics: WakeTopic[]): void
}

/** What every service is given: the database, who asks, and how to say that there is work. */
export interface ServiceContext {
  db: Database
  viewer: Viewer
  wake: Wake
  log: Logger
}
