import { refill, type RetrySwitch } from '../../../domain/retry/admit.ts'
import type { RetryScope } from '../../../domain/retry/policy/resolve-policy.ts'
import { currentValue, holdingSwitch, type SwitchChange, type SwitchState } from '../../../domain/retry/retry-state.ts'
import { keepsPlan, type Queryable } from '../../database.ts'
import type { HoldReason } from '../../../domain/session/failure.ts'
import { COUNTED_SESSIONS } from '../quota.sql.ts'
import { CLUSTER_ID, NAMED_SCOPE_VISIBLE, NAMED_SCOPES, type NamedScope } from './retry-defaults.sql.ts'

/** The columns of a switch's state, from `retry_switches w`. */
const STATE_COLUMNS = `w.disabled, w.disabled_until AS "disabledUntil", w.disabled_then AS "disabledThen",
  w.per_second AS "perSecond", w.burst, w.limit_until AS "limitUntil", w.per_second_then AS "perSecondThen",
  w.burst_then AS "burstThen", w.disabled_at AS "disabledAt", w.disabled_by AS "disabledBy",
  w.disabled_reason AS "disabledReason", w.limit_at AS "limitAt", w.limit_by AS "limitBy",
  w.limit_reason AS "limitReason", w.breaker_failures AS "breakerFailures", w.breaker_chains AS "breakerChains",
  w.breaker_window_seconds AS "breakerWindow"`

interface SwitchColumns {
  disabled: boolean | null
  disabledUntil: Date | null
  disabledThen: boolean | null
  perSecond: number | null
  burst: number | null
  limitUntil: Date | null
  perSecondThen: number | null
  burstThen: number | null
  disabledAt: Date | null
  disabledBy: string | null
  disabledReason: string | null
  limitAt: Date | null
  limitBy: string | null
  limitReason: string | null
  breakerFailures: number | null
  breakerChains: number | null
  breakerWindow: number | null
}

function stateOf(columns: SwitchColumns): SwitchState {
  return {
    disabled: {
      value: columns.disabled ?? false,
      until: columns.disabledUntil,
      afterwards: columns.disabledThen ?? false,
      change: changeOf(columns.disabledAt, columns.disabledBy, columns.disabledReason),
    },
    rateLimit: {
      value: limitOf(columns.perSecond, columns.burst),
      until: columns.limitUntil,
      afterwards: limitOf(columns.perSecondThen, columns.burstThen),
      change: changeOf(columns.limitAt, columns.limitBy, columns.limitReason),
    },
    breaker: breakerOf(columns),
  }
}

function breakerOf({ breakerFailures: failures, breakerChains: chains, breakerWindow: window }: SwitchColumns) {
  return failures === null || chains === null || window === null ? null : { failures, chains, window }
}

function changeOf(at: Date | null, by: string | null, reason: string | null): SwitchChange | null {
  return at === null || by === null ? null : { at, by, reason }
}

function limitOf(perSecond: number | null, burst: number | null) {
  return perSecond === null || burst === null ? null : { perSecond, burst }
}

/** The values in force now, from columns of `retry_switches w`. */
const DISABLED_NOW = `CASE WHEN w.disabled_until <= reprise_now() THEN w.disabled_then ELSE w.disabled END`
const PER_SECOND_NOW = `CASE WHEN w.limit_until <= reprise_now() THEN w.per_second_then ELSE w.per_second END`
const BURST_NOW = `CASE WHEN w.limit_until <= reprise_now() THEN w.burst_then ELSE w.burst END`

/** Switches `w` with the domain `d` or the project `p` of their scope. */
const NAMED_SWITCHES = `FROM retry_switches w
LEFT JOIN domains d ON w.scope = 'DOMAIN' AND d.id = w.scope_id
LEFT JOIN projects p ON w.scope = 'PROJECT' AND p.id = w.scope_id`

export interface LockedSwitch extends RetrySwitch {
  scopeId: string
  /** The time at which `tokens` was computed, in seconds of the database's clock. */
  at: number
}

