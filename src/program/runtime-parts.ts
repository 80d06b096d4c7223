import type { Config } from './config.ts'
import type { Lease } from '../domain/agent/lease.ts'
import type { Warning } from '../domain/warning.ts'
import type { EventBus } from '../events/bus.ts'
import type { Topics, WakeHub } from '../events/wake-hub.ts'
import type { Logger } from '../observability/log.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { Tracer } from '../observability/trace.ts'
import type { CheckpointStore } from '../services/agent/relay-checkpoint.ts'
import type { CodeStore } from '../services/code/code-store.ts'
import type { ChannelHolders } from '../channel/channel-holders.ts'
import type { SecretBox } from '../services/access/secrets.ts'
import type { Database } from '../store/database.ts'
import type { ServerIdentity } from '../store/sql/server.sql.ts'
import type { DatabaseAccess } from './open-database-server.ts'

/** Shared by all parts of one server process. */
export interface RuntimeParts {
  config: Config
  log: Logger
  dataDir: string
  resources: AsyncDisposableStack
  access: DatabaseAccess
  db: Database
  secrets: SecretBox
  code: CodeStore
  relay: CheckpointStore
  wake: WakeHub
  topics: Topics
  bus: EventBus
  metrics: Metrics
  trace: Tracer
  lease: Lease
  server: ServerIdentity
  channels: ChannelHolders
  /** Warnings of this process; those from the database are added when they are shown. */
  warnings: Warning[]
}
