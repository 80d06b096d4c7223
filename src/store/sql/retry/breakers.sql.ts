import type { HoldingSwitch, OpenBreaker } from '../../../domain/retry/admit.ts'
import {
  BREAKER_PROBE_MAX_MS,
  BREAKER_PROBE_MIN_MS,
  BREAKER_PROBES_MAX,
  DISPATCH_INTERVAL_MS,
  HELD_RELEASE_RETRIES_MAX,
} from '../../../domain/limits.ts'
import type { Queryable } from '../../database.ts'
import { OVERFLOW_FINGERPRINT } from '../insight/failures.sql.ts'

/**
 * The group of a decision's failure if its breaker is open, for decisions `d`. While no breaker is open, which is asked
 * once, no decision is looked up.
 */
export const OPEN_BREAKER_OF_DECISION = `CASE WHEN EXISTS (SELECT FROM retry_breakers WHERE closed_at IS NULL) THEN (
    SELECT b.group_id FROM failures f JOIN failure_groups g ON g.id = f.group_id
    JOIN retry_breakers b ON b.group_id = coalesce(g.merged_into, g.id) AND b.closed_at IS NULL
    WHERE f.session_id = d.session_id) END`

/** The setting in force for a project `p`: that of the narrowest scope that has one. */
const SETTING_OF_PROJECT = `SELECT w.breaker_failures, w.breaker_chains, w.breaker_window_seconds FROM retry_switches w
  WHERE w.breaker_failures IS NOT NULL AND (w.scope = 'CLUSTER' OR w.scope = 'DOMAIN' AND w.scope_id = p.domain_id
    OR w.scope = 'PROJECT' AND w.scope_id = p.id)
  ORDER BY w.scope DESC LIMIT 1`

/** Of a group, the failures since a time and their chains. Index: failures(group_id, failed_at). */
const failuresSince = (group: string, since: string) => `
  SELECT count(*)::int AS failures, count(DISTINCT f.chain_id)::int AS chains FROM failures f
  WHERE f.group_id IN (SELECT m.id FROM failure_groups m WHERE m.id = ${group} OR m.merged_into = ${group})
    AND f.failed_at > ${since}`

/** Opens a breaker that is closed or was never opened, and records it. */
const OPENED = `
  ON CONFLICT (group_id) DO UPDATE SET opened_at = EXCLUDED.opened_at, opened_by = EXCLUDED.opened_by,
    failure_count = EXCLUDED.failure_count, chain_count = EXCLUDED.chain_count, probes = '{}',
    next_probe_at = EXCLUDED.next_probe_at, closed_at = NULL
  WHERE retry_breakers.closed_at IS NOT NULL
  RETURNING group_id, project_id, opened_by, failure_count, chain_count`

const audited = (rows: string, action: string, actor: string) => `
INSERT INTO audit_log (actor, action, project_id, details)
SELECT ${actor}, '${action}', r.project_id, jsonb_build_object('failureGroupId', r.group_id, 'title', coalesce(g.name, g.title),
  'failures', r.failure_count, 'chains', r.chain_count)
FROM ${rows} r JOIN failure_groups g ON g.id = r.group_id`

/**
 * Opens the breakers of groups with one of these failures, where the project's setting says so. A group counts its
 * failures since its breaker was closed. The group of failures that got none of their own has no breaker, because its
 * failures have nothing in common.
 */
const OPEN_SQL = `
WITH touched AS (
  SELECT DISTINCT coalesce(g.merged_into, g.id) AS id FROM failures f JOIN failure_groups g ON g.id = f.group_id
  WHERE f.session_id = ANY($1::uuid[])
), opened AS (
  INSERT INTO retry_breakers (group_id, project_id, opened_at, failure_count, chain_count, next_probe_at)
  SELECT g.id, p.id, reprise_now() AS opened_at, c.failures, c.chains, reprise_now() + interval '${BREAKER_PROBE_MIN_MS} ms'
  FROM touched t JOIN failure_groups g ON g.id = t.id AND g.fingerprint <> '${OVERFLOW_FINGERPRINT}'
  JOIN projects p ON p.id = g.project_id
  LEFT JOIN retry_breakers b ON b.group_id = g.id
  CROSS JOIN LATERAL (${SETTING_OF_PROJECT}) AS w
  CROSS JOIN LATERAL (${failuresSince('g.id', 'greatest(reprise_now() - make_interval(secs => w.breaker_window_seconds), b.closed_at)')}) AS c
  WHERE (b.group_id IS NULL OR b.closed_at IS NOT NULL) AND c.failures >= w.breaker_failures AND c.chains >= w.breaker_chains
  ORDER BY g.id${OPENED}
)${audited('opened', 'retry.breaker_opened', "'scheduler'")}`

