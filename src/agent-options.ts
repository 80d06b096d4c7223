import { join, resolve } from 'node:path'
import type { AgentOptions } from './agent/agent.ts'
import { createExecutor } from './agent/create-executor.ts'
import { detectSlots } from './agent/detect-slots.ts'
import type { Config } from './config.ts'
import type { Logger } from './observability/log.ts'

/** What the configuration says about an agent, whether it runs within a server or on its own. */
export function agentOptions(config: Config, version: string, log: Logger): Omit<AgentOptions, 'gateway'> {
  const agentDir = join(resolve(config.dataDir), 'agent')
  return {
    createExecutor: (hooks) => createExecutor(config, agentDir, log, hooks),
    agentDir,
    name: config.agentName,
    resourceGroup: config.resourceGroup,
    address: config.agentAddress,
    version,
    slots: config.slots ?? detectSlots(),
    labels: config.agentLabels,
    log,
  }
}
