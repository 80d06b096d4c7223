import { queryFromInfo } from '@pothos/plugin-prisma'
import type { GraphQLResolveInfo } from 'graphql'
import type { Prisma, Session } from '../generated/prisma/client.ts'
import type { GraphQLContext } from './context.ts'
import type { SessionKey } from '../services/read-selected-sessions.ts'

type Asked = {
  context: GraphQLContext
  info: GraphQLResolveInfo
  by: SessionKey
  value: string
  /** From the field that is resolved to the sessions, where it is not they. */
  path?: string[]
}

/** As `loadSession`, where a foreign key says that there is one. */
export async function loadExistingSession(asked: Asked): Promise<Session> {
  const session = await loadSession(asked)
  if (!session) throw new Error(`no session with ${asked.by} ${asked.value}`)
  return session
}

/** The session that the field `info` resolves to, with what its selection needs. */
export async function loadSession(asked: Asked): Promise<Session | null> {
  return (await loadSessions(asked)).at(0) ?? null
}

/** As `loadSession`, for all that have this key, oldest attempt first. */
export function loadSessions({ context, info, by, value, path }: Asked): Promise<Session[]> {
  const { select = {} } = queryFromInfo({ context, info, typeName: 'Session', ...(path && { path }) }) as {
    select?: Prisma.SessionSelect
  }
  return context.loaders.sessions.load({ by, value, select, selectKey: JSON.stringify(select) })
}

/** As `loadExistingSession` for each of these ids, in their order. What the selection needs is worked out once. */
export async function loadExistingSessions(
  asked: Omit<Asked, 'by' | 'value'>,
  ids: readonly string[],
): Promise<Session[]> {
  const { select = {} } = queryFromInfo({ ...asked, typeName: 'Session' }) as { select?: Prisma.SessionSelect }
  const selectKey = JSON.stringify(select)
  const keys = ids.map((value) => ({ by: 'id' as const, value, select, selectKey }))
  const found = await asked.context.loaders.sessions.loadMany(keys)
  return found.map((sessions, index) => {
    if (sessions instanceof Error) throw sessions
    const [session] = sessions
    if (!session) throw new Error(`no session with id ${ids[index]}`)
    return session
  })
}