interface SwitchRow extends Omit<LockedSwitch, 'rateLimit' | 'disabled' | 'shown'> {
  name: string | null
  isDisabled: boolean
  perSecondNow: number | null
  burstNow: number | null
  refilledAt: number
  now: Date
}

/**
 * Reads the switches that affect these projects and locks them for the transaction. A transaction that changes a switch
 * thus waits until the decisions made by it are committed, and two dispatchers do not take the same token. They are
 * locked in key order, as everywhere that takes more than one.
 */
const LOCK_SQL = `
SELECT w.scope, w.scope_id AS "scopeId", coalesce(d.name, p.name) AS name, ${DISABLED_NOW} AS "isDisabled",
  CASE WHEN w.disabled_until > reprise_now() AND NOT w.disabled_then
    THEN ceil(extract(epoch FROM w.disabled_until - reprise_now()) * 1000) END::float8 AS "disabledForMs",
  ${PER_SECOND_NOW} AS "perSecondNow", ${BURST_NOW} AS "burstNow", w.tokens, ${STATE_COLUMNS}, reprise_now() AS now,
  extract(epoch FROM w.refilled_at)::float8 AS "refilledAt", extract(epoch FROM reprise_clock())::float8 AS at,
  CASE WHEN w.limit_until > reprise_now() THEN ceil(extract(epoch FROM w.limit_until - reprise_now()) * 1000) END::float8 AS "limitForMs",
  CASE w.scope WHEN 'CLUSTER' THEN $1::uuid[] WHEN 'PROJECT' THEN ARRAY[w.scope_id]
    ELSE ARRAY(SELECT p.id FROM projects p WHERE p.id = ANY($1) AND p.domain_id = w.scope_id) END AS "projectIds"
${NAMED_SWITCHES}
WHERE (${DISABLED_NOW} OR ${PER_SECOND_NOW} IS NOT NULL)
  AND (w.scope = 'CLUSTER' OR w.scope = 'PROJECT' AND w.scope_id = ANY($1::uuid[])
    OR w.scope = 'DOMAIN' AND w.scope_id IN (SELECT p.domain_id FROM projects p WHERE p.id = ANY($1)))
ORDER BY w.scope, w.scope_id
FOR UPDATE OF w`

export async function lockSwitches(tx: Queryable, projectIds: readonly string[]): Promise<LockedSwitch[]> {
  const { rows } = await tx.query<SwitchRow & SwitchColumns>(LOCK_SQL, [projectIds])
  return rows.map((row) => {
    const { scope, scopeId, projectIds: covered, disabledForMs, limitForMs, at, now } = row
    const rateLimit = limitOf(row.perSecondNow, row.burstNow)
    const tokens = rateLimit ? refill(rateLimit, row.tokens, at - row.refilledAt) : 0
    const state = stateOf(row)
    const shown = {
      disabled: holdingSwitch(row, state.disabled, now),
      rateLimit: holdingSwitch(row, state.rateLimit, now),
    }
    const place = { scope, scopeId, projectIds: covered }
    return { ...place, disabled: row.isDisabled, disabledForMs, rateLimit, limitForMs, tokens, at, shown }
  })
}

const LEAVE_SQL = `
UPDATE retry_switches w SET tokens = i.tokens, refilled_at = to_timestamp(i.at)
FROM unnest($1::retry_scope[], $2::uuid[], $3::float8[], $4::float8[]) AS i(scope, scope_id, tokens, at)
WHERE w.scope = i.scope AND w.scope_id = i.scope_id`

/** Writes the tokens of switches that this transaction has locked. */
export async function writeTokens(
  tx: Queryable,
  left: ReadonlyMap<Pick<LockedSwitch, 'scope' | 'scopeId' | 'at'>, number>,
): Promise<void> {
  if (left.size === 0) return
  const switches = [...left.keys()]
  await tx.query(LEAVE_SQL, [
    switches.map(({ scope }) => scope),
    switches.map(({ scopeId }) => scopeId),
    [...left.values()],
    switches.map(({ at }) => at),
  ])
}

