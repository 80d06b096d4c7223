import type { FailureCause } from '../../../domain/session/causes.ts'
import type { ClusterMode, SessionOrigin, SessionType } from '../../../domain/session/statuses.ts'
import type { SealedVariable } from '../../../domain/session/sealed-variable.ts'
import type { Queryable } from '../../database.ts'
import { ACTOR_COLUMNS, actorValues, type Actor } from '../access/record-audit.sql.ts'

/** A session to be created, initial or child; `kernelIds` has one id per kernel, the main kernel's first. */
export interface NewSession {
  id: string
  projectId: string
  userId: string | null
  resourceGroup: string
  creationId: string
  /** Of the client's input if the client chose the creation id. */
  creationDigest: string | null
  name: string
  sessionType: SessionType
  image: string | null
  command: string[]
  environ: { name: string; value: string }[]
  secretEnviron: SealedVariable[]
  resourceSlots: Record<string, string>
  clusterMode: ClusterMode
  kernelIds: string[]
  batchTimeout: number | null
  startsAt: string | null
  priority: number
  labels: Record<string, string>
  /** Chains that must succeed first. */
  dependsOnChains: string[]
  parentSessionId: string | null
  chainId: string
  attempt: number
  epoch: number
  origin: SessionOrigin
  retryCount: number
  uncountedRetries: number
  retryPolicy: object & { maxRetries: number }
  retryPolicySources: Record<string, string>
  retryCause: FailureCause | null
  /** ISO 8601; null for now. */
  epochStartedAt: string | null
  avoidAgents: string[]
  allowAgents: string[]
  /** Agents that must not run it. */
  excludeAgents: string[]
  /** { key: value }: an agent must have all of these labels. */
  agentLabels: Record<string, string>
  avoidGroups: string[]
  /** The environment variable through which the agent tells the program its port; null if it serves on none. */
  portVariable: string | null
  /** The trace context of the request that began the chain, `00-<trace>-<span>-<flags>`; null if it has none. */
  traceParent: string | null
}

/**
 * Inserts sessions with their kernels, dependencies and `session.created` events. Sessions that exist already (by
 * creation id in the project, by parent, or by position in the chain) are left out of the result. If an owner's pending
 * sessions are limited, the session is not inserted but reported as limited, unless it was counted and admitted before.
 * Rows are inserted in the order of creation ids, so two calls that share some wait for each other in one direction
 * only. Sessions of one batch mostly share their policy, by far their longest part: each distinct policy is sent once.
 * About 9,000 sessions/s in batches of 500.
 */
