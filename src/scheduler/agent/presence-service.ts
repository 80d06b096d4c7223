import type { Lease } from '../../domain/agent/lease.ts'
import type { Logger } from '../../observability/log.ts'
import type { Database } from '../../store/database.ts'
import { recordPresence, type ServerIdentity } from '../../store/sql/server-presence.sql.ts'
import { defineService, type BackgroundService } from '../background-service.ts'

/** Regularly records that this server can hear agents: their silence does not count while no server could hear them. */
export function createPresenceService(context: {
  db: Database
  log: Logger
  lease: Lease
  server: ServerIdentity
}): BackgroundService {
  const { db, log, lease, server } = context
  const runOnce = async () => {
    await recordPresence(db, server, lease.outageAfterMs)
    return { done: 0 }
  }
  return defineService({ name: 'note-presence', intervalMs: lease.checkIntervalMs, log, runOnce })
}
