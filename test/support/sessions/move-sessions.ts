import type { Database } from '../../../src/store/database.ts'

const MOVERS = 4

/**
 * Lets sessions fail and run again, in turns, as fast as it goes and until it is disposed. Each move is one transaction
 * with its event; `status_reason` is the number of the session's moves.
 */
export function moveSessions(db: Database, ids: readonly string[]): AsyncDisposable {
  const stopped = new AbortController()
  const mover = async (from: number) => {
    for (let n = from; !stopped.signal.aborted; n++) await moveOne(db, ids[n % ids.length]!)
  }
  const movers = Array.from({ length: MOVERS }, (_, n) => mover(n * 3))
  return {
    async [Symbol.asyncDispose]() {
      stopped.abort()
      await Promise.all(movers)
    },
  }
}

function moveOne(db: Database, id: string): Promise<void> {
  return db.transaction(async (tx) => {
    await tx.query('SELECT FROM sessions WHERE id = $1 FOR UPDATE', [id])
    const { rows } = await tx.query<{ failed: boolean }>(
      `UPDATE sessions SET
         status = CASE status WHEN 'RUNNING' THEN 'ERROR' ELSE 'RUNNING' END::session_status,
         status_reason = (CASE WHEN status_reason ~ '^[0-9]+$' THEN status_reason ELSE '0' END::int + 1)::text,
         failure_cause = CASE status WHEN 'RUNNING' THEN 'OOM_KILLED'::failure_cause END,
         terminated_at = CASE status WHEN 'RUNNING' THEN reprise_now() END,
         retry_decided = status = 'RUNNING'
       WHERE id = $1 RETURNING status = 'ERROR' AS failed`,
      [id],
    )
    const decide = `INSERT INTO retry_decisions (session_id, project_id, chain_id, phase, cause, explanation)
      SELECT id, project_id, chain_id, 'EXHAUSTED', failure_cause, 'as moved' FROM sessions WHERE id = $1`
    await tx.query(rows[0]!.failed ? decide : 'DELETE FROM retry_decisions WHERE session_id = $1', [id])
    await tx.query(
      `INSERT INTO session_events (type, session_id, chain_id, project_id, data)
       SELECT 'session.status_changed', id, chain_id, project_id,
         jsonb_build_object('from', 'RUNNING', 'to', status, 'reason', status_reason) FROM sessions WHERE id = $1`,
      [id],
    )
  })
}
