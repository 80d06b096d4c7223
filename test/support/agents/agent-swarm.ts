import { join } from 'node:path'
import { type Agent, createAgent } from '../../../src/agent/agent.ts'
import type { Executor, ExecutorHooks } from '../../../src/agent/executors/executor.ts'
import { createNoopExecutor } from '../../../src/agent/executors/noop-executor.ts'
import type { Gateway } from '../../../src/domain/agent/protocol.ts'
import type { Logger } from '../../../src/observability/log.ts'
import { flakyGateway, type FlakyGateway } from './flaky-gateway.ts'

/**
 * Many agents in one process: each is the whole agent program (identity, lock, fence, log shipping, long polls) with an
 * executor of its own, `noop` by default. The commands of sessions say what their kernels do; the methods here say what
 * the agents do.
 */
export interface AgentSwarm extends AsyncDisposable {
  readonly members: readonly SwarmMember[]
}

export interface SwarmMember {
  readonly name: string
  /** The connection to the server: a test can cut it, restore it, or alter what the agent reports. */
  readonly line: FlakyGateway
  /** Ends its process, and with it its noop kernels. Its id stays in use by `revive`. */
  die(): Promise<void>
  /** Starts another instance of the same agent. */
  revive(): Promise<void>
}

export interface SwarmOptions {
  size: number
  /** One for all agents or one each: in process, or a client of a server's HTTP API. */
  gateway: Gateway | ((index: number) => Gateway)
  /** Each agent keeps its identity in a directory of its own in here. */
  directory: string
  log: Logger
  slots?: Record<string, string> | ((index: number) => Record<string, string>)
  labels?: (index: number) => Record<string, string>
  resourceGroup?: string
  createExecutor?: (hooks: ExecutorHooks) => Executor
}

/** The agents register in the background, all at once. */
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
  const line = flakyGateway(typeof gateway === 'function' ? gateway(index) : gateway)
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
