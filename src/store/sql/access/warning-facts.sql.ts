import type { WarningFacts } from '../../../domain/warning.ts'
import type { Queryable } from '../../database.ts'

/** Reads small tables only: readiness probes ask for it. A lost agent comes back with what it has then. */
const WARNING_FACTS_SQL = `
WITH present AS (
  SELECT isolation, embedded, warnings FROM agents WHERE status NOT IN ('LOST', 'TERMINATED')
), reported AS (
  SELECT w ->> 'kind' AS kind, w ->> 'text' AS text, count(*)::int AS agents
  FROM present, jsonb_array_elements(warnings) AS w WHERE NOT embedded
  GROUP BY 1, 2 ORDER BY 1, 2 LIMIT 50
)
SELECT array_remove(ARRAY[
    CASE WHEN r.rolsuper THEN 'SUPERUSER' END, CASE WHEN r.rolcreaterole THEN 'CREATEROLE' END,
    CASE WHEN r.rolreplication THEN 'REPLICATION' END, CASE WHEN r.rolbypassrls THEN 'BYPASSRLS' END
  ], NULL) AS attributes,
  has_database_privilege('public', current_database(), 'CONNECT') AS "openToAllRoles",
  CASE WHEN EXISTS (
      SELECT FROM api_tokens WHERE role NOT IN ('ADMIN', 'AGENT') AND revoked_at IS NULL
        AND (expires_at IS NULL OR expires_at > reprise_now()))
    THEN (SELECT count(*)::int FROM present WHERE isolation = 'none') ELSE 0 END AS "agentsAtRisk",
  (SELECT count(*)::int FROM projects) AS projects,
  (SELECT coalesce(json_agg(reported), '[]') FROM reported) AS reported
FROM pg_roles r WHERE r.rolname = current_user`

export async function readWarningFacts(db: Queryable): Promise<WarningFacts> {
  return (await db.query<WarningFacts>(WARNING_FACTS_SQL)).rows[0]!
}
