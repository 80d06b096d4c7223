import type { Wake } from '../domain/wake.ts'
import type { Logger } from '../observability/log.ts'
import type { Metrics } from '../observability/metrics.ts'
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

/** What every service is given: the database, who asks, how to say that there is work, and where to count. */
export interface ServiceContext {
  db: Database
  viewer: Viewer
  wake: Wake
  log: Logger
  metrics: Metrics
}