interface ListedSwitch {
  scope: RetryScope
  name: string | null
  state: SwitchState
  /** The database's time. */
  now: Date
}

/** A viewer of one project sees the switches that affect it: its project's, its domain's and the cluster's. */
const LIST_RETRY_SWITCHES_SQL = `
SELECT w.scope, coalesce(d.name, p.name) AS name, reprise_now() AS now, ${STATE_COLUMNS}
${NAMED_SWITCHES}
WHERE (${DISABLED_NOW} OR ${PER_SECOND_NOW} IS NOT NULL OR w.disabled_until > reprise_now() OR w.limit_until > reprise_now()
    OR w.breaker_failures IS NOT NULL)
  AND ($1::uuid IS NULL OR w.scope = 'CLUSTER' OR w.scope_id = $1
    OR w.scope_id = (SELECT own.domain_id FROM projects own WHERE own.id = $1))
ORDER BY w.scope, name
LIMIT $2`

/** Reads switches that have an effect, now or when a temporary value expires; widest scope first. */
export async function listRetrySwitches(
  db: Queryable,
  visibleProjectId: string | null,
  limit: number,
): Promise<ListedSwitch[]> {
  return asListed((await db.query<ListedRow>(LIST_RETRY_SWITCHES_SQL, [visibleProjectId, limit])).rows)
}

/** The columns of the state are null for a switch that was never set. */
type ListedRow = SwitchColumns & { scope: RetryScope; name: string | null; now: Date }

function asListed(rows: readonly ListedRow[]): ListedSwitch[] {
  return rows.map(({ scope, name, now, ...columns }) => ({ scope, name, now, state: stateOf(columns) }))
}

const OF_SQL = `
SELECT i.scope, nullif(i.name, '') AS name, reprise_now() AS now, ${STATE_COLUMNS}
FROM ${NAMED_SCOPES}
LEFT JOIN retry_switches w ON w.scope = i.scope AND w.scope_id = coalesce(d.id, p.id, '${CLUSTER_ID}')
WHERE ${NAMED_SCOPE_VISIBLE}`

/** Reads the switches of these scopes, also of those that were never set. */
export async function readNamedSwitches(
  db: Queryable,
  visibleProjectId: string | null,
  scopes: readonly NamedScope[],
): Promise<ListedSwitch[]> {
  const values = [visibleProjectId, scopes.map(({ scope }) => scope), scopes.map(({ name }) => name ?? '')]
  return asListed((await db.query<ListedRow>(OF_SQL, values)).rows)
}

export interface SwitchKey {
  scope: RetryScope
  scopeId: string
}

export interface StoredSwitch {
  state: SwitchState
  /** Tokens in the bucket; 0 if there is no limit. */
  tokens: number
  /** The database's time. */
  now: Date
}

const ADD_SWITCH_SQL = `INSERT INTO retry_switches (scope, scope_id) VALUES ($1, $2) ON CONFLICT DO NOTHING`
const LOCK_SWITCH_SQL = `
SELECT ${STATE_COLUMNS}, w.tokens, extract(epoch FROM reprise_clock() - w.refilled_at)::float8 AS seconds,
  reprise_clock() AS now
FROM retry_switches w WHERE w.scope = $1 AND w.scope_id = $2 FOR UPDATE`

/**
 * Locks a switch; waits for dispatchers that are using it. A switch that was never set is created and limits nothing.
 */
export async function lockSwitch(tx: Queryable, { scope, scopeId }: SwitchKey): Promise<StoredSwitch> {
  await tx.query(ADD_SWITCH_SQL, [scope, scopeId])
  const { rows } = await tx.query<SwitchColumns & { tokens: number; seconds: number; now: Date }>(LOCK_SWITCH_SQL, [
    scope,
    scopeId,
  ])
  const { tokens, seconds, now, ...columns } = rows[0]!
  const state = stateOf(columns)
  const rateLimit = currentValue(state.rateLimit, now)
  return { state, now, tokens: rateLimit ? refill(rateLimit, tokens, seconds) : 0 }
}

