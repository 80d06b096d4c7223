import type { AttemptSpec } from '../../domain/chain/spec-difference.ts'
import type { Queryable } from '../database.ts'

export interface AttemptRow {
  chainId: string
  /** The attempt's number, decimal. */
  id: string
  sessionId: string
}

/** A page of the attempts of one chain: at most `limit` after number `after`. */
export interface AttemptWindow {
  chainId: string
  after: number
  limit: number
}

/** Oldest first, for each of many windows, which need not be alike. Index: sessions_chain_id_attempt_key. */
const SQL = `
SELECT w.number, s.id AS "sessionId"
FROM unnest($1::uuid[], $2::int[], $3::int[]) WITH ORDINALITY AS w(chain_id, after, size, number)
JOIN chains c ON c.chain_id = w.chain_id
CROSS JOIN LATERAL (
  SELECT id, attempt FROM sessions
  WHERE chain_id = w.chain_id AND attempt > w.after AND project_id = c.project_id ORDER BY attempt LIMIT w.size) AS s
ORDER BY w.number, s.attempt`

/** Ids of sessions, in the order of the windows. */
export async function readChainAttempts(db: Queryable, windows: readonly AttemptWindow[]): Promise<string[][]> {
  const columns = (['chainId', 'after', 'limit'] as const).map((name) => windows.map((window) => window[name]))
  const { rows } = await db.query<{ number: number; sessionId: string }>(SQL, columns)
  const found = Map.groupBy(rows, ({ number }) => number)
  return windows.map((_window, index) => (found.get(index + 1) ?? []).map(({ sessionId }) => sessionId))
}

export interface ChangeRow extends AttemptRow {
  before: AttemptSpec
  after: AttemptSpec
}

/** Columns of a spec, as AttemptSpec names them. What a first attempt waits for, its children do not. */
const SPEC: Readonly<Record<keyof AttemptSpec, string>> = {
  image: 'image',
  command: 'command',
  environ: 'environ',
  resourceSlots: 'resource_slots',
  clusterMode: 'cluster_mode',
  clusterSize: 'cluster_size',
  batchTimeout: 'batch_timeout',
  priority: 'priority',
  labels: 'labels',
  resourceGroup: 'resource_group',
  retryPolicy: 'retry_policy',
  avoidAgents: 'avoid_agents',
  allowAgents: 'allow_agents',
  avoidGroups: 'avoid_groups',
}

const specOf = (row: string) =>
  `json_build_object(${Object.entries(SPEC)
    .map(([field, column]) => `'${field}', ${row}.${column}`)
    .join(', ')})`

const DIFFERS = Object.values(SPEC)
  .map((column) => `s.${column} IS DISTINCT FROM p.${column}`)
  .join(' OR ')

const CHANGED = `
  FROM sessions s JOIN sessions p ON p.id = s.parent_session_id
  WHERE s.chain_id = c.chain_id AND s.project_id = c.project_id AND p.project_id = c.project_id AND (${DIFFERS})`

/** Attempts that are not what the attempt before was, with both specs. 1,000 attempts without a change: some 5 ms. */
const CHANGES_SQL = `
SELECT c.chain_id AS "chainId", changed.* FROM chains c CROSS JOIN LATERAL (
  SELECT s.attempt::text AS id, s.id AS "sessionId", ${specOf('p')} AS before, ${specOf('s')} AS after ${CHANGED}
    AND s.attempt > $2::int
  ORDER BY s.attempt LIMIT $3) AS changed
WHERE c.chain_id = ANY($1::uuid[])
ORDER BY c.chain_id, changed.id::int`

export async function readChainChanges(
  db: Queryable,
  chainIds: readonly string[],
  after: string,
  limit: number,
): Promise<ChangeRow[]> {
  return (await db.query<ChangeRow & Record<string, unknown>>(CHANGES_SQL, [chainIds, after, limit])).rows
}

const COUNT_SQL = `
SELECT c.chain_id AS id, (SELECT count(*) ${CHANGED}) AS count FROM chains c WHERE c.chain_id = ANY($1::uuid[])`

export async function countChainChanges(db: Queryable, chainIds: readonly string[]): Promise<Map<string, number>> {
  const { rows } = await db.query<{ id: string; count: number }>(COUNT_SQL, [chainIds])
  return new Map(rows.map(({ id, count }) => [id, count]))
}
