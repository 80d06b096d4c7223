import type { Queryable } from '../../database.ts'

/** The columns of a delivery made from an event `e`, a webhook `w` and DELIVERY_SOURCES. */
export const DELIVERY_COLUMNS = 'id, webhook_id, event_id, event_type, occurred_at, session_id, chain_id, facts'

/**
 * The subject of an event: a session `s`, or a deployment `d` with the revision `v` of the deployment or of its route
 * `r`; or a group `g`, which has no labels; or none of them; and their project `p`. A webhook `w` gets events about subjects that have
 * all of its labels.
 */
export const DELIVERY_SOURCES = `JOIN projects p ON p.id = e.project_id
  LEFT JOIN sessions s ON s.id = e.session_id
  LEFT JOIN deployments d ON d.id = e.deployment_id
  LEFT JOIN routes r ON r.id = e.route_id
  LEFT JOIN deployment_revisions v ON v.deployment_id = d.id AND v.revision = coalesce(r.revision, d.revision)
  LEFT JOIN session_groups g ON g.id = e.group_id
  WHERE coalesce(s.labels, v.labels, '{}') @> w.labels AND NOT (w.skip_group_members AND s.group_id IS NOT NULL)`

/** Builds the condition that a webhook `w` subscribes to this event type. */
export function hasPatternFor(type: string): string {
  return `EXISTS (SELECT FROM unnest(w.event_types) AS p(pattern)
    WHERE ${type} LIKE replace(replace(p.pattern, '_', '\\_'), '*', '%'))`
}

/**
 * Builds the columns of a delivery. `place` is the position among the deliveries of one statement, below 4096. Ids are
 * UUIDv7: time, place, random.
 */
export function deliverySelect(place: string): string {
  return `(lpad(to_hex(floor(extract(epoch FROM reprise_now()) * 1000)::int8), 12, '0') || '7'
      || lpad(to_hex(${place} % 4096), 3, '0') || substr(replace(gen_random_uuid()::text, '-', ''), 17))::uuid,
    w.id, e.id, e.type, e.occurred_at, e.session_id, e.chain_id,
    jsonb_build_object('event', e.data) || CASE WHEN e.group_id IS NOT NULL
      THEN jsonb_build_object('group', jsonb_build_object('id', e.group_id, 'key', g.key, 'name', g.name, 'project', p.name))
      WHEN e.session_id IS NULL AND e.deployment_id IS NULL THEN jsonb_build_object('project', p.name)
      WHEN e.session_id IS NULL
      THEN jsonb_build_object('deployment', jsonb_build_object('id', d.id, 'routeId', e.route_id, 'name', d.name,
        'project', p.name))
      ELSE jsonb_build_object('session', jsonb_build_object('name', s.name, 'type', s.session_type, 'project', p.name,
        'parentSessionId', s.parent_session_id, 'attempt', s.retry_count + 1, 'maxAttempts',
        CASE s.session_type WHEN 'BATCH' THEN s.max_retries ELSE 0 END + 1,
        'exitCode', s.exit_code)) END`
}

/** The settings of a webhook that a person may change. */
export interface WebhookSettings {
  url: string
  description: string
  eventTypes: string[]
  chainId: string | null
  labels: Record<string, string>
  /** No events of sessions whose chain is a member of a group. */
  skipGroupMembers: boolean
}

export interface NewWebhook extends WebhookSettings {
  id: string
  /** Null for the events of all projects. */
  projectId: string | null
  /** The sealed secret. */
  secret: Buffer
}

/** Serialises counting a project's webhooks and adding one. */
const COUNT_LOCK_SQL = `SELECT pg_advisory_xact_lock(hashtextextended('webhooks of ' || coalesce($1::text, 'all'), 0))`
const COUNT_SQL = `SELECT count(*) AS count FROM webhooks WHERE project_id IS NOT DISTINCT FROM $1::uuid`

/** Counts the webhooks of a project, or those for all projects; the number stays correct until the transaction ends. */
export async function countWebhooks(tx: Queryable, projectId: string | null): Promise<number> {
  await tx.query(COUNT_LOCK_SQL, [projectId])
  return (await tx.query<{ count: number }>(COUNT_SQL, [projectId])).rows[0]!.count
}

const INSERT_SQL = `
INSERT INTO webhooks (id, project_id, url, description, event_types, chain_id, labels, secret, skip_group_members, secret_sealed)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, true)`

