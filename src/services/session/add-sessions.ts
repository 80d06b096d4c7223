import { RepriseError } from '../../domain/errors.ts'
import { describeFull } from '../../domain/quota/pending-places.ts'
import type { Database, Queryable } from '../../store/database.ts'
import { readByCreationId } from '../../store/sql/session/creation-scope.sql.ts'
import { insertSessions } from '../../store/sql/session/insert-sessions.sql.ts'
import type { NewSession } from '../../store/sql/session/session-columns.sql.ts'
import type { Actor } from '../../store/sql/access/record-audit.sql.ts'
import { lockPendingPlaces } from '../quota/pending-limits.ts'

export interface AddedSessions {
  inserted: Set<string>
  /** By id: a limit on pending sessions leaves no place for them. */
  refused: Map<string, RepriseError>
}

/**
 * Adds sessions that clients request, first attempts and resubmissions. If an owner's pending sessions are limited,
 * they are counted while the quota is locked, so two callers never take the same place. Sessions that are neither
 * inserted nor refused existed already. `transact` runs the counting: `db.transaction`, or the caller's own
 * transaction.
 * A quota that is set at the same time counts the sessions being inserted at that moment as existing.
 */
export async function addSessions(
  db: Queryable,
  sessions: readonly NewSession[],
  options: { actor: Actor | null; transact: Database['transaction'] },
): Promise<AddedSessions> {
  const { actor, transact } = options
  const { inserted, limited } = await insertSessions(db, sessions, { actor, admitted: false })
  if (limited.size === 0) return { inserted, refused: new Map() }
  const counted = await transact((tx) =>
    addCounted(
      tx,
      sessions.filter(({ id }) => limited.has(id)),
      actor,
    ),
  )
  return { inserted: new Set([...inserted, ...counted.inserted]), refused: counted.refused }
}

async function addCounted(tx: Queryable, sessions: readonly NewSession[], actor: Actor | null): Promise<AddedSessions> {
  const places = await lockPendingPlaces(tx, sessions)
  const known = await readByCreationId(tx, sessions)
  // Existing sessions and repetitions take no place.
  const taken = new Set(known.keys())
  const refused = new Map<string, RepriseError>()
  const admitted = sessions.filter((session) => {
    const key = `${session.projectId}/${session.creationId}`
    if (taken.has(key)) return true
    const full = places.fullFor(session)
    if (full) refused.set(session.id, new RepriseError('QUOTA_EXCEEDED', describeFull(full)))
    else {
      places.take(session)
      taken.add(key)
    }
    return !full
  })
  const { inserted } = await insertSessions(tx, admitted, { actor, admitted: true })
  return { inserted, refused }
}
