import type { KeyUse } from '../../domain/scheduling/key-use.ts'
import type { Placement } from '../../domain/scheduling/place.ts'
import type { Queryable } from '../../store/database.ts'
import type { PendingSession } from '../../store/sql/scheduling/claim-pending.sql.ts'
import { lockKeyUse, settleKeys, type ConcurrencyKey } from '../../store/sql/scheduling/concurrency-keys.sql.ts'

type Keyed = Pick<PendingSession, 'id' | 'projectId' | 'concurrencyKey' | 'waitsForKey'>

/**
 * The use of the concurrency key of each of these sessions, null where it has none. Keys are counted while they are
 * locked for the transaction; sessions without keys cost nothing.
 */
export async function lockKeys(tx: Queryable, sessions: readonly Keyed[]): Promise<(session: Keyed) => KeyUse | null> {
  const keyed = withKeys(sessions)
  if (keyed.length === 0) return () => null
  const rows = await lockKeyUse(
    tx,
    keyed,
    keyed.map(({ id }) => id),
  )
  const uses = new Map(
    rows.map(({ projectId, limit, ...row }): [string, KeyUse] => [
      nameOf(projectId, row.key),
      { ...row, limit: limit ?? Number.POSITIVE_INFINITY },
    ]),
  )
  return ({ projectId, concurrencyKey: key }) => (key === null ? null : uses.get(nameOf(projectId, key))!)
}

/**
 * Records what a pass has found about the keys of the sessions that it considered: whose key had no place waits for it;
 * who waits for something else gives up the place that it was offered. Returns whether places are to be offered.
 */
export async function settlePass(
  tx: Queryable,
  considered: readonly Keyed[],
  { placed, forKey }: Pick<Placement, 'placed' | 'forKey'>,
): Promise<boolean> {
  const keyed = withKeys(considered)
  if (keyed.length === 0) return false
  const started = new Set(placed.map(({ sessionId }) => sessionId))
  const freed = keyed.filter(({ id, waitsForKey }) =>
    forKey.has(id) ? forKey.get(id)!.yields : waitsForKey && !started.has(id),
  )
  const waits = new Map(keyed.map(({ id }) => [id, forKey.has(id)]))
  await settleKeys(tx, waits, freed)
  return freed.length > 0
}

function withKeys<Session extends Keyed>(sessions: readonly Session[]): (Session & ConcurrencyKey)[] {
  return sessions.flatMap((session) =>
    session.concurrencyKey === null ? [] : [{ ...session, key: session.concurrencyKey }],
  )
}

function nameOf(projectId: string, key: string): string {
  return `${projectId} ${key}`
}
