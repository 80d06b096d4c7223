import { VOLUMES_LISTED_MAX } from '../../../domain/limits.ts'
import type { Queryable } from '../../database.ts'

/** A name under which agents have a directory. */
export interface Volume {
  name: string
  readOnly: boolean
  resourceGroups: string[]
  /** How many have it and are alive. */
  agents: number
}

/** Agents name the projects that may use what they have; one that is named nowhere sees what is for all. */
const SQL = `
SELECT v.name, bool_and(v."readOnly") AS "readOnly", array_agg(DISTINCT a.resource_group ORDER BY a.resource_group) AS "resourceGroups",
  (count(*) FILTER (WHERE a.status = 'ALIVE'))::int AS agents
FROM agents a CROSS JOIN LATERAL jsonb_to_recordset(a.volumes) AS v("name" text, "readOnly" bool, "projects" jsonb)
WHERE a.volumes IS NOT NULL AND a.status <> 'TERMINATED' AND ($1::uuid IS NULL OR nullif(v."projects", 'null') IS NULL
  OR v."projects" ? (SELECT p.name FROM projects p WHERE p.id = $1))
GROUP BY v.name ORDER BY v.name COLLATE "C" LIMIT ${VOLUMES_LISTED_MAX}`

/** @param projectId null for those of all projects */
export async function readVolumeRows(db: Queryable, projectId: string | null): Promise<Volume[]> {
  return (await db.query<Volume>(SQL, [projectId])).rows
}
