import { createSessions } from '../../../src/services/session/create-sessions.ts'
import type { ServiceContext } from '../../../src/services/service-context.ts'

const CREATE_BATCH_SESSIONS = 500

/** Failed sessions of a project, all with a retry that is due now, or so much `later`. Returns their ids. */
export async function dueRetries(
  context: ServiceContext,
  options: { count: number; project?: string; retryPolicy?: object; later?: string },
): Promise<string[]> {
  const { count, project = 'default', later = '0', retryPolicy = { maxRetries: 3 } } = options
  const ids: string[] = []
  while (ids.length < count) {
    const batch = Array.from({ length: Math.min(CREATE_BATCH_SESSIONS, count - ids.length) }, () => ({
      name: 'failed',
      command: ['false'],
      project,
      retryPolicy,
    }))
    for (const created of await createSessions(context, batch)) {
      if (created instanceof Error) throw created
      ids.push(created.sessionId)
    }
  }
  await context.db.transaction(async (tx) => {
    await tx.query(
      `UPDATE sessions SET status = 'ERROR', result = 'FAILURE', exit_code = 1, failure_cause = 'KERNEL_NONZERO_EXIT',
         terminated_at = reprise_now(), retry_decided = true WHERE id = ANY($1)`,
      [ids],
    )
    await tx.query(
      `UPDATE kernels SET status = 'ERROR', exit_code = 1, terminated_at = reprise_now() WHERE session_id = ANY($1)`,
      [ids],
    )
    await tx.query(
      `INSERT INTO retry_decisions (session_id, project_id, chain_id, phase, cause, base_delay_ms, jitter_ms, delay_ms,
         due_at, ready_at, explanation, details)
       SELECT id, project_id, chain_id, 'SCHEDULED', failure_cause, 0, 0, 0, reprise_now() + $2::interval,
         reprise_now() + $2::interval, 'retry 1 of 3: exit code 1',
         '{"growth": null, "avoid": {"agents": [], "groups": []}}'
       FROM sessions WHERE id = ANY($1)`,
      [ids, later],
    )
  })
  return ids
}

/** Failed sessions of a project that have no retry left. Returns their ids, oldest first. */
export async function exhaustedSessions(
  context: ServiceContext,
  options: { count: number; project?: string },
): Promise<string[]> {
  const ids = await dueRetries(context, options)
  await context.db.query(
    `UPDATE retry_decisions SET phase = 'EXHAUSTED', due_at = NULL, ready_at = NULL WHERE session_id = ANY($1)`,
    [ids],
  )
  return ids.toSorted()
}
