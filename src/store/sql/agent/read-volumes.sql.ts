import { VOLUMES_LISTED_MAX } from '../../../domain/limits.ts'
import type { OfferedVolume } from '../../../domain/scheduling/volume-need.ts'
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

const GROUP_SQL = `
SELECT p.name AS project, ARRAY(SELECT jsonb_build_object('volumes', a.volumes) FROM agents a
  WHERE a.resource_group = $2 AND a.status <> 'TERMINATED' AND a.volumes IS NOT NULL) AS agents
FROM projects p WHERE p.id = $1`

/** The name of a project, and what each of a group's agents has for all projects, whether it is alive or not. */
export async function readGroupVolumes(
  db: Queryable,
  projectId: string,
  resourceGroup: string,
): Promise<{ project: string; agents: { volumes: OfferedVolume[] }[] }> {
  const values = [projectId, resourceGroup]
  return (await db.query<{ project: string; agents: { volumes: OfferedVolume[] }[] }>(GROUP_SQL, values)).rows[0]!
}
