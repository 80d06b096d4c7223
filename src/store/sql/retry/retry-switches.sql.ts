import { refill, type RetrySwitch } from '../../../domain/retry/admit.ts'
import type { RetryScope } from '../../../domain/retry/policy/scope.ts'
import { currentValue, type SwitchChange, type SwitchState } from '../../../domain/retry/switch-state.ts'
import type { Queryable } from '../../database.ts'

/** The columns of a switch's state, from `retry_switches w`. */
const STATE_COLUMNS = `w.disabled, w.disabled_until AS "disabledUntil", w.disabled_then AS "disabledThen",
  w.per_second AS "perSecond", w.burst, w.limit_until AS "limitUntil", w.per_second_then AS "perSecondThen",
  w.burst_then AS "burstThen", w.disabled_at AS "disabledAt", w.disabled_by AS "disabledBy",
  w.disabled_reason AS "disabledReason", w.limit_at AS "limitAt", w.limit_by AS "limitBy",
  w.limit_reason AS "limitReason"`

interface SwitchColumns {
  disabled: boolean
  disabledUntil: Date | null
  disabledThen: boolean
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
}

function stateOf(columns: SwitchColumns): SwitchState {
  return {
    disabled: {
      value: columns.disabled,
      until: columns.disabledUntil,
      afterwards: columns.disabledThen,
      change: changeOf(columns.disabledAt, columns.disabledBy, columns.disabledReason),
    },
    rateLimit: {
      value: limitOf(columns.perSecond, columns.burst),
      until: columns.limitUntil,
      afterwards: limitOf(columns.perSecondThen, columns.burstThen),
      change: changeOf(columns.limitAt, columns.limitBy, columns.limitReason),
    },
  }
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
export interface LockedSwitch extends RetrySwitch {
  scopeId: string
  /** The time at which `tokens` was computed, in seconds of the database's clock. */
  at: number
}

interface SwitchRow extends Omit<LockedSwitch, 'rateLimit'> {
  perSecond: number | null
  burst: number | null
  refilledAt: number
}

/**
 * The switches that affect these projects, locked for the transaction: whoever changes one waits until the decisions
 * made by it are committed, and two dispatchers do not take the same token. Locked in key order, as everywhere that
 * takes more than one.
 */
const LOCK_SQL = `
SELECT w.scope, w.scope_id AS "scopeId", ${DISABLED_NOW} AS disabled,
  CASE WHEN w.disabled_until > reprise_now() AND NOT w.disabled_then
    THEN ceil(extract(epoch FROM w.disabled_until - reprise_now()) * 1000) END::float8 AS "disabledForMs",
  ${PER_SECOND_NOW} AS "perSecond", ${BURST_NOW} AS burst, w.tokens,
  extract(epoch FROM w.refilled_at)::float8 AS "refilledAt", extract(epoch FROM reprise_clock())::float8 AS at,
  CASE WHEN w.limit_until > reprise_now() THEN ceil(extract(epoch FROM w.limit_until - reprise_now()) * 1000) END::float8 AS "limitForMs",
  CASE w.scope WHEN 'CLUSTER' THEN $1::uuid[] WHEN 'PROJECT' THEN ARRAY[w.scope_id]
    ELSE ARRAY(SELECT p.id FROM projects p WHERE p.id = ANY($1) AND p.domain_id = w.scope_id) END AS "projectIds"
FROM retry_switches w
WHERE (${DISABLED_NOW} OR ${PER_SECOND_NOW} IS NOT NULL)
  AND (w.scope = 'CLUSTER' OR w.scope = 'PROJECT' AND w.scope_id = ANY($1::uuid[])
    OR w.scope = 'DOMAIN' AND w.scope_id IN (SELECT p.domain_id FROM projects p WHERE p.id = ANY($1)))
ORDER BY w.scope, w.scope_id
FOR UPDATE OF w`

export async function lockSwitches(tx: Queryable, projectIds: readonly string[]): Promise<LockedSwitch[]> {
  const { rows } = await tx.query<SwitchRow>(LOCK_SQL, [projectIds])
  return rows.map(({ perSecond, burst, refilledAt, ...found }) => {
    const rateLimit = perSecond === null || burst === null ? null : { perSecond, burst }
    return { ...found, rateLimit, tokens: rateLimit ? refill(rateLimit, found.tokens, found.at - refilledAt) : 0 }
  })
}

const LEAVE_SQL = `
UPDATE retry_switches w SET tokens = i.tokens, refilled_at = to_timestamp(i.at)
FROM unnest($1::retry_scope[], $2::uuid[], $3::float8[], $4::float8[]) AS i(scope, scope_id, tokens, at)
WHERE w.scope = i.scope AND w.scope_id = i.scope_id`

/** For switches that this transaction has locked. */
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
FROM retry_switches w
LEFT JOIN domains d ON w.scope = 'DOMAIN' AND d.id = w.scope_id
LEFT JOIN projects p ON w.scope = 'PROJECT' AND p.id = w.scope_id
WHERE (${DISABLED_NOW} OR ${PER_SECOND_NOW} IS NOT NULL OR w.disabled_until > reprise_now() OR w.limit_until > reprise_now())
  AND ($1::uuid IS NULL OR w.scope = 'CLUSTER' OR w.scope_id = $1
    OR w.scope_id = (SELECT own.domain_id FROM projects own WHERE own.id = $1))
ORDER BY w.scope, name
LIMIT $2`

/** Switches that have an effect, now or when their time is over; widest scope first. */
export async function listRetrySwitches(
  db: Queryable,
  visibleProjectId: string | null,
  limit: number,
): Promise<ListedSwitch[]> {
  type Row = SwitchColumns & { scope: RetryScope; name: string | null; now: Date }
  const { rows } = await db.query<Row>(LIST_RETRY_SWITCHES_SQL, [visibleProjectId, limit])
  return rows.map(({ scope, name, now, ...columns }) => ({ scope, name, now, state: stateOf(columns) }))
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

/** Waits for dispatchers that are using the switch. One that was never set is created and limits nothing. */
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
  disabled_at = $12, disabled_by = $13, disabled_reason = $14, limit_at = $15, limit_by = $16, limit_reason = $17
WHERE scope = $1 AND scope_id = $2`

export async function writeSwitch(tx: Queryable, key: SwitchKey, state: SwitchState, tokens: number): Promise<void> {
  const { disabled, rateLimit } = state
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
  ])
}
