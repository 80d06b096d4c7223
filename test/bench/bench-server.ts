import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { createAgent } from '../../src/agent/agent.ts'
import { createNoopExecutor } from '../../src/agent/executors/noop-executor.ts'
import type { Executor, ExecutorHooks } from '../../src/agent/executors/executor.ts'
import { LEASE } from '../../src/domain/agent/lease.ts'
import { createWakeExchange } from '../../src/events/wake-exchange.ts'
import { createWakeHub, type WakeHub } from '../../src/events/wake-hub.ts'
import { isWoken } from '../../src/scheduler/scheduler.ts'
import type { ServiceContext } from '../../src/services/service-context.ts'
import type { Database } from '../../src/store/database.ts'
import { recordPresence } from '../../src/store/sql/server.sql.ts'
import type { BenchGround } from './ground.ts'
import { testServer, type ServiceName } from '../support/servers/test-server.ts'

export type { ServiceName }

/**
 * The parts of a server that drive sessions, without HTTP. With a connection string it also tells other servers what it
 * does, and listens to them.
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
  const { services, gateway, context, identity } = testServer(db, undefined, hub, { log })
  return {
    hub,
    context,
    async startServices(...only) {
      await recordPresence(db, { ...identity, roles: ['scheduler', 'agent'] }, LEASE.outageAfterMs)
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
        gateway,
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

/** More than any bench has running at the same time. */
const NOOP_CPU_SLOTS = 2_000

/** A server with these services, or all, and an agent whose kernels run nothing. */
export async function openNoopServer(
  ground: BenchGround,
  { db, connectionString }: { db: Database; connectionString?: string },
  ...only: ServiceName[]
): Promise<BenchServer> {
  const server = openServer(ground, db, connectionString)
  await server.startServices(...only)
  await server.startAgent(createNoopExecutor, { cpu: String(NOOP_CPU_SLOTS) })
  return server
}
