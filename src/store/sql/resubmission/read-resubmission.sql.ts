import type { ErrorCode } from '../../../domain/errors.ts'
import type { Queryable } from '../../database.ts'
import type { ResubmissionState } from './open-resubmission.sql.ts'
import type { Dependent } from '../../../domain/resubmission.ts'

export type ResubmissionItemStatus = 'PENDING' | 'DONE' | 'REFUSED'

export interface ResubmissionProgress {
  id: string
  projectId: string | null
  done: number
  refused: number
  state: ResubmissionState
}

const PROGRESS_SQL = `
SELECT id, project_id AS "projectId", done, refused, state FROM resubmissions
WHERE id = $1 AND ($2::uuid IS NULL OR project_id = $2)`

/** Returns undefined if this viewer has no such resubmission. */
export async function readResubmissionProgress(
  db: Queryable,
  id: string,
  visibleProjectId: string | null,
): Promise<ResubmissionProgress | undefined> {
  const values = [id, visibleProjectId]
  return (await db.query<ResubmissionProgress>(PROGRESS_SQL, values)).rows[0]
}

export interface ResubmissionItemRow {
  /** The resubmission, and the requested status if any: `<uuid>` or `<uuid> DONE`. */
  list: string
  /** The position in the list as a cursor: decimal, from 1. */
  id: string
  position: number
  sessionId: string
  status: ResubmissionItemStatus
  childSessionId: string | null
  code: ErrorCode | null
  message: string | null
}

/** Names a list as text: all items of a resubmission, or those of one status. */
export function itemList(resubmissionId: string, status: ResubmissionItemStatus | null): string {
  return status === null ? resubmissionId : `${resubmissionId} ${status}`
}

const CONDITIONS: Record<string, string> = {
  '': '',
  PENDING: `AND i.status = 'PENDING'`,
  DONE: `AND i.status = 'DONE'`,
  REFUSED: `AND i.status = 'REFUSED'`,
}

const ITEM = `i.resubmission_id AS list, (i.position + 1)::text AS id, i.position, i.session_id AS "sessionId", i.status,
    i.child_session_id AS "childSessionId", i.code, i.message`

/** Statuses are literals so that the partial indexes apply: a page of a few refused items reads no others. */
const itemsSql = (condition: string) => `
SELECT page.* FROM unnest($1::uuid[]) AS wanted(id), LATERAL (
  SELECT ${ITEM}
  FROM resubmission_items i WHERE i.resubmission_id = wanted.id ${condition} AND i.position >= $2::bigint
  ORDER BY i.position LIMIT $3) AS page`

/** Reads a page of each list, in list order. */
export async function readResubmissionItems(
  db: Queryable,
  lists: readonly string[],
  after: string,
  limit: number,
): Promise<ResubmissionItemRow[]> {
  return byStatus(lists, async (condition, ids) => {
    const values = [ids, after, limit]
    return (await db.query<ResubmissionItemRow>(itemsSql(condition), values)).rows
  })
}

export interface ItemPlace {
  resubmissionId: string
  position: number
}

/** Index: the primary key. */
const ITEMS_AT_SQL = `
SELECT ${ITEM} FROM unnest($1::uuid[], $2::int[]) AS wanted(id, position)
JOIN resubmission_items i ON i.resubmission_id = wanted.id AND i.position = wanted.position
JOIN resubmissions r ON r.id = wanted.id AND ($3::uuid IS NULL OR r.project_id = $3)`

/** Reads single items, without those of resubmissions that the viewer does not see. */
export async function readItemsAt(
  db: Queryable,
  places: readonly ItemPlace[],
  visibleProjectId: string | null,
): Promise<ResubmissionItemRow[]> {
  const ids = places.map(({ resubmissionId }) => resubmissionId)
  const positions = places.map(({ position }) => position)
  return (await db.query<ResubmissionItemRow>(ITEMS_AT_SQL, [ids, positions, visibleProjectId])).rows
}

export interface RefusalCount {
  resubmissionId: string
  code: ErrorCode
  count: number
  /** The message of the first of them. */
  message: string
}

/** Uses the index of refused items. */
const REFUSALS_SQL = `
SELECT wanted.id AS "resubmissionId", of_code.* FROM unnest($1::uuid[]) AS wanted(id), LATERAL (
  SELECT i.code, count(*) AS count, (array_agg(i.message ORDER BY i.position))[1] AS message
  FROM resubmission_items i WHERE i.resubmission_id = wanted.id AND i.status = 'REFUSED'
  GROUP BY i.code ORDER BY count(*) DESC, i.code) AS of_code`

