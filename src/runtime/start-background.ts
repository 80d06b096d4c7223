import { resolve } from 'node:path'
import { WEBHOOK_ATTEMPT_TIMEOUT_MS, WEBHOOK_CONNECT_TIMEOUT_MS } from '../domain/limits.ts'
import { createAddressGuard } from '../events/webhooks/address-guard.ts'
import { resolveHost } from '../events/webhooks/resolve-host.ts'
import { createWebhookSender } from '../events/webhooks/send-webhook.ts'
import { NO_SYNC_POINTS } from '../observability/sync-points.ts'
import type { BackgroundService } from '../scheduler/background-service.ts'
import { createDeploymentServices, type DeploymentServiceName } from '../scheduler/deployment-services.ts'
import { createDiscoveryService } from '../scheduler/discovery-service.ts'
import { createPresenceService } from '../scheduler/presence-service.ts'
import { askHealth } from '../scheduler/prober/ask-health.ts'
import { createRetentionService } from '../scheduler/retention-service.ts'
import { createSchedulerServices, isWoken } from '../scheduler/scheduler.ts'
import { createWebhookServices } from '../scheduler/webhook-services.ts'
import { removePresence, recordPresence } from '../store/sql/server-presence.sql.ts'
import type { RuntimeParts } from './runtime-parts.ts'

/** Starts what this process does in the background, as its roles ask. */
export async function startBackground(parts: RuntimeParts): Promise<void> {
  const { roles, discoveryDir } = parts.config
  if (roles.some((role) => role === 'api' || role === 'scheduler')) await startPresence(parts)
  if (roles.includes('scheduler')) {
    startScheduler(parts)
    startDeployments(parts)
    startWebhooks(parts)
    startRetention(parts)
  }
  if (discoveryDir !== undefined) startDiscovery(parts, resolve(discoveryDir))
}

/** Before a scheduler judges agents, and for as long as agents can reach this server. */
async function startPresence(parts: RuntimeParts): Promise<void> {
  const { config, db, lease, server, resources } = parts
  await recordPresence(db, server, lease.outageAfterMs)
  resources.defer(() => removePresence(db, server.id))
  // A scheduler renews it each time it checks the agents.
  if (!config.roles.includes('scheduler')) startAll(parts, [createPresenceService(parts)])
}

function startScheduler(parts: RuntimeParts): void {
  const services = createSchedulerServices({ ...parts, sync: NO_SYNC_POINTS, strides: true })
  for (const [name, service] of Object.entries(services) as [keyof typeof services, BackgroundService][]) {
    if (isWoken(name)) parts.wake.on(name, service.wake)
  }
  startAll(parts, Object.values(services))
}

function startDeployments(parts: RuntimeParts): void {
  const services = createDeploymentServices({
    ...parts,
    sync: NO_SYNC_POINTS,
    askHealth,
    watchedSince: performance.now(),
  })
  for (const [name, service] of Object.entries(services) as [DeploymentServiceName, BackgroundService][]) {
    parts.wake.on(name, service.wake)
  }
  startAll(parts, Object.values(services))
}

function startWebhooks(parts: RuntimeParts): void {
  const sendWebhook = createWebhookSender({
    mayConnect: createAddressGuard(parts.config.webhookAllowNetworks),
    resolveHost,
    connectTimeoutMs: WEBHOOK_CONNECT_TIMEOUT_MS,
    attemptTimeoutMs: WEBHOOK_ATTEMPT_TIMEOUT_MS,
  })
  const services = createWebhookServices({ ...parts, sync: NO_SYNC_POINTS, sendWebhook })
  parts.wake.on('deliver-webhooks', services['deliver-webhooks'].wake)
  startAll(parts, Object.values(services))
}

function startRetention(parts: RuntimeParts): void {
  const {
    keepChains: chains,
    keepEvents: events,
    keepLogs: logs,
    keepAudit: audit,
    keepAgentHistory: agentHistory,
  } = parts.config
  const policy = { chains, events, logs, audit, agentHistory }
  startAll(parts, [createRetentionService({ ...parts, policy })])
}

function startDiscovery(parts: RuntimeParts, directory: string): void {
  const service = createDiscoveryService({ ...parts, directory })
  parts.wake.on('sync-discovery', service.wake)
  startAll(parts, [service])
}

/** They run until the process stops, or until its start fails. */
function startAll({ resources }: RuntimeParts, services: readonly BackgroundService[]): void {
  resources.defer(async () => {
    await Promise.all(services.map((service) => service.stop()))
  })
  for (const service of services) service.start()
}
