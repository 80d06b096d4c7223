import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { v7 as uuidv7, validate } from 'uuid'

/** The agent's id: generated at the first start and kept in `agent.json`. The caller holds the agent's lock. */
export function loadAgentId(agentDir: string): string {
  const path = join(agentDir, 'agent.json')
  const known = readAgentId(path)
  if (known !== null) return known
  const agentId = uuidv7()
  writeFileSync(`${path}.new`, `${JSON.stringify({ agentId })}\n`)
  renameSync(`${path}.new`, path)
  return agentId
}

/** @throws if the file exists but is unreadable: with a new id the agent would lose its running kernels. */
function readAgentId(path: string): string | null {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
  const { agentId } = JSON.parse(text) as { agentId?: unknown }
  if (typeof agentId !== 'string' || !validate(agentId)) throw new Error(`${path} holds no agent id`)
  return agentId
}
