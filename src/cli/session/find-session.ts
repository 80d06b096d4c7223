import { NotFoundError, type Client } from '../../client/node/index.ts'

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** The id of a session given by id or by name; of several with that name, the newest. @throws NotFoundError */
export async function findSession(client: Client, text: string): Promise<string> {
  if (UUID.test(text)) return text
  const filter = { name: { equals: text } }
  const { nodes } = await client.sessionPage({
    filter,
    orderBy: [{ field: 'CREATED_AT', direction: 'DESC' }],
    first: 1,
  })
  const newest = nodes[0]
  if (!newest) throw new NotFoundError('SESSION_NOT_FOUND', `There is no session with the id or the name ${text}.`)
  return newest.sessionId
}

export const SESSION_ARGUMENT = 'id or name of a session; a name means the newest one'
