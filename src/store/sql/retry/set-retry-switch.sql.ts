import { refill } from '../../../domain/retry/admit.ts'
import type { RetryScope } from '../../../domain/retry/policy/scope.ts'
import { currentValue, type SwitchState } from '../../../domain/retry/switch-state.ts'
import type { Queryable } from '../../database.ts'
import { stateOf, STATE_COLUMNS, type SwitchColumns } from './switch-columns.sql.ts'

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

const ADD_SQL = `INSERT INTO retry_switches (scope, scope_id) VALUES ($1, $2) ON CONFLICT DO NOTHING`
const LOCK_SQL = `
SELECT ${STATE_COLUMNS}, w.tokens, extract(epoch FROM clock_timestamp() - w.refilled_at)::float8 AS seconds,
  clock_timestamp() AS now
FROM retry_switches w WHERE w.scope = $1 AND w.scope_id = $2 FOR UPDATE`

/** Waits for dispatchers that are using the switch. One that was never set is created and limits nothing. */
export async function lockSwitch(tx: Queryable, { scope, scopeId }: SwitchKey): Promise<StoredSwitch> {
  await tx.query(ADD_SQL, [scope, scopeId])
  const { rows } = await tx.query<SwitchColumns & { tokens: number; seconds: number; now: Date }>(LOCK_SQL, [
    scope,
    scopeId,
  ])
  const { tokens, seconds, now, ...columns } = rows[0]!
  const state = stateOf(columns)
  const rateLimit = currentValue(state.rateLimit, now)
  return { state, now, tokens: rateLimit ? refill(rateLimit, tokens, seconds) : 0 }
}

const WRITE_SQL = `
UPDATE retry_switches SET disabled = $3, disabled_until = $4, disabled_then = $5, per_second = $6, burst = $7,
  limit_until = $8, per_second_then = $9, burst_then = $10, tokens = $11, refilled_at = clock_timestamp()
WHERE scope = $1 AND scope_id = $2`

export async function writeSwitch(tx: Queryable, key: SwitchKey, state: SwitchState, tokens: number): Promise<void> {
  const { disabled, rateLimit } = state
  await tx.query(WRITE_SQL, [
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
  ])
}