/** Reads one row for each reason in each resubmission, the most frequent first. */
export async function countRefusals(db: Queryable, resubmissionIds: readonly string[]): Promise<RefusalCount[]> {
  return (await db.query<RefusalCount>(REFUSALS_SQL, [resubmissionIds])).rows
}

const countSql = (condition: string) => `
SELECT wanted.id AS list, (SELECT count(*) FROM resubmission_items i WHERE i.resubmission_id = wanted.id ${condition}) AS count
FROM unnest($1::uuid[]) AS wanted(id)`

export async function countResubmissionItems(db: Queryable, lists: readonly string[]): Promise<Map<string, number>> {
  const rows = await byStatus(
    lists,
    async (condition, ids) => (await db.query<{ list: string; count: number }>(countSql(condition), [ids])).rows,
  )
  return new Map(rows.map(({ list, count }) => [list, count]))
}

async function byStatus<Row extends { list: string }>(
  lists: readonly string[],
  read: (condition: string, ids: string[]) => Promise<Row[]>,
): Promise<Row[]> {
  const parts = lists.map((list) => list.split(' ') as [string, ResubmissionItemStatus?])
  const groups = [...Map.groupBy(parts, ([, status]) => status ?? null)]
  const rows = await Promise.all(
    groups.map(async ([status, members]) => {
      const found = await read(
        CONDITIONS[status ?? '']!,
        members.map(([id]) => id),
      )
      return found.map((row) => ({ ...row, list: itemList(row.list, status) }))
    }),
  )
  return rows.flat()
}

/**
 * Selects, from the chains in `roots`, the newest sessions of chains that were cancelled because a dependency failed:
 * one of the roots, or a chain that was itself cancelled because of one. The roots are not included. Index:
 * session_dependencies_chain_id.
 */
const dependentsOf = (roots: string) => `roots AS MATERIALIZED (${roots}), found AS (
  SELECT chain_id FROM roots
  UNION
  SELECT t.chain_id FROM found f JOIN session_dependencies d ON d.chain_id = f.chain_id
  JOIN sessions t ON t.id = d.session_id AND t.status = 'CANCELLED'
    AND t.status_data -> 'error' ->> 'name' = 'dependency-failed' AND ($2::uuid IS NULL OR t.project_id = $2)
  JOIN chains c ON c.chain_id = t.chain_id AND c.tail_id = t.id
), dependents AS (
  SELECT c.chain_id, c.tail_id FROM found JOIN chains c USING (chain_id)
  WHERE NOT EXISTS (SELECT FROM roots WHERE roots.chain_id = found.chain_id)
)`

const READ_SQL = `
WITH RECURSIVE ${dependentsOf('SELECT DISTINCT s.chain_id FROM sessions s WHERE s.id = ANY($1::uuid[]) AND ($2::uuid IS NULL OR s.project_id = $2)')}
SELECT e.tail_id AS id, e.chain_id AS "chainId",
  ARRAY(SELECT d.chain_id FROM session_dependencies d WHERE d.session_id = e.tail_id) AS "dependsOn"
FROM dependents e LIMIT $3`

/** Reads the cancelled dependents of these sessions' chains. */
export async function readCancelledDependents(
  db: Queryable,
  sessionIds: readonly string[],
  visibleProjectId: string | null,
  limit: number,
): Promise<Dependent[]> {
  return (await db.query<Dependent>(READ_SQL, [sessionIds, visibleProjectId, limit])).rows
}

const COUNT_SQL = `
WITH RECURSIVE ${dependentsOf(`SELECT DISTINCT s.chain_id FROM resubmission_items i JOIN sessions s ON s.id = i.session_id
  WHERE i.resubmission_id = $1`)}
SELECT count(*)::int AS count FROM dependents`

/** Counts the cancelled dependents of all sessions in this resubmission. */
export async function countCancelledDependents(
  db: Queryable,
  resubmissionId: string,
  visibleProjectId: string | null,
): Promise<number> {
  return (await db.query<{ count: number }>(COUNT_SQL, [resubmissionId, visibleProjectId])).rows[0]!.count
}

const FAILED_SQL = `
SELECT c.chain_id AS "chainId", c.tail_id AS "tailId" FROM chains c
WHERE c.chain_id = ANY($1::uuid[]) AND c.state <> 'SUCCEEDED' AND chain_is_over(c.state)`

/** Reads those of these chains that have ended without success, with their newest sessions. */
export async function readFailedChains(db: Queryable, chainIds: readonly string[]): Promise<Map<string, string>> {
  const { rows } = await db.query<{ chainId: string; tailId: string }>(FAILED_SQL, [[...new Set(chainIds)]])
  return new Map(rows.map(({ chainId, tailId }) => [chainId, tailId]))
}
