import type { FailureCause } from '../../../domain/session/causes.ts'
import type { Database } from '../../database.ts'
import { countedConditions, PROJECTS, type CountedSessions } from './count-sessions.sql.ts'

/** By what failures are counted together: the columns that tell the groups apart, and what they need beside sessions. */
const GROUPINGS = {
  CAUSE: { columns: { cause: 's.failure_cause' }, joined: '' },
  EXIT_CODE: { columns: { exitCode: 's.exit_code' }, joined: '' },
  NAME: { columns: { name: 's.name' }, joined: '' },
  LABEL: {
    columns: { labelKey: 'l.key', labelValue: 'l.value' },
    joined: ' CROSS JOIN LATERAL jsonb_each_text(s.labels) AS l',
  },
  // A session with several kernels on one agent failed there once.
  AGENT: {
    columns: { agentId: 'a.id', agentName: 'a.name' },
    joined: ` JOIN agents a ON a.id IN (SELECT k.agent_id FROM kernels k WHERE k.session_id = s.id)`,
  },
} as const

export type FailureGrouping = keyof typeof GROUPINGS

export interface CountedFailures extends CountedSessions {
  by: FailureGrouping
  from: Date
  /** Exclusive. */
  to: Date
  causes?: readonly FailureCause[] | undefined
  limit: number
}

/** What tells it apart is there as far as the grouping has it. */
export interface FailureGroup {
  cause?: FailureCause | null
  exitCode?: number
  name?: string
  labelKey?: string
  labelValue?: string
  agentId?: string
  agentName?: string
  failed: number
  chains: number
  /** Chains that have failed for good. */
  lost: number
  latestAt: Date
}

/**
 * Failures within a span of time, counted together, the largest groups first. Index: sessions_over finds them; each is
 * looked up, with its chain.
 */
export function failuresStatement(failures: CountedFailures): { text: string; values: unknown[] } {
  const { by, from, to, causes, limit, visibleProjectId, project } = failures
  const { columns, joined } = GROUPINGS[by]
  const keys = Object.values<string>(columns)
  const values: unknown[] = [visibleProjectId, project, from.toISOString(), to.toISOString()]
  const ofCauses = causes ? ` AND s.failure_cause = ANY($${values.push(causes)}::failure_cause[])` : ''
  const wanted = countedConditions(failures, values)
  const text = `
SELECT ${Object.entries(columns)
    .map(([name, column]) => `${column} AS "${name}"`)
    .join(', ')},
  count(*) AS failed, count(DISTINCT s.chain_id) AS chains,
  count(DISTINCT s.chain_id) FILTER (WHERE c.state = 'FAILED') AS lost, max(s.terminated_at) AS "latestAt"
FROM sessions s JOIN chains c ON c.chain_id = s.chain_id${joined}
WHERE s.project_id = ANY(${PROJECTS}) AND s.status IN ('TERMINATED', 'ERROR', 'CANCELLED') AND s.result = 'FAILURE'
  AND s.terminated_at >= $3::timestamptz AND s.terminated_at < $4::timestamptz${ofCauses}${wanted}${by === 'EXIT_CODE' ? ' AND s.exit_code IS NOT NULL' : ''}
GROUP BY ${keys.join(', ')}
ORDER BY failed DESC, ${keys.join(', ')}
LIMIT $${values.push(limit)}::int`
  return { text, values }
}

/** @throws if it takes longer than `timeoutMs` */
export async function countFailures(
  db: Database,
  failures: CountedFailures,
  timeoutMs: number,
): Promise<FailureGroup[]> {
  const { text, values } = failuresStatement(failures)
  return (await db.queryWithin<FailureGroup>(timeoutMs, text, values)).rows
}
