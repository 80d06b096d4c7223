import type { Client } from '../../client/node/index.ts'
import { findId, isId } from './find-id.ts'

/**
 * The id of a session given by id, by a unique beginning of it, or by name; of several with that name, the newest.
 * @throws NotFoundError, or UsageError for a beginning of several ids
 */
export async function findSession(client: Client, text: string): Promise<string> {
  const find = async (filter: object, first: number) => {
    const { nodes } = await client.sessionPage({ filter, orderBy: [...NEWEST_FIRST], first })
    return nodes.map(({ sessionId, name }) => ({ id: sessionId, name }))
  }
  return findId(text, {
    noun: 'session',
    code: 'SESSION_NOT_FOUND',
    beginning: (idPrefix, count) => find({ idPrefix }, count),
    named: async (name) => (await find({ name: { equals: name } }, 1))[0],
  })
}

const NEWEST_FIRST = [{ field: 'CREATED_AT', direction: 'DESC' }] as const

/** The ids of all of them, in their order. @throws NotFoundError, UsageError */
export async function findSessions(client: Client, texts: readonly string[] = []): Promise<string[]> {
  return Promise.all(texts.map((text) => findSession(client, text)))
}

/**
 * The id of the chain that has this id, or that a session given as above is in.
 * @throws NotFoundError, or UsageError for a beginning of several ids
 */
export async function findChain(client: Client, text: string): Promise<string> {
  const sessionId = await findSession(client, text)
  const filter = isId(text) ? { OR: [{ chainId: text }, { idPrefix: text }] } : { idPrefix: sessionId }
  const { nodes } = await client.sessionPage({ filter, first: 1 })
  // A chain that is not there has no sessions: whoever asks for them gets none.
  return nodes[0]?.chainId ?? text
}

export const SESSION_ARGUMENT = 'id, its beginning, or name of a session; a name means the newest one'