const WRITE_SWITCH_SQL = `
UPDATE retry_switches SET disabled = $3, disabled_until = $4, disabled_then = $5, per_second = $6, burst = $7,
  limit_until = $8, per_second_then = $9, burst_then = $10, tokens = $11, refilled_at = reprise_clock(),
  disabled_at = $12, disabled_by = $13, disabled_reason = $14, limit_at = $15, limit_by = $16, limit_reason = $17,
  breaker_failures = $18, breaker_chains = $19, breaker_window_seconds = $20
WHERE scope = $1 AND scope_id = $2`

export async function writeSwitch(tx: Queryable, key: SwitchKey, state: SwitchState, tokens: number): Promise<void> {
  const { disabled, rateLimit, breaker } = state
  await tx.query(WRITE_SWITCH_SQL, [
    key.scope,
    key.scopeId,
    disabled.value,
    disabled.until,
    disabled.afterwards,
    rateLimit.value?.perSecond ?? null,
    rateLimit.value?.burst ?? null,
    rateLimit.until,
    rateLimit.afterwards?.perSecond ?? null,
    rateLimit.afterwards?.burst ?? null,
    tokens,
    ...[disabled.change, rateLimit.change].flatMap((each) => [
      each?.at ?? null,
      each?.by ?? null,
      each?.reason ?? null,
    ]),
    breaker?.failures ?? null,
    breaker?.chains ?? null,
    breaker?.window ?? null,
  ])
}

/**
 * Moves held retries of a scope forward, `perTick` in each tick, one project after another. It does not wait for
 * retries that a dispatcher is processing: the switch is locked, so the dispatcher has either committed or will decide
 * by the new state. Index: retry_decisions_held.
 */
const RELEASE_HELD_SQL = `
WITH held AS (
  SELECT d.session_id, d.ready_at, row_number() OVER (PARTITION BY d.project_id ORDER BY d.ready_at) AS turn
  FROM retry_decisions d
  WHERE d.phase = 'HELD' AND d.hold_reason = ANY($3::hold_reason[]) AND ($1 = 'CLUSTER' OR d.project_id IN (
    SELECT p.id FROM projects p WHERE CASE WHEN $1 = 'DOMAIN' THEN p.domain_id ELSE p.id END = $2::uuid))
), free AS (
  SELECT held.session_id, held.turn, held.ready_at FROM held JOIN retry_decisions d USING (session_id)
  WHERE d.phase = 'HELD' FOR UPDATE OF d SKIP LOCKED
), ordered AS (
  SELECT session_id, row_number() OVER (ORDER BY turn, ready_at) AS place FROM free
)
UPDATE retry_decisions d SET ready_at = reprise_now() + make_interval(secs => $5 / 1000.0 * ((place - 1) / $4))
FROM ordered o WHERE d.session_id = o.session_id`

export async function releaseHeld(
  tx: Queryable,
  key: SwitchKey,
  reasons: readonly HoldReason[],
  ramp: { perTick: number; tickMs: number },
): Promise<number> {
  const values = [key.scope, key.scopeId, reasons, ramp.perTick, ramp.tickMs]
  return (await tx.query(RELEASE_HELD_SQL, values)).rowCount ?? 0
}

/**
 * Moves retries that are held by limits on pending sessions forward as places become free: the first of every project,
 * then the second of every project, and so on. The dispatcher decides whether they are dispatched, because it counts
 * with the quotas locked. If no quota holds anything, this costs one probe for each project with held retries. Index:
 * retry_decisions_held. Decisions that another transaction has locked are skipped.
 */
