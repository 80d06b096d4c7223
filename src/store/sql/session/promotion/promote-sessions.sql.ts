import type { KernelMatch, PromotionDeclaration } from '../../../../domain/session/handlers.ts'
import type { SessionStatus } from '../../../../domain/session/statuses.ts'
import type { Queryable } from '../../../database.ts'
import {
  DECIDES,
  ENDED,
  ENDED_ANEW_SETS,
  ENDED_SETS,
  FAILED_BY_KERNEL,
  NONE_FAILED,
  RESULT_ANEW,
  RUN,
} from './promotion-parts.sql.ts'
import { STATUS_EVENT_TYPE } from '../status-event-type.sql.ts'

/** $2 are the kernel statuses asked about; `whose` narrows down the kernels. */
const MATCHES: Readonly<Record<KernelMatch, string>> = {
  ANY: 'EXISTS (SELECT FROM kernels k WHERE k.session_id = s.id AND k.status = ANY($2::kernel_status[]) AND <whose>)',
  NOT_ANY: 'NOT EXISTS (SELECT FROM kernels k WHERE k.session_id = s.id AND k.status = ANY($2::kernel_status[]))',
  ALL: 'NOT EXISTS (SELECT FROM kernels k WHERE k.session_id = s.id AND k.status <> ALL($2::kernel_status[]))',
}

const UNCHANGED = { facts: '', joins: '', sets: '', guard: 'true', whose: 'true', since: 'now()' }

/** What a promotion requires and writes beyond the status, by the status that it leads to. */
const BY_TARGET: Readonly<Partial<Record<SessionStatus, typeof UNCHANGED>>> = {
  // The preparing timeout counts from the start of preparing, including the time spent pulling.
  PULLING: { ...UNCHANGED, since: 's.status_changed_at' },
  PREPARED: { ...UNCHANGED, guard: NONE_FAILED },
  RUNNING: {
    ...UNCHANGED,
    joins: `CROSS JOIN LATERAL ${RUN}`,
    sets: `, started_at = run.started_at, times_out_at = run.started_at + make_interval(secs => s.batch_timeout)`,
    guard: NONE_FAILED,
  },
  TERMINATING: {
    ...UNCHANGED,
    joins: `CROSS JOIN LATERAL ${ENDED}`,
    sets: `, ${ENDED_SETS}`,
    whose: DECIDES,
  },
  TERMINATED: {
    ...UNCHANGED,
    facts: `, ${FAILED_BY_KERNEL} AS "failedByKernel"`,
    joins: `LEFT JOIN LATERAL ${ENDED} ON c."failedByKernel"`,
    sets: `, terminated_at = now(), ${ENDED_ANEW_SETS}`,
  },
}

/**
 * One statement per batch: claims the matching sessions, moves them, writes events and history. Kernels keep their
 * status. Index: sessions_active.
 */
function statementFor({ match, becomes }: PromotionDeclaration): string {
  const target = BY_TARGET[becomes] ?? UNCHANGED
  const status =
    becomes === 'TERMINATED' ? `CASE ${RESULT_ANEW} WHEN 'FAILURE' THEN 'ERROR' ELSE 'TERMINATED' END` : `'${becomes}'`
  return `
WITH claimed AS (
  SELECT s.id, s.status AS "from"${target.facts} FROM sessions s
  WHERE s.status = ANY($1::session_status[]) AND ${MATCHES[match].replace('<whose>', target.whose)} AND ${target.guard}
  ORDER BY s.status_changed_at LIMIT $4
  FOR UPDATE OF s SKIP LOCKED
), moved AS (
  UPDATE sessions s SET status = (${status})::session_status, status_changed_at = ${target.since}, tries = 0, next_try_at = NULL
    ${target.sets}
  FROM claimed c ${target.joins}
  WHERE s.id = c.id
  RETURNING s.id, s.chain_id, s.project_id, s.status_reason, c."from", s.status AS "to", s.cluster_size,
    s.port_variable
), events AS (
  INSERT INTO session_events (type, session_id, chain_id, project_id, data)
  SELECT ${STATUS_EVENT_TYPE},
    id, chain_id, project_id, jsonb_build_object('from', "from", 'to', "to", 'reason', status_reason)
  FROM moved
), history AS (
  INSERT INTO scheduling_history (entity, entity_id, phase, from_status, to_status, result, message)
  SELECT 'SESSION', id, $3, "from"::text, "to"::text, 'SUCCESS', status_reason FROM moved
)
SELECT count(*) AS moved, count(*) FILTER (WHERE cluster_size > 1) AS clusters,
  count(port_variable) AS serving FROM moved`
}

const statements = new Map<string, string>()

/**
 * How many sessions were promoted; if it is `limit`, there may be more. `clusters` of them have several kernels,
 * `serving` serve on a port.
 */
export async function promoteSessions(
  db: Queryable,
  promotion: PromotionDeclaration,
  limit: number,
): Promise<{ moved: number; clusters: number; serving: number }> {
  let statement = statements.get(promotion.name)
  if (statement === undefined) {
    statement = statementFor(promotion)
    statements.set(promotion.name, statement)
  }
  const values = [promotion.sessionIn, promotion.kernelStatuses, promotion.name, limit]
  return (await db.query<{ moved: number; clusters: number; serving: number }>(statement, values)).rows[0]!
}