export async function insertWebhook(tx: Queryable, webhook: NewWebhook): Promise<void> {
  const { id, projectId, url, description, eventTypes, chainId, labels, secret, skipGroupMembers } = webhook
  const settings = [url, description, eventTypes, chainId, JSON.stringify(labels), secret, skipGroupMembers]
  await tx.query(INSERT_SQL, [id, projectId, ...settings])
}

export interface LockedWebhook extends WebhookSettings {
  id: string
  projectId: string | null
  enabled: boolean
}

const LOCK_SQL = `
SELECT id, project_id AS "projectId", url, description, event_types AS "eventTypes", chain_id AS "chainId", labels, enabled, skip_group_members AS "skipGroupMembers"
FROM webhooks WHERE id = $1 AND ($2::uuid IS NULL OR project_id = $2) FOR UPDATE`

/** Returns undefined if the viewer sees no such webhook. */
export async function lockWebhook(
  tx: Queryable,
  id: string,
  visibleProjectId: string | null,
): Promise<LockedWebhook | undefined> {
  return (await tx.query<LockedWebhook>(LOCK_SQL, [id, visibleProjectId])).rows[0]
}

/** A webhook that is enabled again gets events committed from now on, and its failure state is cleared. */
const UPDATE_SQL = `
UPDATE webhooks SET url = $2, description = $3, event_types = $4, chain_id = $5, labels = $6, skip_group_members = $8, enabled = $7,
  disabled_at = CASE WHEN $7 THEN NULL ELSE coalesce(disabled_at, reprise_now()) END,
  disabled_reason = CASE WHEN $7 THEN NULL ELSE disabled_reason END,
  failing_since = CASE WHEN $7 AND NOT enabled THEN NULL ELSE failing_since END,
  resting_until = CASE WHEN $7 AND NOT enabled THEN NULL ELSE resting_until END,
  active_since = CASE WHEN $7 AND NOT enabled THEN outbox_snapshot() ELSE active_since END
WHERE id = $1`

export async function updateWebhookRow(
  tx: Queryable,
  id: string,
  { url, description, eventTypes, chainId, labels, skipGroupMembers }: WebhookSettings,
  enabled: boolean,
): Promise<void> {
  const settings = [url, description, eventTypes, chainId, JSON.stringify(labels), enabled, skipGroupMembers]
  await tx.query(UPDATE_SQL, [id, ...settings])
}

const ROTATE_SQL = `
UPDATE webhooks SET secret = $2, secret_sealed = true,
  previous_secret = CASE WHEN $3::int8 > 0 AND secret_sealed THEN secret END,
  previous_secret_expires_at = CASE WHEN $3::int8 > 0 AND secret_sealed THEN reprise_now() + make_interval(secs => $3::int8) END
WHERE id = $1`

/**
 * Rotates the secret; `secret` is sealed. The previous secret signs beside the new one for `overlapSeconds`; the one
 * before that stops at once.
 */
export async function rotateSecret(tx: Queryable, id: string, secret: Buffer, overlapSeconds: number): Promise<void> {
  await tx.query(ROTATE_SQL, [id, secret, overlapSeconds])
}

const DELETE_SQL = `DELETE FROM webhooks WHERE id = $1`

/** Deletes a webhook with its deliveries and their attempts. */
export async function deleteWebhookRow(tx: Queryable, id: string): Promise<void> {
  await tx.query(DELETE_SQL, [id])
}

interface WebhookSecrets {
  id: string
  secret: Buffer
  previousSecret: Buffer | null
}

const PLAIN_SQL = `
SELECT id, secret, previous_secret AS "previousSecret" FROM webhooks WHERE NOT secret_sealed
ORDER BY id LIMIT $1 FOR UPDATE`

/** Reads webhooks whose secrets are not encrypted yet, and locks them for the transaction. */
export async function readPlainWebhooks(tx: Queryable, limit: number): Promise<WebhookSecrets[]> {
  return (await tx.query<WebhookSecrets>(PLAIN_SQL, [limit])).rows
}

const STORE_SQL = `
UPDATE webhooks w SET secret = s.secret, previous_secret = s.previous_secret, secret_sealed = true
FROM unnest($1::uuid[], $2::bytea[], $3::bytea[]) AS s(id, secret, previous_secret) WHERE w.id = s.id`

export async function storeSealedSecrets(tx: Queryable, sealed: readonly WebhookSecrets[]): Promise<void> {
  if (sealed.length === 0) return
  await tx.query(STORE_SQL, [
    sealed.map(({ id }) => id),
    sealed.map(({ secret }) => secret),
    sealed.map(({ previousSecret }) => previousSecret),
  ])
}
