import type { Wake } from '../domain/wake.ts'
import type { Logger } from '../observability/log.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { Database } from '../store/database.ts'
import type { SecretBox } from './access/secrets.ts'

export type Role = 'ADMIN' | 'MEMBER' | 'VIEWER' | 'AGENT' | 'METRICS'

/** The caller, known from the token alone. */
export interface Viewer {
  tokenId: string
  userId: string | null
  name: string
  role: Role
  /** The only project that it sees; null: all (ADMIN and METRICS only). */
  projectId: string | null
  /** Of an agent's token: the only groups that its agents may join; null or missing: any. */
  resourceGroups?: string[] | null
  /** Of a browser's own token: the one that it was logged in with. */
  sessionOf?: string | null
  /** The request through which it speaks. */
  request?: RequestOrigin
}

export interface RequestOrigin {
  id: string
  /** Of the other end of the connection: behind a proxy, the proxy's. */
  address: string | null
}

/** Context of every service: the database, the viewer, wake-ups, log, metrics, and what encrypts secrets. */
export interface ServiceContext {
  db: Database
  viewer: Viewer
  wake: Wake
  log: Logger
  metrics: Metrics
  secrets: SecretBox
}
