import type { ErrorCode } from '../../domain/errors.ts'
import type { Queryable } from '../../store/database.ts'
import { insertSessions } from '../../store/sql/session/insert-sessions.sql.ts'
import type { NewSession } from '../../store/sql/session/session-columns.sql.ts'

export interface Refusal {
  code: ErrorCode
  message: string
}

/**
 * Creates the children of failed sessions, as `createSessions` creates first attempts. Returns those that were refused
 * for good, by parent: their creation id is in use by an unrelated session. The caller has already checked limits on
 * pending sessions.
 */
export async function addChildren(tx: Queryable, children: readonly NewSession[]): Promise<Map<string, Refusal>> {
  const { inserted } = await insertSessions(tx, children, { actor: null, admitted: true })
  const refused = children.filter((child) => !inserted.has(child.id))
  return new Map(
    refused.map((child) => [
      child.parentSessionId!,
      { code: 'CREATION_ID_REUSED', message: `another session has the creation id ${child.creationId}` },
    ]),
  )
}
