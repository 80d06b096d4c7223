import { resolve } from 'node:path'
import { WEBHOOK_ATTEMPT_TIMEOUT_MS, WEBHOOK_CONNECT_TIMEOUT_MS } from '../domain/limits.ts'
import { createAddressGuard } from '../machine/address-guard.ts'
import { resolveHost } from '../machine/resolve-host.ts'
import { createWebhookSender } from '../events/send-webhook.ts'
import { NO_SYNC_POINTS } from '../observability/sync-points.ts'
import type { BackgroundService } from '../scheduler/background-service.ts'
import { createDeploymentServices, type DeploymentServiceName } from '../scheduler/deployment/deployment-services.ts'
import { createDiscoveryService } from '../scheduler/deployment/discovery-service.ts'
import { createPresenceService } from '../scheduler/watch-agents.handler.ts'
import { askHealth } from '../scheduler/deployment/prober.ts'
import { createRetentionService } from '../scheduler/retention-service.ts'
import { createScheduleService } from '../scheduler/run-schedules.handler.ts'
import { createSchedulerServices, isWoken } from '../scheduler/scheduler.ts'
import { createWebhookServices } from '../scheduler/webhook-services.ts'
import { recordPresence, removePresence } from '../store/sql/server.sql.ts'
import { within } from '../waiting/wait.ts'
import type { RuntimeParts } from './runtime-parts.ts'

/**
 * Longest wait for the first pass of a service before the next one starts. Services start one after the other, so that
 * they share a connection: together they would make the pool open all its connections, which costs 150 ms of CPU time.
 */
const FIRST_PASS_WAIT_MS = 250

/** Starts the background services of the configured roles. */
export async function startBackground(parts: RuntimeParts): Promise<void> {
  const { roles, discoveryDir } = parts.config
  const services: BackgroundService[] = []
  if (roles.some((role) => role === 'api' || role === 'scheduler')) await announcePresence(parts)
  if (roles.includes('scheduler')) {
    services.push(...schedulerServices(parts), ...deploymentServices(parts), ...webhookServices(parts))
    services.push(scheduleService(parts), retentionService(parts))
  } else if (roles.includes('api')) {
    // A server with the scheduler role needs no such service: it records its presence each time it checks the agents.
    services.push(createPresenceService(parts))
  }
  if (discoveryDir !== undefined) services.push(discoveryService(parts, resolve(discoveryDir)))
  startAll(parts, services)
}

/** Records that this server can hear agents, before a scheduler judges them; the record is removed at the stop. */
async function announcePresence(parts: RuntimeParts): Promise<void> {
  const { db, lease, log, server, resources } = parts
  await recordPresence(db, server, lease.outageAfterMs)
  resources.defer(async () => {
    // On failure the record expires soon.
    await removePresence(db, server.id).catch((error: unknown) => log.warn({ err: error }, 'could not sign off'))
  })
}

function schedulerServices(parts: RuntimeParts): BackgroundService[] {
  const services = createSchedulerServices({
    ...parts,
    sync: NO_SYNC_POINTS,
    quarantines: parts.config.quarantine === 'act',
  })
  for (const [name, service] of Object.entries(services) as [keyof typeof services, BackgroundService][]) {
    if (isWoken(name)) parts.wake.on(name, service.wake)
  }
  return Object.values(services)
}

function deploymentServices(parts: RuntimeParts): BackgroundService[] {
  const services = createDeploymentServices({
    ...parts,
    sync: NO_SYNC_POINTS,
    askHealth,
    watchedSince: performance.now(),
  })
  for (const [name, service] of Object.entries(services) as [DeploymentServiceName, BackgroundService][]) {
    parts.wake.on(name, service.wake)
  }
  return Object.values(services)
}

function webhookServices(parts: RuntimeParts): BackgroundService[] {
  const sendWebhook = createWebhookSender({
    mayConnect: createAddressGuard(parts.config.webhookAllowNetworks),
    resolveHost,
    connectTimeoutMs: WEBHOOK_CONNECT_TIMEOUT_MS,
    attemptTimeoutMs: WEBHOOK_ATTEMPT_TIMEOUT_MS,
  })
  const services = createWebhookServices({ ...parts, sync: NO_SYNC_POINTS, sendWebhook })
  parts.wake.on('deliver-webhooks', services['deliver-webhooks'].wake)
  return Object.values(services)
}

function scheduleService(parts: RuntimeParts): BackgroundService {
  const service = createScheduleService({ ...parts, sync: NO_SYNC_POINTS })
  parts.wake.on('run-schedules', service.wake)
  return service
}

function retentionService(parts: RuntimeParts): BackgroundService {
  const {
    keepChains: chains,
    keepEvents: events,
    keepLogs: logs,
    keepAudit: audit,
    keepAgentHistory: agentHistory,
    checkpointKeep: succeededCheckpoints,
    checkpointKeepFailed: failedCheckpoints,
  } = parts.config
  const policy = { chains, events, logs, audit, agentHistory, succeededCheckpoints, failedCheckpoints }
  const { oldDirectory } = parts.relay
  return createRetentionService({ ...parts, oldDirectory, policy, codeKeptDays: parts.config.uploadKeepDays })
}

function discoveryService(parts: RuntimeParts, directory: string): BackgroundService {
  const service = createDiscoveryService({ ...parts, directory })
  parts.wake.on('sync-discovery', service.wake)
  return service
}

/** Starts the services, which run until the process stops or its start fails. */
function startAll({ resources, log }: RuntimeParts, services: readonly BackgroundService[]): void {
  resources.defer(async () => {
    await Promise.all(services.map((service) => service.stop()))
  })
  startInTurn(services).catch((error: unknown) => log.error({ err: error }, 'a background service did not start'))
}

async function startInTurn(services: readonly BackgroundService[]): Promise<void> {
  for (const service of services) await within(FIRST_PASS_WAIT_MS, service.start())
}
