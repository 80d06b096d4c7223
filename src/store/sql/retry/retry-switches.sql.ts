import { refill, type RetrySwitch } from '../../../domain/retry/admit.ts'
import type { Queryable } from '../../database.ts'

/** The values in force now, from columns of `retry_switches w`. */
export const DISABLED_NOW = `CASE WHEN w.disabled_until <= now() THEN w.disabled_then ELSE w.disabled END`
export const PER_SECOND_NOW = `CASE WHEN w.limit_until <= now() THEN w.per_second_then ELSE w.per_second END`
export const BURST_NOW = `CASE WHEN w.limit_until <= now() THEN w.burst_then ELSE w.burst END`
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
  CASE WHEN w.disabled_until > now() AND NOT w.disabled_then
    THEN ceil(extract(epoch FROM w.disabled_until - now()) * 1000) END::float8 AS "disabledForMs",
  ${PER_SECOND_NOW} AS "perSecond", ${BURST_NOW} AS burst, w.tokens,
  extract(epoch FROM w.refilled_at)::float8 AS "refilledAt", extract(epoch FROM clock_timestamp())::float8 AS at,
  CASE WHEN w.limit_until > now() THEN ceil(extract(epoch FROM w.limit_until - now()) * 1000) END::float8 AS "limitForMs",
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
