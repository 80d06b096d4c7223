import type { Prisma, PrismaClient, Session } from '../store/prisma.ts'
import type { Queryable } from '../store/database.ts'
import { plainSelection, readPlainSessions, type SessionKey } from '../store/sql/read-sessions.sql.ts'

export type { SessionKey }

/** Sessions of one project (null: of all) by a key, oldest attempt first. */
export interface SessionRead {
  projectId: string | null
  by: SessionKey
  values: readonly string[]
  /** What the selection set needs, as Pothos made it; equal for all places of one path. */
  select: Prisma.SessionSelect
  selectKey: string
}

export type ReadSessions = (read: SessionRead) => Promise<Session[]>

/**
 * Rows carry what `select` names and the three keys; the type claims the whole row for Pothos' sake. Prisma reads
 * selections that go on to other things than the decision.
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
