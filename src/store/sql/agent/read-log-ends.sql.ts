import type { Queryable } from '../../database.ts'

/** A backward probe of kernel_logs(kernel_id, id) for each kernel. A kernel that does not exist any more has ended. */
const SQL = `
SELECT followed.id AS "kernelId",
  coalesce((SELECT max(l.id) FROM kernel_logs l WHERE l.kernel_id = followed.id), 0) || ' '
    || coalesce(k.status IN ('TERMINATED', 'ERROR', 'CANCELLED'), true) AS end
FROM unnest($1::uuid[]) AS followed(id) LEFT JOIN kernels k ON k.id = followed.id`

/** A text for each kernel that changes when its log grows or the kernel ends. */
export async function readLogEnds(
  db: Queryable,
  kernelIds: readonly string[],
): Promise<{ kernelId: string; end: string }[]> {
  return (await db.query<{ kernelId: string; end: string }>(SQL, [kernelIds])).rows
}
