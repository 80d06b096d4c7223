import type { Queryable } from '../../database.ts'

const SQL = `
SELECT k.status IN ('TERMINATED', 'ERROR', 'CANCELLED') AS over, s.project_id AS "projectId"
FROM kernels k JOIN sessions s ON s.id = k.session_id WHERE k.id = $1`

export async function readKernelState(
  db: Queryable,
  kernelId: string,
): Promise<{ over: boolean; projectId: string } | undefined> {
  return (await db.query<{ over: boolean; projectId: string }>(SQL, [kernelId])).rows[0]
}
