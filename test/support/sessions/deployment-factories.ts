import { v7 as uuidv7 } from 'uuid'
import type { DeploymentStatus, RouteStatus } from '../../../src/domain/deployment/lifecycle.ts'
import type { SessionStatus } from '../../../src/domain/session/lifecycle.ts'
import type { Database } from '../../../src/store/database.ts'
import { insertRows } from '../database/insert-rows.ts'
import { DEFAULT_PROJECT_ID } from '../servers/test-server.ts'

export interface DeploymentSpec {
  projectId?: string
  name?: string
  status?: DeploymentStatus
  replicas?: number
  labels?: Record<string, string>
  createdAt?: Date
}

export interface DeploymentRow {
  id: string
  projectId: string
  name: string
}

export interface RouteSpec {
  status?: RouteStatus
  host?: string
  port?: number
  /** Whether service discovery lists it; by default it does if the route is healthy. */
  published?: boolean
}

interface SessionOfRoute {
  projectId: string
  name: string
  sessionType: 'INFERENCE'
  status: SessionStatus
}

const SESSION_STATUS: Readonly<Record<RouteStatus, SessionStatus>> = {
  PROVISIONING: 'PENDING',
  DEGRADED: 'RUNNING',
  HEALTHY: 'RUNNING',
  UNHEALTHY: 'RUNNING',
  FAILED_TO_START: 'ERROR',
  TERMINATING: 'TERMINATING',
  TERMINATED: 'TERMINATED',
}

/** Deployments of one revision, and their routes with sessions. */
export function createDeploymentFactories<Session extends { id: string }>(
  db: Database,
  session: (spec: SessionOfRoute) => Promise<Session>,
) {
  async function deployment(spec: DeploymentSpec = {}): Promise<DeploymentRow> {
    const { projectId = DEFAULT_PROJECT_ID, status = 'READY', replicas = 1, labels = {}, createdAt = new Date() } = spec
    const id = uuidv7()
    const name = spec.name ?? `service-${id.slice(-8)}`
    await insertRows(db, 'deployments', [
      {
        id,
        project_id: projectId,
        creation_id: id,
        name,
        status,
        replicas,
        created_by: 'ada',
        created_at: createdAt,
        status_changed_at: createdAt,
        destroyed_at: status === 'DESTROYED' ? createdAt : null,
      },
    ])
    await insertRows(db, 'deployment_revisions', [
      {
        deployment_id: id,
        revision: 1,
        resource_group: 'default',
        command: ['serve'],
        environ: [{ name: 'MODE', value: 'live' }],
        resource_slots: { cpu: '1' },
        priority: 10,
        labels,
        port_variable: 'PORT',
        health_path: '/healthz',
        health_interval_ms: 5_000,
        health_timeout_ms: 2_000,
        healthy_threshold: 1,
        unhealthy_threshold: 3,
        initial_delay_ms: 0,
        stale_after_ms: 21_000,
        start_timeout_ms: 300_000,
        evict_after_ms: 10_000,
        drain_ms: 2_000,
      },
    ])
    return { id, projectId, name }
  }

  async function route(of: DeploymentRow, spec: RouteSpec = {}) {
    const { status = 'HEALTHY', host = '127.0.0.1', port = 8_080 } = spec
    const made = await session({
      projectId: of.projectId,
      name: of.name,
      sessionType: 'INFERENCE',
      status: SESSION_STATUS[status],
    })
    const serves = status !== 'PROVISIONING' && status !== 'FAILED_TO_START'
    const published = spec.published ?? status === 'HEALTHY'
    const id = uuidv7()
    const now = new Date()
    await insertRows(db, 'routes', [
      {
        id,
        deployment_id: of.id,
        revision: 1,
        session_id: made.id,
        status,
        host: serves ? host : null,
        port: serves ? port : null,
        published_at: published ? now : null,
        terminated_at: status === 'TERMINATED' ? now : null,
      },
    ])
    return { id, session: made }
  }

  return { deployment, route }
}
