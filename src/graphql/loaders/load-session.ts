import type { GraphQLResolveInfo } from 'graphql'
import { type ErrorCode, RepriseError } from '../../domain/errors.ts'
import type { Session } from '../../generated/prisma/client.ts'
import type { SessionKey } from '../../services/session/read-sessions.ts'
import type { GraphQLContext } from '../context.ts'

type Asked = {
  context: GraphQLContext
  info: GraphQLResolveInfo
  by: SessionKey
  value: string
  /** Path from the resolved field to the sessions, if the field's own type is not a session. */
  path?: string[]
}

/** Loads a session like `loadSession`, where a foreign key guarantees that the session exists. */
export async function loadExistingSession(asked: Asked): Promise<Session> {
  const session = await loadSession(asked)
  if (!session) throw new Error(`no session with ${asked.by} ${asked.value}`)
  return session
}

/** Loads the session that the field `info` resolves to, with the columns that its selection needs. */
export async function loadSession(asked: Asked): Promise<Session | null> {
  return (await loadSessions(asked)).at(0) ?? null
}

/** Loads all sessions with this key like `loadSession`, oldest attempt first. */
export function loadSessions({ by, value, ...selected }: Asked): Promise<Session[]> {
  const { loaders, services } = selected.context
  return loaders.sessions.load({ by, value, ...services.selectSessions(selected) })
}

/** Loads the sessions with these ids like `loadExistingSession`, in this order. */
export async function loadExistingSessions(
  asked: Omit<Asked, 'by' | 'value'>,
  ids: readonly string[],
): Promise<Session[]> {
  const sessions = await loadSessionsById(asked, ids)
  return sessions.map((session, index) => {
    if (!session) throw new Error(`no session with id ${ids[index]}`)
    return session
  })
}

/** Loads the sessions with these ids like `loadSession`, in this order. The columns to select are computed once. */
export async function loadSessionsById(
  asked: Omit<Asked, 'by' | 'value'>,
  ids: readonly string[],
): Promise<(Session | null)[]> {
  const { loaders, services } = asked.context
  const selection = services.selectSessions(asked)
  const found = await loaders.sessions.loadMany(ids.map((value) => ({ by: 'id' as const, value, ...selection })))
  return found.map((sessions) => {
    if (sessions instanceof Error) throw sessions
    return sessions.at(0) ?? null
  })
}

/**
 * Reads a row that a mutation has committed or an event is about. The row may have been deleted meanwhile.
 * @throws RepriseError with this code if the row is gone
 */
export async function stillThere<Row>(reading: PromiseLike<Row | null>, code: ErrorCode): Promise<Row> {
  const row = await reading
  if (row === null) throw new RepriseError(code, 'It has been deleted meanwhile.')
  return row
}
