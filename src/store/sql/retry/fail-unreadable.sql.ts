import type { Queryable } from '../../database.ts'

export interface UnreadableSecrets {
  kernelId: string
  assignment: number
  message: string
}

/** The kernels cannot be started by this server: the handler in charge judges that as it does any failure to start. */
const SQL = `
WITH unreadable AS (
  SELECT u.*, k.id FROM json_to_recordset($1::json) AS u("kernelId" uuid, "assignment" int, "message" text)
  JOIN kernels k ON k.id = u."kernelId" ORDER BY k.id FOR NO KEY UPDATE OF k
)
UPDATE kernels k SET reason = 'secrets-unreadable', error = jsonb_build_object('name', 'secrets-unreadable',
  'message', 'a secret of its environment could not be read. ' || u."message", 'agentId', k.agent_id)
FROM unreadable u
WHERE k.id = u.id AND k.assignment = u."assignment" AND k.status = 'CREATING' AND k.error IS NULL`

export async function failUnreadable(db: Queryable, kernels: readonly UnreadableSecrets[]): Promise<void> {
  await db.query(SQL, [JSON.stringify(kernels)])
}