/** @returns the number of breakers that have opened */
export async function openBreakers(tx: Queryable, failedSessionIds: readonly string[]): Promise<number> {
  if (failedSessionIds.length === 0) return 0
  return (await tx.query(OPEN_SQL, [failedSessionIds])).rowCount ?? 0
}

/** The failures of the last day are shown with a breaker that a person opens. */
const OPEN_BY_HAND_SQL = `
WITH opened AS (
  INSERT INTO retry_breakers (group_id, project_id, opened_at, opened_by, failure_count, chain_count, next_probe_at)
  SELECT g.id, g.project_id, reprise_now() AS opened_at, $2, c.failures, c.chains, reprise_now() + interval '${BREAKER_PROBE_MIN_MS} ms'
  FROM failure_groups g CROSS JOIN LATERAL (${failuresSince('g.id', "reprise_now() - interval '1 day'")}) AS c
  WHERE g.id = $1${OPENED}
)
SELECT group_id FROM opened`

/** @returns false if it was open already */
export async function openBreaker(tx: Queryable, groupId: string, by: string): Promise<boolean> {
  return (await tx.query(OPEN_BY_HAND_SQL, [groupId, by])).rowCount === 1
}

/**
 * Moves the retries forward that closed breakers have held, gradually. Those that a dispatcher has claimed are skipped:
 * it waits for the lock of the breaker, and then finds it closed. Index: retry_decisions_held.
 */
const RELEASED = `
  UPDATE retry_decisions d SET ready_at = reprise_now() + make_interval(secs => ${DISPATCH_INTERVAL_MS} / 1000.0 * ((place - 1) / ${HELD_RELEASE_RETRIES_MAX}))
  FROM (SELECT session_id, row_number() OVER (ORDER BY due_at) AS place FROM (
    SELECT d.session_id, d.due_at FROM closed b
    JOIN retry_decisions d ON d.phase = 'HELD' AND d.project_id = b.project_id AND d.hold_reason = 'BREAKER'
    JOIN failures f ON f.session_id = d.session_id JOIN failure_groups g ON g.id = f.group_id
    WHERE coalesce(g.merged_into, g.id) = b.group_id FOR UPDATE OF d SKIP LOCKED) AS unlocked
  ) AS free WHERE d.session_id = free.session_id`

/**
 * Closes breakers one of whose probes has succeeded, those that opened by a setting that is gone, and after a while those
 * without a retry to hold and without a live probe. Those that another server is looking at are skipped.
 */
const SETTLE_SQL = `
WITH open AS MATERIALIZED (
  SELECT b.* FROM retry_breakers b WHERE b.closed_at IS NULL FOR UPDATE SKIP LOCKED
), closed AS (
  UPDATE retry_breakers b SET closed_at = reprise_now() FROM open o
  WHERE b.group_id = o.group_id AND (
    EXISTS (SELECT FROM sessions s WHERE s.id = ANY(o.probes) AND s.result = 'SUCCESS')
    OR o.opened_by IS NULL AND NOT EXISTS (SELECT FROM projects p CROSS JOIN LATERAL (${SETTING_OF_PROJECT}) AS w
      WHERE p.id = o.project_id)
    OR o.opened_at < reprise_now() - interval '${BREAKER_PROBE_MAX_MS} ms'
      AND NOT EXISTS (SELECT FROM sessions s WHERE s.id = ANY(o.probes) AND s.terminated_at IS NULL)
      AND NOT EXISTS (SELECT FROM retry_decisions d JOIN failures f ON f.session_id = d.session_id
        JOIN failure_groups g ON g.id = f.group_id
        WHERE d.phase IN ('SCHEDULED', 'HELD') AND d.project_id = o.project_id AND coalesce(g.merged_into, g.id) = o.group_id))
  RETURNING b.group_id, b.project_id, b.failure_count, b.chain_count
), released AS (${RELEASED}
)${audited('closed', 'retry.breaker_closed', "'scheduler'")}`

/** Cheap to plan, and most of the time there is none. Index: retry_breakers_open. */
const ANY_OPEN_SQL = 'SELECT EXISTS (SELECT FROM retry_breakers WHERE closed_at IS NULL) AS "anyOpen"'

/** @returns the number of breakers that were closed */
export async function settleBreakers(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ anyOpen: boolean }>(ANY_OPEN_SQL)
  if (!rows[0]!.anyOpen) return 0
  return (await db.query(SETTLE_SQL)).rowCount ?? 0
}

