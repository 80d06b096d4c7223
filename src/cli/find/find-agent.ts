import type { Client } from '../../client/node/index.ts'
import { takeAll } from '../session/take.ts'
import { ambiguous, findId, isId } from './find-id.ts'

/**
 * The ids of agents given by id, by a unique beginning of it, or by a unique name; undefined stays.
 * @throws NotFoundError, or UsageError for a beginning or a name of several
 */
export async function findAgents(client: Client, texts: readonly string[] | undefined): Promise<string[] | undefined> {
  if (!texts || texts.every(isId)) return texts && [...texts]
  const agents = (await takeAll(client.agents())).map(({ agentId, name }) => ({ id: agentId, name }))
  const find = (text: string) =>
    findId(text, {
      noun: 'agent',
      code: 'AGENT_NOT_FOUND',
      beginning: async (prefix) =>
        agents.some(({ name }) => name === text) ? [] : agents.filter(({ id }) => id.startsWith(prefix.toLowerCase())),
      async named(wanted) {
        const found = agents.filter(({ name }) => name === wanted)
        if (found.length > 1) throw ambiguous(wanted, found)
        return found[0]
      },
    })
  return Promise.all(texts.map(find))
}

/** The same of one. */
export async function findAgent(client: Client, text: string): Promise<string> {
  return (await findAgents(client, [text]))![0]!
}

export const AGENT_ARGUMENT = 'id, its beginning, or name of an agent'