const RELEASE_QUOTA_HOLDS_SQL = keepsPlan(`
WITH RECURSIVE held AS (
  (SELECT d.project_id FROM retry_decisions d WHERE d.phase = 'HELD' ORDER BY d.project_id LIMIT 1)
  UNION ALL
  SELECT (SELECT d.project_id FROM retry_decisions d WHERE d.phase = 'HELD' AND d.project_id > held.project_id
    ORDER BY d.project_id LIMIT 1)
  FROM held WHERE held.project_id IS NOT NULL
), waiting AS MATERIALIZED (
  SELECT p.id AS project_id, p.domain_id FROM held JOIN projects p ON p.id = held.project_id
  WHERE EXISTS (SELECT FROM retry_decisions d
    WHERE d.phase = 'HELD' AND d.project_id = p.id AND d.hold_reason = 'QUOTA' AND d.ready_at > reprise_now())
), left_of_quotas AS MATERIALIZED (
  SELECT q.scope, q.scope_id,
    q.max_pending - (SELECT count(*) FROM ${COUNTED_SESSIONS} AS s WHERE s.status = 'PENDING') AS remaining
  FROM resource_policies q
  WHERE q.max_pending IS NOT NULL AND EXISTS (SELECT FROM waiting w
    WHERE q.scope = 'USER' OR q.scope_id IN (w.project_id, w.domain_id))
), first AS (
  SELECT w.project_id, w.domain_id, of_project.remaining AS project_left, of_domain.remaining AS domain_left, head.*
  FROM waiting w
  LEFT JOIN left_of_quotas of_project ON of_project.scope = 'PROJECT' AND of_project.scope_id = w.project_id
  LEFT JOIN left_of_quotas of_domain ON of_domain.scope = 'DOMAIN' AND of_domain.scope_id = w.domain_id
  CROSS JOIN LATERAL (
    SELECT d.session_id, d.ready_at, s.user_id, of_user.remaining AS user_left FROM retry_decisions d
    JOIN sessions s ON s.id = d.session_id
    LEFT JOIN left_of_quotas of_user ON of_user.scope = 'USER' AND of_user.scope_id = s.user_id
    WHERE d.phase = 'HELD' AND d.project_id = w.project_id AND d.hold_reason = 'QUOTA' AND d.ready_at > reprise_now()
      AND coalesce(of_user.remaining, 1) > 0
    ORDER BY d.ready_at LIMIT $1) AS head
  WHERE coalesce(of_project.remaining, 1) > 0 AND coalesce(of_domain.remaining, 1) > 0
), turns AS (
  SELECT first.*, row_number() OVER (PARTITION BY project_id ORDER BY ready_at) AS turn FROM first
), counted AS (
  SELECT session_id, turn, ready_at, turn <= coalesce(project_left, turn)
    AND row_number() OVER (PARTITION BY domain_id ORDER BY turn, ready_at) <= coalesce(domain_left, $1)
    AND row_number() OVER (PARTITION BY user_id ORDER BY turn, ready_at) <= coalesce(user_left, $1) AS fits
  FROM turns
), chosen AS (
  SELECT d.session_id FROM counted c JOIN retry_decisions d USING (session_id)
  WHERE c.fits AND d.phase = 'HELD' AND d.hold_reason = 'QUOTA'
  ORDER BY c.turn, c.ready_at LIMIT $1
  FOR UPDATE OF d SKIP LOCKED
)
UPDATE retry_decisions d SET ready_at = reprise_now() FROM chosen WHERE d.session_id = chosen.session_id`)

/** Index: retry_decisions_held. */
const ANY_QUOTA_HOLD_SQL = keepsPlan(`
SELECT EXISTS (SELECT FROM retry_decisions
  WHERE phase = 'HELD' AND hold_reason = 'QUOTA' AND ready_at > reprise_now()) AS any`)

/** Returns the number of retries that were moved forward. */
export async function releaseQuotaHolds(db: Queryable, limit: number): Promise<number> {
  // Usually nothing is held, and even an empty run of the other statement takes 3 ms.
  if (!(await db.query<{ any: boolean }>(ANY_QUOTA_HOLD_SQL)).rows[0]!.any) return 0
  return (await db.query(RELEASE_QUOTA_HOLDS_SQL, [limit])).rowCount ?? 0
}
