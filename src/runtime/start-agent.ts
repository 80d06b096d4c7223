import { join } from 'node:path'
import packageJson from '../../package.json' with { type: 'json' }
import { createAgent } from '../agent/agent.ts'
import { createExecutor } from '../agent/create-executor.ts'
import { detectSlots } from '../agent/detect-slots.ts'
import type { RuntimeParts } from './runtime-parts.ts'
import { serverGateway } from './server-gateway.ts'

export async function startAgent(parts: RuntimeParts): Promise<void> {
  const { config, log, dataDir, resources } = parts
  const agentDir = join(dataDir, 'agent')
  const agent = createAgent({
    gateway: serverGateway(parts),
    createExecutor: (hooks) => createExecutor(config, agentDir, log, hooks),
    agentDir,
    name: config.agentName,
    resourceGroup: config.resourceGroup,
    address: config.agentAddress,
    version: packageJson.version,
    slots: config.slots ?? detectSlots(),
    labels: config.agentLabels,
    log,
  })
  await agent.start()
  resources.defer(() => agent.stop())
  agent.done.catch((error: unknown) => log.error({ err: error }, 'the agent has stopped'))
}
