import { pino } from 'pino'
import { LEASE } from '../../../src/domain/agent/lease.ts'
import { createWakeHub, type WakeHub } from '../../../src/events/wake-hub.ts'
import { createMetrics, type Metrics } from '../../../src/observability/metrics.ts'
import { NO_SYNC_POINTS, type SyncPoints } from '../../../src/observability/sync-points.ts'
import { NO_TRACER } from '../../../src/observability/trace.ts'
import {
  createDeploymentServices,
  type DeploymentServiceName,
} from '../../../src/scheduler/deployment/deployment-services.ts'
import { askHealth, type AskHealth } from '../../../src/scheduler/deployment/prober.ts'
import { createDeployment, type CreateDeploymentInput } from '../../../src/services/deployment/create-deployment.ts'
import type { Database } from '../../../src/store/database.ts'
import { ADMIN } from './test-server.ts'
import { TEST_SECRETS } from './test-secrets.ts'

export interface DeploymentServer {
  services: ReturnType<typeof createDeploymentServices>
  metrics: Metrics
  /** Runs each service once, in this order; returns how much each did. */
  run(...names: DeploymentServiceName[]): Promise<number[]>
  /** Runs all services periodically and when woken, until this is disposed. */
  start(): AsyncDisposable
  create(input?: Partial<CreateDeploymentInput>): Promise<string>
}

/** The parts of a server that deployments need. Nothing runs unless a test calls it. */
export function deploymentServer(
  db: Database,
  options: { sync?: SyncPoints; hub?: WakeHub; ask?: AskHealth; watchedMs?: number } = {},
): DeploymentServer {
  const { sync = NO_SYNC_POINTS, hub = createWakeHub(), ask = askHealth, watchedMs = 0 } = options
  const log = pino({ enabled: false })
  const metrics = createMetrics()
  const parts = {
    db,
    wake: hub,
    log,
    metrics,
    sync,
    trace: NO_TRACER,
    lease: LEASE,
    askHealth: ask,
    watchedSince: performance.now() - watchedMs,
  }
  const services = createDeploymentServices(parts)
  return {
    services,
    metrics,
    async run(...names) {
      const done: number[] = []
      for (const name of names) done.push((await services[name].runOnce()).done)
      return done
    },
    start() {
      for (const [name, service] of Object.entries(services) as [
        DeploymentServiceName,
        (typeof services)[DeploymentServiceName],
      ][]) {
        hub.on(name, service.wake)
        void service.start()
      }
      return {
        async [Symbol.asyncDispose]() {
          await Promise.all(Object.values(services).map((service) => service.stop()))
        },
      }
    },
    async create(input = {}) {
      const context = { db, wake: hub, log, metrics, secrets: TEST_SECRETS, viewer: ADMIN }
      const given = { name: `web-${Math.random().toString(36).slice(2, 10)}`, command: ['noop', 'hang'], ...input }
      return (await createDeployment(context, given)).deploymentId
    },
  }
}

export interface RouteRow {
  id: string
  status: string
  reason: string | null
  session: string
  successes: number
  failures: number
  published: boolean
}

/** All routes of a deployment, oldest first. */
export async function routeRows(db: Database, deploymentId: string): Promise<RouteRow[]> {
  const { rows } = await db.query<RouteRow & Record<string, unknown>>(
    `SELECT r.id, r.status, r.status_reason AS reason, s.status AS session, r.successes, r.failures,
       r.published_at IS NOT NULL AS published
     FROM routes r JOIN sessions s ON s.id = r.session_id WHERE r.deployment_id = $1 ORDER BY r.id`,
    [deploymentId],
  )
  return rows
}

export async function deploymentRow(db: Database, id: string) {
  const { rows } = await db.query<{ status: string; reason: string | null; failures: number; waitMs: number | null }>(
    `SELECT status, status_reason AS reason, failures,
       (extract(epoch FROM next_route_at - failed_at) * 1000)::float8 AS "waitMs"
     FROM deployments WHERE id = $1`,
    [id],
  )
  return rows[0]!
}
