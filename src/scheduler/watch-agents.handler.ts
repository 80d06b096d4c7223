import type { Lease } from '../domain/agent/lease.ts'
import type { Wake } from '../domain/wake.ts'
import type { Logger } from '../observability/log.ts'
import type { Database } from '../store/database.ts'
import { updateSilentAgents } from '../store/sql/agent/agents.sql.ts'
import { recordPresence, type ServerIdentity } from '../store/sql/server.sql.ts'
import { type BackgroundService, defineService, type RunReport } from './background-service.ts'

/**
 * Expires the leases of silent agents. First records that this server can hear agents, so that no agent loses its lease
 * through an outage of all servers.
 */
export async function watchAgents(context: {
  db: Database
  wake: Wake
  log: Logger
  server: ServerIdentity
  lease: Lease
}): Promise<RunReport> {
  const { db, wake, log, server, lease } = context
  const afterOutage = await recordPresence(db, server, lease.outageAfterMs)
  if (afterOutage) log.info('no server was running for a while: every agent gets a full lease')
  const changed = await updateSilentAgents(db, lease)
  for (const { id, name, status, silentSeconds } of changed) {
    log.warn({ agentId: id }, `agent ${name} is ${status}: silent for ${silentSeconds} s`)
  }
  if (changed.some(({ status }) => status === 'LOST')) {
    wake.wake('prepare-sessions', 'start-sessions', 'detect-termination', 'terminate-sessions', 'promote-to-terminated')
  }
  return { done: changed.length }
}

/**
 * Regularly records that this server can hear agents. Silence of agents does not count while no server could hear them.
 */
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
