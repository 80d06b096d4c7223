import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { createAgent } from '../../src/agent/agent.ts'
import type { Executor, ExecutorHooks } from '../../src/agent/executors/executor.ts'
import { createGateway } from '../../src/gateway/gateway.ts'
import { LEASE } from '../../src/domain/agent/lease.ts'
import { createWakeExchange } from '../../src/events/wake-exchange.ts'
import { createWakeHub, type WakeHub } from '../../src/events/wake-hub.ts'
import { createMetrics } from '../../src/observability/metrics.ts'
import { NO_SYNC_POINTS } from '../../src/observability/sync-points.ts'
import { NO_TRACER } from '../../src/observability/trace.ts'
import { createSchedulerServices, isWoken } from '../../src/scheduler/scheduler.ts'
import type { ServiceContext } from '../../src/services/service-context.ts'
import type { Database } from '../../src/store/database.ts'
import { recordPresence } from '../../src/store/sql/server.sql.ts'
import type { BenchGround } from './ground.ts'
import { TEST_SECRETS } from '../support/servers/test-secrets.ts'
import { TEST_CODE, TEST_RELAY } from '../support/servers/test-code.ts'

export type ServiceName = keyof ReturnType<typeof createSchedulerServices>

/**
 * All of a server that drives sessions, built as the runtime builds it; nothing of HTTP. With a connection string it
 * also tells other servers what it does, and listens to them.
 */
export interface BenchServer extends AsyncDisposable {
  hub: WakeHub
  context: ServiceContext
  startServices(...only: ServiceName[]): Promise<void>
  /** One look of a service that was not started. */
  look(name: ServiceName): Promise<void>
  startAgent(
    createExecutor: (hooks: ExecutorHooks, agentId: string) => Executor,
    slots: Record<string, string>,
  ): Promise<void>
}

export function openServer(ground: BenchGround, db: Database, connectionString?: string): BenchServer {
  const { log } = ground
  const resources = new AsyncDisposableStack()
  const hub = createWakeHub()
  if (connectionString !== undefined) {
    const exchange = createWakeExchange({ db, hub, connectionString, log })
    resources.defer(() => exchange.stop())
  }
  const server = { id: randomUUID(), host: 'bench', pid: process.pid, roles: ['scheduler', 'agent'] }
  const metrics = createMetrics()
  const services = createSchedulerServices({
    db,
    wake: hub,
    log,
    metrics,
    sync: NO_SYNC_POINTS,
    trace: NO_TRACER,
    server,
    lease: LEASE,
  })
  const viewer = { tokenId: randomUUID(), userId: null, name: 'bench', role: 'ADMIN', projectId: null } as const
  return {
    hub,
    context: { db, wake: hub, log, metrics, secrets: TEST_SECRETS, viewer },
    async startServices(...only) {
      await recordPresence(db, server, LEASE.outageAfterMs)
      const names = only.length > 0 ? only : (Object.keys(services) as ServiceName[])
      resources.defer(async () => {
        await Promise.all(names.map((name) => services[name].stop()))
      })
      for (const name of names) {
        if (isWoken(name)) hub.on(name, services[name].wake)
        void services[name].start()
      }
    },
    async look(name) {
      await services[name].runOnce()
    },
    async startAgent(createExecutor, slots) {
      const agent = createAgent({
        gateway: createGateway({
          db,
          wake: hub,
          secrets: TEST_SECRETS,
          metrics,
          code: TEST_CODE,
          relay: TEST_RELAY,
          onAgent: hub.onAgent,
          logged: () => {},
        }),
        createExecutor,
        agentDir: join(ground.dir, `agent-${randomUUID()}`),
        name: 'bench',
        resourceGroup: 'default',
        address: 'embedded',
        version: '0',
        slots,
        labels: {},
        log,
      })
      await agent.start()
      resources.defer(() => agent.stop())
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}
