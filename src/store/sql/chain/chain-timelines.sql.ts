import type { RecordedAttempt } from '../../../domain/chain/timeline.ts'
import { ATTEMPT_MOVES_READ_MAX } from '../../../domain/limits.ts'
import { keepsPlan, type Queryable } from '../../database.ts'
import type { AttemptSpec } from '../../../domain/chain/spec-difference.ts'
import { SESSION_COLUMNS, SPEC_FIELDS } from '../session/session-columns.sql.ts'

/** A page of one chain's attempts: at most `limit` after attempt number `after`. */
export interface AttemptWindow {
  chainId: string
  after: number
  limit: number
}

/** A row as the statement returns it. Times within JSON are in milliseconds since 1970. */
interface RecordRow extends Omit<RecordedAttempt, 'moves' | 'waits' | 'decision' | 'next'> {
  number: number
  now: Date
  moves: { to: RecordedAttempt['status']; at: number }[] | null
  waits: (Omit<RecordedAttempt['waits'][number], 'from' | 'to'> & { from: number; to: number | null })[] | null
  phase: NonNullable<RecordedAttempt['decision']>['phase'] | null
  explanation: string | null
  dueAt: Date | null
  abandonedAt: Date | null
  nextCreatedAt: Date | null
  nextOrigin: NonNullable<RecordedAttempt['next']>['origin'] | null
}

const ms = (moment: string) => `(extract(epoch FROM ${moment}) * 1000)::float8`

/**
 * Reads the records about the attempts of each window, oldest first. For an attempt with a very long history, only the
 * newest rows are read. A hundred attempts take about 3 ms. Indexes: sessions_chain_id_attempt_key,
 * scheduling_history_pkey, retry_waits_pkey.
 */
const SQL = keepsPlan(`
SELECT w.number, reprise_now() AS now, s.id AS "sessionId", s.session_type AS "sessionType", s.status, s.attempt, s.epoch,
  s.created_at AS "createdAt", s.started_at AS "startedAt", s.terminated_at AS "terminatedAt",
  s.status_reason AS "statusReason", s.pending_reason AS "pendingReason", s.failure_cause AS cause,
  p.terminated_at AS "parentTerminatedAt", d.phase, d.explanation, d.due_at AS "dueAt",
  d.abandoned_at AS "abandonedAt", n.created_at AS "nextCreatedAt", n.origin AS "nextOrigin",
  (SELECT json_agg(json_build_object('to', h.to_status, 'at', ${ms('h.first_at')}) ORDER BY h.id) FROM (
    SELECT id, from_status, to_status, first_at FROM scheduling_history WHERE entity_id = s.id
    ORDER BY id DESC LIMIT ${ATTEMPT_MOVES_READ_MAX}) AS h
    WHERE h.from_status <> h.to_status) AS moves,
  (SELECT json_agg(json_build_object('reason', r.reason, 'scope', r.scope, 'heldBy', r.held_by, 'from', ${ms('r.from_at')},
      'to', ${ms('r.to_at')}) ORDER BY r.number)
    FROM retry_waits r WHERE r.session_id = s.id) AS waits
FROM unnest($1::uuid[], $2::int[], $3::int[]) WITH ORDINALITY AS w(chain_id, after, size, number)
JOIN chains c ON c.chain_id = w.chain_id
CROSS JOIN LATERAL (
  SELECT * FROM sessions
  WHERE chain_id = w.chain_id AND attempt > w.after AND project_id = c.project_id ORDER BY attempt LIMIT w.size) AS s
LEFT JOIN sessions p ON p.id = s.parent_session_id
LEFT JOIN sessions n ON n.parent_session_id = s.id
LEFT JOIN retry_decisions d ON d.session_id = s.id
ORDER BY w.number, s.attempt`)

export interface RecordedAttempts {
  attempts: RecordedAttempt[]
  /** The database's time. */
  now: Date
}

/** Reads the attempts of each window, in the order of the windows. */
export async function readChainTimelines(
  db: Queryable,
  windows: readonly AttemptWindow[],
): Promise<RecordedAttempts[]> {
  const columns = (['chainId', 'after', 'limit'] as const).map((name) => windows.map((window) => window[name]))
  const { rows } = await db.query<RecordRow>(SQL, columns)
  const found = Map.groupBy(rows, ({ number }) => number)
  return windows.map((_window, index) => {
    const records = found.get(index + 1) ?? []
    return { attempts: records.map(recordedAttempt), now: records[0]?.now ?? new Date(0) }
  })
}

function recordedAttempt(row: RecordRow): RecordedAttempt {
  const { phase, explanation, dueAt, abandonedAt, nextCreatedAt, nextOrigin, moves, waits, ...attempt } = row
  return {
    ...attempt,
    moves: (moves ?? []).map(({ to, at }) => ({ to, at: new Date(at) })),
    waits: (waits ?? []).map(({ from, to, ...wait }) => ({
      ...wait,
      from: new Date(from),
      to: to === null ? null : new Date(to),
    })),
    decision: phase === null ? null : { phase, explanation: explanation!, dueAt, abandonedAt },
    next: nextCreatedAt === null ? null : { createdAt: nextCreatedAt, origin: nextOrigin! },
  }
}

export interface AttemptRow {
  chainId: string
  /** The attempt's number, in decimal. */
  id: string
  sessionId: string
}

interface ChangeRow extends AttemptRow {
  before: AttemptSpec
  after: AttemptSpec
}

/** Whether the attempts ran different images; null if one of the images is unknown. */
const OTHER_IMAGE = 's.image_digest <> p.image_digest'

/** Builds the `AttemptSpec` of a session as JSON. */
export const specOf = (row: string, more: readonly string[] = []) => {
  const fields = SPEC_FIELDS.map((field) => `'${field}', ${row}.${SESSION_COLUMNS[field].column}`)
  return `json_build_object(${[...fields, ...more].join(', ')})`
}

const withImage = (row: string) => specOf(row, [`'imageDigest', CASE WHEN ${OTHER_IMAGE} THEN ${row}.image_digest END`])

const DIFFERS = SPEC_FIELDS.map((field) => SESSION_COLUMNS[field].column)
  .map((column) => `s.${column} IS DISTINCT FROM p.${column}`)
  .join(' OR ')

const CHANGED = `
  FROM sessions s JOIN sessions p ON p.id = s.parent_session_id
  WHERE s.chain_id = c.chain_id AND s.project_id = c.project_id AND p.project_id = c.project_id AND (${DIFFERS} OR ${OTHER_IMAGE})`

/**
 * Reads attempts whose spec or image differs from that of the previous attempt, with both specs. 1,000 attempts without
 * a change take about 5 ms.
 */
const CHANGES_SQL = `
SELECT c.chain_id AS "chainId", changed.* FROM chains c CROSS JOIN LATERAL (
  SELECT s.attempt::text AS id, s.id AS "sessionId", ${withImage('p')} AS before, ${withImage('s')} AS after ${CHANGED}
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
  return (await db.query<ChangeRow>(CHANGES_SQL, [chainIds, after, limit])).rows
}

const COUNT_SQL = `
SELECT c.chain_id AS id, (SELECT count(*) ${CHANGED}) AS count FROM chains c WHERE c.chain_id = ANY($1::uuid[])`

export async function countChainChanges(db: Queryable, chainIds: readonly string[]): Promise<Map<string, number>> {
  const { rows } = await db.query<{ id: string; count: number }>(COUNT_SQL, [chainIds])
  return new Map(rows.map(({ id, count }) => [id, count]))
}
