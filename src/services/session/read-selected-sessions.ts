import type { Prisma, PrismaClient, Session } from '../../store/prisma.ts'
import type { Queryable } from '../../store/database.ts'
import { plainSelection, readPlainSessions, type SessionKey } from '../../store/sql/session/read-sessions.sql.ts'

export type { SessionKey }

/** Reads sessions of one project (null: of all) by a key, oldest attempt first. */
export interface SessionRead {
  projectId: string | null
  by: SessionKey
  values: readonly string[]
  /**
   * The columns and relations that the selection set needs, as made by Pothos; identical for all places of one path.
   */
  select: Prisma.SessionSelect
  selectKey: string
}

export type ReadSessions = (read: SessionRead) => Promise<Session[]>

/**
 * Rows contain what `select` names and the three keys; the type claims the whole row because Pothos expects it.
 * Selections with relations other than the decision are read by Prisma.
 */
export function sessionReader({ db, prisma }: { db: Queryable; prisma: PrismaClient }): ReadSessions {
  return async ({ projectId, by, values, select }) => {
    const distinct = [...new Set(values)]
    const whole = { ...select, id: true, chainId: true, parentSessionId: true, attempt: true }
    const selection = plainSelection(whole)
    if (selection) return readPlainSessions(db, { projectId, by, values: distinct, selection })
    return prisma.session.findMany({
      where: { ...(projectId !== null && { projectId }), [by]: { in: distinct } },
      select: whole,
      orderBy: { attempt: 'asc' },
    })
  }
}