const CLOSE_SQL = `
WITH closed AS (
  UPDATE retry_breakers b SET closed_at = reprise_now() WHERE b.group_id = ANY($1::uuid[]) AND b.closed_at IS NULL
  RETURNING b.group_id, b.project_id
), released AS (${RELEASED}
)
SELECT group_id FROM closed`

/** Closes breakers because a person wants it. @returns how many were open */
export async function closeBreakers(tx: Queryable, groupIds: readonly string[]): Promise<number> {
  return (await tx.query(CLOSE_SQL, [groupIds])).rowCount ?? 0
}

/** Locks breakers for the transaction, in the order of their groups: two dispatchers send no two probes. */
const LOCK_SQL = `
SELECT b.group_id AS "groupId", p.name, coalesce(g.name, g.title) AS title, b.opened_by AS by, b.opened_at AS since,
  greatest(0, extract(epoch FROM b.next_probe_at - reprise_now()) * 1000)::float8 AS "nextProbeInMs"
FROM retry_breakers b JOIN failure_groups g ON g.id = b.group_id JOIN projects p ON p.id = b.project_id
WHERE b.group_id = ANY($1::uuid[]) AND b.closed_at IS NULL
ORDER BY b.group_id FOR UPDATE OF b`

interface LockedBreaker {
  groupId: string
  name: string
  title: string
  by: string | null
  since: Date
  nextProbeInMs: number
}

/** @param groupIds null for retries of failures without an open breaker */
export async function lockOpenBreakers(
  tx: Queryable,
  groupIds: readonly (string | null)[],
): Promise<Map<string, OpenBreaker>> {
  const known = groupIds.filter((id) => id !== null)
  if (known.length === 0) return new Map()
  const { rows } = await tx.query<LockedBreaker>(LOCK_SQL, [known])
  return new Map(
    rows.map(({ groupId, name, title, by, since, nextProbeInMs }) => {
      const shown: HoldingSwitch = {
        scope: 'PROJECT',
        name,
        by,
        reason: title,
        since: since.toISOString(),
        until: null,
      }
      return [groupId, { groupId, nextProbeInMs, shown }]
    }),
  )
}

const RECORD_PROBES_SQL = `
UPDATE retry_breakers b SET probes = (b.probes || i.child)[greatest(1, cardinality(b.probes) + 2 - ${BREAKER_PROBES_MAX}):],
  next_probe_at = reprise_now() + least(interval '${BREAKER_PROBE_MAX_MS} ms', interval '${BREAKER_PROBE_MIN_MS} ms' * 2 ^ least(cardinality(b.probes), 20))
FROM unnest($1::uuid[], $2::uuid[]) AS i(group_id, child) WHERE b.group_id = i.group_id`

/** Records children that were created in this transaction as probes of breakers that it has locked. */
export async function recordProbes(
  tx: Queryable,
  probes: readonly { groupId: string; childId: string }[],
): Promise<void> {
  if (probes.length === 0) return
  await tx.query(RECORD_PROBES_SQL, [probes.map(({ groupId }) => groupId), probes.map(({ childId }) => childId)])
}

/** An open breaker, as people see it. */
export interface BreakerRow {
  groupId: string
  openedAt: Date
  openedBy: string | null
  failures: number
  chains: number
  probes: string[]
  nextProbeAt: Date
  /** Number of retries that it holds. */
  held: number
}

const READ_SQL = `
SELECT b.group_id AS "groupId", b.opened_at AS "openedAt", b.opened_by AS "openedBy", b.failure_count AS failures,
  b.chain_count AS chains, b.probes, b.next_probe_at AS "nextProbeAt", (
    SELECT count(*)::int FROM retry_decisions d JOIN failures f ON f.session_id = d.session_id
    JOIN failure_groups g ON g.id = f.group_id
    WHERE d.phase = 'HELD' AND d.project_id = b.project_id AND d.hold_reason = 'BREAKER'
      AND coalesce(g.merged_into, g.id) = b.group_id) AS held
FROM retry_breakers b WHERE b.group_id = ANY($1::uuid[]) AND b.closed_at IS NULL`

/** Reads the open breakers of groups; the caller has checked that the viewer sees these. */
export async function readOpenBreakers(db: Queryable, groupIds: readonly string[]): Promise<Map<string, BreakerRow>> {
  const { rows } = await db.query<BreakerRow>(READ_SQL, [groupIds])
  return new Map(rows.map((row) => [row.groupId, row]))
}
