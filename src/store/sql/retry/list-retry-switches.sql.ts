import type { RetryScope } from '../../../domain/retry/policy/scope.ts'
import type { SwitchState } from '../../../domain/retry/switch-state.ts'
import type { Queryable } from '../../database.ts'
import { DISABLED_NOW, PER_SECOND_NOW } from './retry-switches.sql.ts'
import { stateOf, STATE_COLUMNS, type SwitchColumns } from './switch-columns.sql.ts'

export interface ListedSwitch {
  scope: RetryScope
  name: string | null
  state: SwitchState
  /** The database's time. */
  now: Date
}

/** A viewer of one project sees the switches that affect it: its project's, its domain's and the cluster's. */
const SQL = `
SELECT w.scope, coalesce(d.name, p.name) AS name, now() AS now, ${STATE_COLUMNS}
FROM retry_switches w
LEFT JOIN domains d ON w.scope = 'DOMAIN' AND d.id = w.scope_id
LEFT JOIN projects p ON w.scope = 'PROJECT' AND p.id = w.scope_id
WHERE (${DISABLED_NOW} OR ${PER_SECOND_NOW} IS NOT NULL OR w.disabled_until > now() OR w.limit_until > now())
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
  const { rows } = await db.query<Row>(SQL, [visibleProjectId, limit])
  return rows.map(({ scope, name, now, ...columns }) => ({ scope, name, now, state: stateOf(columns) }))
}
