import type { Database } from '../database.ts'

/** One figure about the database's contents; `label` is a status, a phase or a reason. */
export interface GaugeFigure {
  gauge:
    | 'sessions'
    | 'agents'
    | 'refusing'
    | 'queue'
    | 'overdue'
    | 'decisions'
    | 'resubmissions'
    | 'webhookQueue'
    | 'webhookOverdue'
    | 'deployments'
    | 'routes'
    | 'missing'
  label: string | null
  value: number
}

/** The most pages of decisions that are sampled: 16 MiB, about 30,000 decisions. */
const SAMPLE_PAGES_MAX = 2_000
const STATEMENT_TIMEOUT_MS = 2_000

/** The percentage of the pages of `retry_decisions` that SAMPLE_PAGES_MAX is; 100 if there are no more. */
const SAMPLE_PERCENT = `least(100, 100.0 * ${SAMPLE_PAGES_MAX} * 8192 / greatest(1, pg_relation_size('retry_decisions')))::real`

/**
 * No agent of a status is 0, which alerts compare with; of other labels there is a figure where there is something.
 * Sessions, deployments, routes and the queue are counted through their partial indexes, which hold only what is not
 * over. Decisions are estimated from a sample, which is exact while there are few.
 */
const SQL = `
SELECT 'sessions' AS gauge, status::text AS label, count(*)::float8 AS value FROM sessions
  WHERE status NOT IN ('TERMINATED', 'ERROR', 'CANCELLED') GROUP BY status
UNION ALL SELECT 'agents', s.status::text, count(a.id) FROM unnest(enum_range(NULL::agent_status)) AS s(status)
  LEFT JOIN agents a ON a.status = s.status GROUP BY s.status
UNION ALL SELECT 'refusing', NULL, count(*) FROM agents WHERE refuses IS NOT NULL AND status NOT IN ('LOST', 'TERMINATED')
UNION ALL SELECT 'queue', coalesce(hold_reason::text, 'NONE'), count(*) FROM retry_decisions
  WHERE phase IN ('SCHEDULED', 'HELD') GROUP BY hold_reason
UNION ALL SELECT 'overdue', NULL, coalesce(greatest(0, extract(epoch FROM reprise_now() - min(ready_at))), 0) FROM retry_decisions
  WHERE phase IN ('SCHEDULED', 'HELD')
UNION ALL SELECT 'webhookQueue', NULL, count(*) FROM webhook_deliveries d JOIN webhooks w ON w.id = d.webhook_id
  WHERE d.status = 'PENDING' AND w.enabled
UNION ALL SELECT 'webhookOverdue', NULL, coalesce(greatest(0, extract(epoch FROM reprise_now() - min(d.next_attempt_at))), 0)
  FROM webhook_deliveries d JOIN webhooks w ON w.id = d.webhook_id WHERE d.status = 'PENDING' AND w.enabled
UNION ALL SELECT 'resubmissions', NULL, coalesce(sum(total - done - refused), 0) FROM resubmissions WHERE state = 'RUNNING'
UNION ALL SELECT 'deployments', status::text, count(*) FROM deployments WHERE status <> 'DESTROYED' GROUP BY status
UNION ALL SELECT 'routes', status::text, count(*) FROM routes WHERE status <> 'TERMINATED' GROUP BY status
UNION ALL SELECT 'missing', NULL, coalesce(sum(greatest(0, d.replicas - coalesce(h.healthy, 0))), 0)
  FROM deployments d LEFT JOIN (
    SELECT deployment_id, count(*) AS healthy FROM routes WHERE status = 'HEALTHY' GROUP BY deployment_id
  ) AS h ON h.deployment_id = d.id
  WHERE d.status NOT IN ('DESTROYING', 'DESTROYED')
UNION ALL SELECT 'decisions', phase::text, round(count(*) * 100.0 / ${SAMPLE_PERCENT}::numeric)
  FROM retry_decisions TABLESAMPLE SYSTEM (${SAMPLE_PERCENT}) GROUP BY phase`

/** @throws if the database takes longer than STATEMENT_TIMEOUT_MS */
export async function readGauges(db: Database): Promise<GaugeFigure[]> {
  return db.transaction(async (tx) => {
    await tx.query(`SET LOCAL statement_timeout = ${STATEMENT_TIMEOUT_MS}`)
    return (await tx.query<GaugeFigure>(SQL)).rows
  })
}
