import { join } from 'node:path'
import { createAgent, type Agent } from '../../src/agent/agent.ts'
import type { Executor, ExecutorHooks } from '../../src/agent/executors/executor.ts'
import { createNoopExecutor } from '../../src/agent/executors/noop/noop-executor.ts'
import type { Gateway } from '../../src/domain/agent/protocol.ts'
import type { Logger } from '../../src/observability/log.ts'
import { swayedGateway, type SwayedGateway } from './swayed-gateway.ts'

/**
 * Agents in numbers in one process: each is the whole agent program (identity, lock, fence, log shipping, long
 * polls) with an executor of its own, which is `noop` unless said otherwise. What their kernels do is in the
 * commands of the sessions; what the agents themselves do, in the members' calls.
 */
export interface AgentSwarm extends AsyncDisposable {
  readonly members: readonly SwarmMember[]
}

export interface SwarmMember {
  readonly name: string
  /** The way to the server: cut it, heal it, let the agent lie. */
  readonly line: SwayedGateway
  /** Its process ends, and with it its noop kernels. Under the same id until it is back. */
  die(): Promise<void>
  /** As another instance of the same agent. */
  revive(): Promise<void>
}

export interface SwarmOptions {
  size: number
  /** One for all, or each its own: in process or a client of a server's HTTP face. */
  gateway: Gateway | ((index: number) => Gateway)
  /** Each agent keeps its identity in a directory of its own below. */
  directory: string
  log: Logger
  slots?: Record<string, string> | ((index: number) => Record<string, string>)
  labels?: (index: number) => Record<string, string>
  resourceGroup?: string
  createExecutor?: (hooks: ExecutorHooks) => Executor
}

/** They register in the background, all at once. */
export async function startSwarm(options: SwarmOptions): Promise<AgentSwarm> {
  const members = Array.from({ length: options.size }, (_, index) => newMember(options, index))
  await Promise.all(members.map((member) => member.revive()))
  return {
    members,
    async [Symbol.asyncDispose]() {
      await Promise.all(members.map((member) => member.die()))
    },
  }
}

function newMember(options: SwarmOptions, index: number): SwarmMember {
  const { gateway, directory, log, resourceGroup = 'default', createExecutor = createNoopExecutor } = options
  const { slots = { cpu: '4', mem: String(8 * 2 ** 30) }, labels = () => ({}) } = options
  const name = `swarm-${index + 1}`
  const line = swayedGateway(typeof gateway === 'function' ? gateway(index) : gateway)
  let agent: Agent | null = null
  return {
    name,
    line,
    async die() {
      const dying = agent
      agent = null
      await dying?.stop()
    },
    async revive() {
      if (agent !== null) return
      agent = createAgent({
        gateway: line,
        createExecutor,
        agentDir: join(directory, name),
        name,
        resourceGroup,
        address: 'swarm',
        version: '0',
        slots: typeof slots === 'function' ? slots(index) : slots,
        labels: labels(index),
        log,
      })
      await agent.start()
    },
  }
}
