import packageJson from '../../package.json' with { type: 'json' }
import { agentOptions } from '../agent-options.ts'
import { createAgent } from '../agent/agent.ts'
import type { RuntimeParts } from './runtime-parts.ts'
import { serverGateway } from './server-gateway.ts'

export async function startAgent(parts: RuntimeParts): Promise<void> {
  const { config, log, resources } = parts
  const agent = createAgent({
    ...(await agentOptions(config, packageJson.version, log)),
    gateway: serverGateway(parts),
  })
  await agent.start()
  resources.defer(() => agent.stop())
  agent.done.catch((error: unknown) => log.error({ err: error }, 'the agent has stopped'))
}
