import type { Queryable } from '../../database.ts'

/** Index: the primary key of revisions. */
const COUNT_SQL = `
SELECT deployment_id AS id, count(*) AS count FROM deployment_revisions
WHERE deployment_id = ANY($1::uuid[]) GROUP BY deployment_id`

/** Those that retention has left; the number of a deployment's newest revision may be higher. */
export async function countRevisions(db: Queryable, deploymentIds: readonly string[]): Promise<Map<string, number>> {
  const { rows } = await db.query<{ id: string; count: number }>(COUNT_SQL, [deploymentIds])
  return new Map(rows.map(({ id, count }) => [id, count]))
}
