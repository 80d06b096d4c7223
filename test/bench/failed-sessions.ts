import { createSessions } from '../../src/services/session/create-sessions.ts'
import type { ServiceContext } from '../../src/services/service-context.ts'

const CREATE_BATCH_SESSIONS = 500

/** Sessions that have failed, each with the decision that it is retried, due in `dueInMs`. */
export async function addFailedSessions(context: ServiceContext, count: number, dueInMs: number): Promise<void> {
  const inputs = Array.from({ length: CREATE_BATCH_SESSIONS }, () => ({
    name: 'bench',
    command: ['noop', 'exit', '1'],
    retryPolicy: { maxRetries: 3 },
  }))
  for (let done = 0; done < count; done += inputs.length) await createSessions(context, inputs.slice(0, count - done))
  await context.db.transaction(async (tx) => {
    await tx.query(
      `UPDATE sessions SET status = 'ERROR', result = 'FAILURE', exit_code = 1, failure_cause = 'KERNEL_NONZERO_EXIT',
         terminated_at = now(), retry_decided = true WHERE status = 'PENDING'`,
    )
    await tx.query(`UPDATE kernels SET status = 'ERROR', exit_code = 1, terminated_at = now() WHERE status = 'PENDING'`)
    await tx.query(
      `INSERT INTO retry_decisions (session_id, project_id, chain_id, phase, cause, base_delay_ms, jitter_ms, delay_ms,
         due_at, ready_at, explanation, details)
       SELECT id, project_id, chain_id, 'SCHEDULED', failure_cause, $1, 0, $1, due.at, due.at, 'retried',
         '{"growth": null, "avoid": {"agents": [], "groups": []}}'
       FROM sessions s, LATERAL (SELECT now() + make_interval(secs => $1 / 1000.0) AS at) AS due
       WHERE s.status = 'ERROR' AND NOT EXISTS (SELECT FROM retry_decisions d WHERE d.session_id = s.id)`,
      [dueInMs],
    )
  })
  await context.db.query('VACUUM ANALYZE')
}
