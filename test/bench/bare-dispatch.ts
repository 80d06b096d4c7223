import type { Database } from '../../src/store/database.ts'
import type { BenchGround } from './ground.ts'

const BATCH_RETRIES = 500

/**
 * The ceiling of dispatch: the children of all due retries by INSERT … SELECT, with kernel, events, decision and
 * audit entry, in batches of 500 on one connection. Answers with children/s.
 */
export async function bareDispatch(ground: BenchGround, db: Database, retries: number): Promise<number> {
  const begun = performance.now()
  for (let done = 0; done < retries; done += BATCH_RETRIES) {
    ground.signal.throwIfAborted()
    await db.transaction(async (tx) => {
      const parents = await tx.query<{ id: string }>(
        `SELECT session_id AS id FROM retry_decisions WHERE phase = 'SCHEDULED' ORDER BY ready_at LIMIT ${BATCH_RETRIES}`,
      )
      const ids = [parents.rows.map(({ id }) => id)]
      await tx.query(
        `INSERT INTO sessions (id, project_id, resource_group, creation_id, name, session_type, command, environ,
           resource_slots, cluster_mode, cluster_size, priority, labels, chain_id, attempt, max_retries, retry_policy,
           retry_policy_sources, retry_cause, retry_count, origin, parent_session_id)
         SELECT uuidv7(), project_id, resource_group, creation_id || ':retry:1', name, session_type, command, environ,
           resource_slots, cluster_mode, cluster_size, priority, labels, chain_id, attempt + 1, max_retries, retry_policy,
           retry_policy_sources, failure_cause, retry_count + 1, 'AUTO_RETRY', id
         FROM sessions WHERE id = ANY($1::uuid[])`,
        ids,
      )
      await tx.query(
        `INSERT INTO kernels (id, session_id, role, index, resource_slots)
         SELECT uuidv7(), id, 'main', 1, resource_slots FROM sessions WHERE parent_session_id = ANY($1::uuid[])`,
        ids,
      )
      for (const type of ['session.created', 'session.retry_dispatched']) {
        await tx.query(
          `INSERT INTO session_events (type, session_id, chain_id, project_id, data)
           SELECT '${type}', id, chain_id, project_id, '{"from": null, "to": "PENDING"}'
           FROM sessions WHERE parent_session_id = ANY($1::uuid[])`,
          ids,
        )
      }
      await tx.query(
        `UPDATE retry_decisions d SET phase = 'DISPATCHED', child_session_id = s.id, dispatched_at = now()
         FROM sessions s WHERE d.session_id = ANY($1::uuid[]) AND s.parent_session_id = d.session_id`,
        ids,
      )
      await tx.query(
        `INSERT INTO audit_log (actor, action, project_id, session_id, details)
         SELECT 'bench', 'retry.dispatched', project_id, id, '{"auto": true}' FROM sessions WHERE id = ANY($1::uuid[])`,
        ids,
      )
    })
  }
  return retries / ((performance.now() - begun) / 1000)
}
