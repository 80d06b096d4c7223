import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { v7 as uuidv7, validate } from 'uuid'
import { readControlFile, writeControlFile } from './control-file.ts'

/** The agent's id: generated at the first start and kept in `agent.json`. The caller holds the agent's lock. */
export function loadAgentId(agentDir: string): string {
  const path = join(agentDir, 'agent.json')
  const known = readAgentId(path)
  if (known !== null) return known
  const agentId = uuidv7()
  writeControlFile(path, `${JSON.stringify({ agentId })}\n`)
  return agentId
}

/** @throws if the file exists but is unreadable: with a new id the agent would lose its running kernels. */
function readAgentId(path: string): string | null {
  const text = readControlFile(path)
  if (text === null) {
    if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return null
    throw new Error(`${path} is not a regular file`)
  }
  const { agentId } = JSON.parse(text) as { agentId?: unknown }
  if (typeof agentId !== 'string' || !validate(agentId)) throw new Error(`${path} holds no agent id`)
  return agentId
}
