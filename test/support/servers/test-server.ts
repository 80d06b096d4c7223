import { randomUUID } from 'node:crypto'
import { type Logger, pino } from 'pino'
import { createGateway } from '../../../src/gateway/gateway.ts'
import { LEASE, type Lease } from '../../../src/domain/agent/lease.ts'
import type { Gateway } from '../../../src/domain/agent/protocol.ts'
import { createWakeHub, type WakeHub } from '../../../src/events/wake-hub.ts'
import { createMetrics, type Metrics } from '../../../src/observability/metrics.ts'
import { NO_SYNC_POINTS, type SyncPoints } from '../../../src/observability/sync-points.ts'
import { NO_TRACER } from '../../../src/observability/trace.ts'
import { createSchedulerServices, isWoken } from '../../../src/scheduler/scheduler.ts'
import type { CreateSessionInput } from '../../../src/services/session/create-session-input.ts'
import { createSession } from '../../../src/services/session/create-sessions.ts'
import type { ServiceContext, Viewer } from '../../../src/services/service-context.ts'
import type { Database } from '../../../src/store/database.ts'
import type { ServerIdentity } from '../../../src/store/sql/server.sql.ts'
import { TEST_SECRETS } from './test-secrets.ts'
import { TEST_CODE, TEST_OUTPUTS, TEST_RELAY } from './test-code.ts'

export const DEFAULT_PROJECT_ID = '00000000-0000-7000-8000-000000000002'

export const ADMIN: Viewer = { tokenId: randomUUID(), userId: null, name: 'ada', role: 'ADMIN', projectId: null }

export type SchedulerServices = ReturnType<typeof createSchedulerServices>
export type ServiceName = keyof SchedulerServices

/** In the order in which a session passes through them. */
export const ALL_SERVICES: readonly ServiceName[] = [
  'watch-agents',
  'sweep-leftovers',
  'schedule-sessions',
  'prepare-sessions',
  'promote-to-pulling',
  'promote-to-prepared',
  'start-sessions',
  'promote-to-running',
  'enforce-batch-timeouts',
  'detect-termination',
  'terminate-sessions',
  'promote-to-terminated',
  'decide-retries',
  'dispatch-retries',
  'resubmit-sessions',
  'settle-groups',
  'group-failures',
  'roll-up-figures',
]

/** The parts of a server that sessions need, built as `serve` builds them. Nothing runs unless a test calls it. */
export interface TestServer {
  db: Database
  /** How it presents itself to other servers. */
  identity: ServerIdentity
  hub: WakeHub
  services: SchedulerServices
  gateway: Gateway
  context: ServiceContext
  metrics: Metrics
  /** Runs each service once, in this order; returns how much each did. */
  run(...names: ServiceName[]): Promise<number[]>
  /** Runs all services until none finds anything to do. */
  settle(): Promise<void>
  /** Runs all services periodically and when woken, as in a real server, until this is disposed. */
  start(): AsyncDisposable
  create(input?: Partial<CreateSessionInput>): Promise<string>
}

export function testServer(
  db: Database,
  sync: SyncPoints = NO_SYNC_POINTS,
  hub: WakeHub = createWakeHub(),
  options: { log?: Logger; lease?: Lease; waitMaxMs?: number; quarantines?: boolean } = {},
): TestServer {
  const { log = pino({ enabled: false }), lease = LEASE, quarantines = false, ...gatewayOptions } = options
  const identity = { id: randomUUID(), host: 'test', pid: process.pid, roles: ['api', 'scheduler', 'agent'] }
  const metrics = createMetrics()
  const parts = { db, wake: hub, log, metrics, sync, trace: NO_TRACER, server: identity, lease, quarantines }
  const services = createSchedulerServices(parts)
  const context: ServiceContext = { db, wake: hub, log, metrics, secrets: TEST_SECRETS, viewer: ADMIN }
  const run = async (...names: ServiceName[]) => {
    const done: number[] = []
    for (const name of names) done.push((await services[name].runOnce()).done)
    return done
  }
  return {
    db,
    identity,
    hub,
    services,
    gateway: createGateway({
      db,
      wake: hub,
      secrets: TEST_SECRETS,
      metrics,
      code: TEST_CODE,
      relay: TEST_RELAY,
      outputs: TEST_OUTPUTS,
      onAgent: hub.onAgent,
      logged: () => {},
      lease,
      ...gatewayOptions,
    }),
    context,
    metrics,
    run,
    async settle() {
      for (let round = 0; round < 50; round++) {
        if ((await run(...ALL_SERVICES)).every((done) => done === 0)) return
      }
      throw new Error('the scheduler finds work without end')
    },
    start() {
      for (const name of ALL_SERVICES) {
        void services[name].start()
        if (isWoken(name)) hub.on(name, services[name].wake)
      }
      return {
        async [Symbol.asyncDispose]() {
          await Promise.all(Object.values(services).map((service) => service.stop()))
        },
      }
    },
    async create(input = {}) {
      const { sessionId } = await createSession(context, { name: 'work', command: ['true'], ...input })
      return sessionId
    },
  }
}