const SQL = `
WITH input AS (
  SELECT * FROM json_to_recordset($1::json) AS i(
    "id" uuid, "projectId" uuid, "userId" uuid, "resourceGroup" text, "creationId" text, "creationDigest" text, "name" text,
    "sessionType" session_type, "image" text, "command" text[], "environ" jsonb, "secretEnviron" jsonb, "resourceSlots" jsonb,
    "clusterMode" cluster_mode, "kernelIds" uuid[], "batchTimeout" float8, "startsAt" timestamptz,
    "priority" smallint, "labels" jsonb, "dependsOnChains" uuid[], "parentSessionId" uuid, "chainId" uuid,
    "attempt" int, "epoch" int, "origin" session_origin, "retryCount" int, "uncountedRetries" int,
    "retryCause" failure_cause, "epochStartedAt" timestamptz, "avoidAgents" uuid[], "allowAgents" uuid[],
    "excludeAgents" uuid[], "avoidGroups" text[], "agentLabels" jsonb, "traceParent" text, "portVariable" text, "policyNumber" int)
), limited AS MATERIALIZED (
  SELECT i."projectId" AS project_id, i."userId" AS user_id FROM (SELECT DISTINCT "projectId", "userId" FROM input) AS i
  WHERE NOT $4 AND EXISTS (SELECT FROM resource_policies q WHERE q.max_pending IS NOT NULL
    AND (q.scope = 'PROJECT' AND q.scope_id = i."projectId" OR q.scope = 'USER' AND q.scope_id = i."userId"
      OR q.scope = 'DOMAIN' AND q.scope_id = (SELECT p.domain_id FROM projects p WHERE p.id = i."projectId")))
), policies AS MATERIALIZED (
  SELECT (p.pair -> 'policy')::jsonb AS policy, (p.pair -> 'sources')::jsonb AS sources, p.number - 1 AS number
  FROM json_array_elements($3::json) WITH ORDINALITY AS p(pair, number)
), inserted AS (
  INSERT INTO sessions (id, project_id, user_id, resource_group, creation_id, creation_digest, name, session_type, image, command,
    environ, secret_environ, resource_slots, cluster_mode, cluster_size, batch_timeout, starts_at, priority, labels,
    parent_session_id, chain_id, attempt, epoch, origin, retry_count, uncounted_retries, max_retries,
    retry_policy, retry_policy_sources, retry_cause, retry_decided, epoch_started_at, avoid_agents, allow_agents,
    exclude_agents, avoid_groups, agent_labels, trace_parent, port_variable, created_by)
  SELECT "id", "projectId", "userId", "resourceGroup", "creationId", "creationDigest", "name", "sessionType", "image", "command",
    "environ", "secretEnviron", "resourceSlots", "clusterMode", cardinality("kernelIds"), "batchTimeout", "startsAt", "priority",
    "labels", "parentSessionId", "chainId", "attempt", "epoch", "origin", "retryCount", "uncountedRetries",
    (p.policy ->> 'maxRetries')::int, p.policy, p.sources, "retryCause",
    "sessionType" <> 'BATCH', coalesce("epochStartedAt", now()), "avoidAgents", "allowAgents",
    "excludeAgents", "avoidGroups", "agentLabels", "traceParent", "portVariable", $2
  FROM input JOIN policies p ON p.number = "policyNumber"
  WHERE NOT EXISTS (SELECT FROM limited l
    WHERE l.project_id = "projectId" AND l.user_id IS NOT DISTINCT FROM "userId")
  ORDER BY "projectId", "creationId"
  ON CONFLICT DO NOTHING
  RETURNING id, chain_id, project_id
), kernels AS (
  INSERT INTO kernels (id, session_id, role, index, resource_slots)
  SELECT kernel.id, i.id, CASE WHEN kernel.position = 1 THEN 'main' ELSE 'sub' END,
    CASE WHEN kernel.position = 1 THEN 1 ELSE kernel.position - 1 END, i."resourceSlots"
  FROM inserted JOIN input i USING (id), unnest(i."kernelIds") WITH ORDINALITY AS kernel(id, position)
), dependencies AS (
  INSERT INTO session_dependencies (session_id, chain_id)
  SELECT i.id, chain FROM inserted JOIN input i USING (id), unnest(i."dependsOnChains") AS chain
), events AS (
  INSERT INTO session_events (type, session_id, chain_id, project_id, data)
  SELECT 'session.created', id, chain_id, project_id, '{"from": null, "to": "PENDING"}' FROM inserted
), audit AS (
  INSERT INTO audit_log (${ACTOR_COLUMNS}, action, project_id, details)
  SELECT ${actorValues('$5')}, 'session.create', project_id, jsonb_build_object('sessionIds', jsonb_agg(id))
  FROM inserted WHERE $2::text IS NOT NULL GROUP BY project_id
)
SELECT id, false AS limited FROM inserted
UNION ALL
SELECT i."id", true FROM input i
JOIN limited l ON l.project_id = i."projectId" AND l.user_id IS NOT DISTINCT FROM i."userId"`

export interface InsertedSessions {
  /** Ids of the sessions that were inserted. */
  inserted: Set<string>
  /** Ids of the sessions that must first be counted against a quota. */
  limited: Set<string>
}

/**
 * `actor`: the person named in the audit log, null if no person asked. `admitted`: limits on pending sessions were
 * checked in this transaction, with their quotas locked.
 */
export async function insertSessions(
  tx: Queryable,
  sessions: readonly NewSession[],
  { actor, admitted }: { actor: Actor | null; admitted: boolean },
): Promise<InsertedSessions> {
  if (sessions.length === 0) return { inserted: new Set(), limited: new Set() }
  const policies = new Map<string, number>()
  const rowsIn = sessions.map(({ retryPolicy: policy, retryPolicySources: sources, ...session }) => {
    const pair = JSON.stringify({ policy, sources })
    const policyNumber = policies.get(pair) ?? policies.size
    policies.set(pair, policyNumber)
    return { ...session, policyNumber }
  })
  const values = [
    JSON.stringify(rowsIn),
    actor?.name ?? null,
    `[${[...policies.keys()].join(',')}]`,
    admitted,
    JSON.stringify(actor),
  ]
  const { rows } = await tx.query<{ id: string; limited: boolean }>(SQL, values)
  const idsOf = (limited: boolean) => new Set(rows.flatMap((row) => (row.limited === limited ? [row.id] : [])))
  return { inserted: idsOf(false), limited: idsOf(true) }
}
