import type { Wake } from '../domain/wake.ts'
import type { Logger } from '../observability/log.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { Database } from '../store/database.ts'
import type { SecretBox } from './access/secrets.ts'

export type Role = 'ADMIN' | 'MEMBER' | 'VIEWER' | 'AGENT' | 'METRICS'

/** The caller of a service. All fields except `request` are those of its token. */
export interface Viewer {
  tokenId: string
  userId: string | null
  name: string
  role: Role
  /** The only project that it sees; null means all (ADMIN and METRICS only). */
  projectId: string | null
  /** For an agent's token, the only groups that its agents may join; null or missing means any. */
  resourceGroups?: string[] | null
  /** If the token was created for a browser at its login, the id of the token that the user logged in with. */
  sessionOf?: string | null
  /** Why the viewer does what it is doing, for the audit log; null or missing if it gave no reason. */
  reason?: string | null
  /** The request that the viewer has sent. */
  request?: RequestOrigin
}

export interface RequestOrigin {
  id: string
  /** The address of the connection's other end; behind a proxy, the proxy's. */
  address: string | null
}

/** The context of every service: the database, the viewer, wake-ups, log, metrics, and the encryption of secrets. */
export interface ServiceContext {
  db: Database
  viewer: Viewer
  wake: Wake
  log: Logger
  metrics: Metrics
  secrets: SecretBox
}
