import { AGENT_LABEL } from '../../../src/agent/executors/container/engine/engine-client.ts'
import type { ContainerEngine } from './engines.ts'

/** Names of networks for sessions. Podman has those of all engines of a machine in one place. */
export async function networksOfAgent(engine: ContainerEngine, agentId: string): Promise<string[]> {
  const filters = encodeURIComponent(JSON.stringify({ label: [`${AGENT_LABEL}=${agentId}`] }))
  const { text } = await engine.call('GET', `/networks?filters=${filters}`)
  return (JSON.parse(text) as { Name: string }[]).map(({ Name }) => Name)
}
