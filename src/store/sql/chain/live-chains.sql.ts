import { LIVE_STATES, type LiveState } from '../../../domain/chain/outlook.ts'
import { CLASS } from '../scheduling/claim-pending.sql.ts'
import type { DemandKey, PendingDemands } from '../scheduling/read-pending.sql.ts'
import type { Add } from './chain-conditions.sql.ts'

/** Which chains in LIVE are wanted. */
export interface LiveSelection {
  live: ReadonlySet<LiveState>
  /** Needed only to distinguish QUEUED from IMPOSSIBLE. */
  pending: PendingDemands | undefined
}

/** Whether only some chains in LIVE are wanted, so that their newest attempts have to be looked at. */
export function splitsLive({ live }: Pick<LiveSelection, 'live'>): boolean {
  return live.size > 0 && live.size < LIVE_STATES.length
}

/** Whether the states distinguish QUEUED from IMPOSSIBLE. */
export function splitsPending(live: ReadonlySet<LiveState>): boolean {
  return live.has('QUEUED') !== live.has('IMPOSSIBLE')
}

/** Builds the condition on chains `c` in LIVE, by their newest attempts. */
export function liveCondition({ live, pending }: LiveSelection, add: Add): string {
  const parts = [
    ...(live.has('RUNNING') ? [`s.status <> 'PENDING'`] : []),
    ...(live.has('QUEUED') && live.has('IMPOSSIBLE') ? [`s.status = 'PENDING'`] : []),
    ...(splitsPending(live)
      ? [`s.status = 'PENDING' AND ${live.has('QUEUED') ? 'NOT ' : ''}${isImpossible(pending, add)}`]
      : []),
  ]
  // A scalar subquery is executed chain by chain; for EXISTS the planner may read all pending sessions first.
  return `(SELECT ${parts.join(' OR ')} FROM sessions s WHERE s.id = c.tail_id) IS TRUE`
}

function isImpossible(pending: PendingDemands | undefined, add: Add): string {
  const { impossible } = known(pending)
  if (impossible.length === 0) return 'false'
  const groups = add(
    impossible.map(({ group }) => group),
    'text[]',
  )
  const demands = add(
    impossible.map(({ demand }) => demand),
    'bigint[]',
  )
  return `((s.resource_group, ${CLASS}) IN (SELECT * FROM unnest(${groups}, ${demands})))`
}

const PLACED = `s.status IN ('SCHEDULED', 'PREPARING', 'PULLING', 'PREPARED', 'CREATING', 'RUNNING', 'TERMINATING')`

/**
 * Builds a statement that finds the ids of the wanted chains by the newest attempts, up to `limit` of each kind; null if
 * no index finds them. `projects` is a relation with the column project_id. Indexes: sessions_live_of_project,
 * sessions_demands, sessions_undecided.
 */
export function liveCandidates({ live, pending }: LiveSelection, projects: string, limit: number, add: Add) {
  const ofProjects = (condition: string) => `SELECT of_project.chain_id FROM ${projects} AS p CROSS JOIN LATERAL (
    SELECT s.chain_id FROM sessions s WHERE s.project_id = p.project_id AND ${condition} LIMIT ${limit}) AS of_project`
  const parts = live.has('RUNNING') ? [ofProjects(PLACED), UNDECIDED] : []
  if (live.has('QUEUED') && live.has('IMPOSSIBLE')) parts.push(ofProjects(`s.status = 'PENDING'`))
  if (splitsPending(live)) {
    const { impossible, possible } = known(pending)
    const wanted = live.has('QUEUED') ? possible : impossible
    if (wanted === null) return null
    parts.push(ofDemands(wanted, limit, add))
  }
  return parts.map((part) => `(${part} LIMIT ${limit})`).join(' UNION ALL ')
}

/** Chains whose newest attempt has just ended; there are only a few at any time. */
const UNDECIDED = `SELECT s.chain_id FROM sessions s
    WHERE NOT s.retry_decided AND s.status IN ('TERMINATED', 'ERROR', 'CANCELLED') ORDER BY s.terminated_at`

function ofDemands(demands: readonly DemandKey[], limit: number, add: Add): string {
  const columns = [
    add(
      demands.map(({ projectId }) => projectId),
      'uuid[]',
    ),
    add(
      demands.map(({ group }) => group),
      'text[]',
    ),
    add(
      demands.map(({ demand }) => demand),
      'bigint[]',
    ),
  ]
  return `SELECT of_demand.chain_id FROM unnest(${columns.join(', ')}) AS d(project_id, resource_group, demand)
    CROSS JOIN LATERAL (SELECT s.chain_id FROM sessions s WHERE s.status = 'PENDING' AND s.project_id = d.project_id
      AND s.resource_group = d.resource_group AND ${CLASS} = d.demand LIMIT ${limit}) AS of_demand`
}

function known(pending: PendingDemands | undefined): PendingDemands {
  if (pending === undefined) throw new Error('QUEUED cannot be distinguished from IMPOSSIBLE without the demands')
  return pending
}
