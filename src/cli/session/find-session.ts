import { NotFoundError, type Client, type SessionSummary } from '../../client/node/index.ts'
import { UsageError } from '../present-error.ts'

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
const PREFIX = /^[0-9a-f]{8}[0-9a-f-]*$/i

/**
 * The id of a session given by id, by a unique beginning of it, or by name; of several with that name, the newest.
 * @throws NotFoundError, or UsageError for a beginning of several ids
 */
export async function findSession(client: Client, text: string): Promise<string> {
  if (UUID.test(text)) return text
  const newestFirst = [{ field: 'CREATED_AT', direction: 'DESC' }] as const
  const find = async (filter: object, first: number) =>
    (await client.sessionPage({ filter, orderBy: [...newestFirst], first })).nodes
  const [begins, more] = PREFIX.test(text) ? await find({ idPrefix: text }, 2) : []
  if (begins && more) throw new UsageError(`More than one id begins with ${text}: ${both(begins, more)} …`)
  const found = begins ?? (await find({ name: { equals: text } }, 1))[0]
  if (!found) throw new NotFoundError('SESSION_NOT_FOUND', `There is no session with the id or the name ${text}.`)
  return found.sessionId
}

function both(...sessions: readonly SessionSummary[]): string {
  return sessions.map(({ sessionId }) => sessionId).join(', ')
}

export const SESSION_ARGUMENT = 'id, its beginning, or name of a session; a name means the newest one'
