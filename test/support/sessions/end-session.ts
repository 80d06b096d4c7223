import type { TestServer } from '../servers/graphql-server.ts'
import { testServer } from '../servers/test-server.ts'

/** Ends a session as its program did, decides whether it is retried, and adds it up in its group. */
export async function endSession(
  { db, wake }: Pick<TestServer, 'db' | 'wake'>,
  id: string,
  exitCode: number,
): Promise<void> {
  const data = { error: { name: 'kernel-exited', message: `exit code ${exitCode}`, exitCode } }
  const outcome = exitCode === 0 ? ['TERMINATED', 'SUCCESS', null] : ['ERROR', 'FAILURE', data]
  await db.query(
    `UPDATE sessions SET status = $3, result = $4, status_data = $5, exit_code = $2, status_reason = 'task-ended',
      terminated_at = now() WHERE id = $1`,
    [id, exitCode, ...outcome],
  )
  await db.query(`UPDATE kernels SET status = $2, slots_held = false WHERE session_id = $1`, [id, outcome[0]])
  await testServer(db, undefined, wake).run('decide-retries', 'settle-groups')
}
