import type { Queryable } from '../../database.ts'

/** The trigger that writes these events knows the sessions alone. Index: session_events(xid, id), of this transaction. */
const SQL = `
UPDATE session_events SET data = data || jsonb_build_object('reason', $2::text)
WHERE xid = outbox_position(pg_current_xact_id()) AND type = 'chain.reopened' AND session_id = ANY($1::uuid[])`

/** The events of chains that this transaction has reopened, by these sessions, say why. */
export async function attributeReopenings(tx: Queryable, sessionIds: readonly string[], reason: string): Promise<void> {
  if (sessionIds.length > 0) await tx.query(SQL, [sessionIds, reason])
}
