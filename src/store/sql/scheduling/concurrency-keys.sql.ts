import { LEASE } from '../../../domain/agent/lease.ts'
import {
  CONCURRENCY_KEY_LOCKS_MAX,
  FREED_KEYS_PER_PASS_MAX,
  KEY_HOLDERS_SHOWN_MAX,
  QUEUE_POSITION_MAX,
} from '../../../domain/limits.ts'
import type { KeyPosition } from '../../../domain/scheduling/quota-use.ts'
import type { Queryable } from '../../database.ts'
import { parentAliveMs } from '../session/session-columns.sql.ts'

/**
 * Concurrency keys. A session holds its key from being scheduled until it has ended and its kernels are certain to be
 * gone; a session that could not be started and went back to the queue holds the key during its pause. A session whose
 * key has no free place leaves the line (`waits_for_key`, and `next_try_at` as a backstop), so that it costs nothing
 * while it waits. Triggers record in `freed_concurrency_keys` each key of which a place may have become free. The
 * scheduler then offers the places to the waiting sessions, in their order, by putting them back into the line. The
 * offer excludes all later sessions until the offered ones are considered.
 *
 * A transaction that counts a key or offers its places holds the key's lock until it ends. So a pass that found no
 * place has made its sessions wait before the places are offered, and two servers never hand out the same place.
 */

export interface ConcurrencyKey {
  projectId: string
  key: string
}

const KEYS = `SELECT DISTINCT i.project_id, i.key FROM unnest($1::uuid[], $2::text[]) AS i(project_id, key)`

/**
 * Locks keys in the order of their numbers, as everywhere that takes more than one, and after the quotas if these are
 * locked too.
 */
const LOCK_SQL = `
SELECT pg_advisory_xact_lock(hashtext('reprise:concurrency-key'), n.number) FROM (
  SELECT DISTINCT abs(hashtextextended(k.key, hashtext(k.project_id::text)) % ${CONCURRENCY_KEY_LOCKS_MAX})::int AS number
  FROM (${KEYS}) AS k ORDER BY 1) AS n`

/** Index: sessions_holding_key. */
const HOLDING = `s.project_id = k.project_id AND s.concurrency_key = k.key AND s.concurrency_key IS NOT NULL
  AND (s.status IN ('SCHEDULED', 'PREPARING', 'PULLING', 'PREPARED', 'CREATING', 'RUNNING', 'TERMINATING')
    OR s.status = 'PENDING' AND s.reschedules > 0 AND NOT s.waits_for_key)
  AND (s.status <> 'PENDING' OR s.next_try_at > reprise_now())`

/** Sessions that have ended, but may be alive on a silent agent. Index: kernels_unconfirmed, one probe per agent. */
const ALIVE = `maybe_alive AS MATERIALIZED (
  SELECT s.id, s.project_id, s.concurrency_key AS key, s.concurrency_limit, ${parentAliveMs('$3')} AS alive_ms FROM (
    SELECT DISTINCT u.session_id FROM agents a JOIN kernels u ON u.agent_id = a.id
      AND NOT u.confirmed_gone AND u.terminated_at IS NOT NULL) AS ended
  JOIN sessions s ON s.id = ended.session_id
  WHERE s.concurrency_key IS NOT NULL AND s.status IN ('TERMINATED', 'ERROR', 'CANCELLED')
), keys AS MATERIALIZED (${KEYS}), holding AS MATERIALIZED (
  SELECT k.project_id, k.key, s.id, s.concurrency_limit, 0 AS alive_ms FROM keys k JOIN sessions s ON ${HOLDING}
  UNION ALL
  SELECT k.project_id, k.key, m.id, m.concurrency_limit, m.alive_ms FROM keys k JOIN maybe_alive m USING (project_id, key)
  WHERE m.alive_ms > 0
), uses AS MATERIALIZED (
  SELECT k.project_id, k.key, count(h.id) AS held, min(h.concurrency_limit) AS "limit", max(h.alive_ms) AS alive_ms,
    (array_agg(h.id ORDER BY h.id))[1:${KEY_HOLDERS_SHOWN_MAX}] AS holders
  FROM keys k LEFT JOIN holding h USING (project_id, key) GROUP BY 1, 2
)`

/** Index: sessions_waiting_for_key, which has their order. */
const WAITING = `w.project_id = k.project_id AND w.concurrency_key = k.key AND w.status = 'PENDING' AND w.waits_for_key`
const ORDER = `w.priority DESC, w.created_at, w.id`

const USE_SQL = `
WITH ${ALIVE}
SELECT k.project_id AS "projectId", k.key, k.held::int, k."limit", first.position AS first
FROM uses k LEFT JOIN LATERAL (
  SELECT jsonb_build_object('id', w.id, 'priority', w.priority, 'createdAt', extract(epoch FROM w.created_at)::float8 * 1000)
    AS position
  FROM sessions w WHERE ${WAITING} AND w.id <> ALL($4::uuid[]) ORDER BY ${ORDER} LIMIT 1) AS first ON true`

export interface KeyUseRow extends ConcurrencyKey {
  held: number
  /** The smallest limit among the holders; null if there are none. */
  limit: number | null
  first: KeyPosition | null
}

/** Locks these keys for the transaction and counts them. `first` is never one of the sessions that are considered. */
export async function lockKeyUse(
  tx: Queryable,
  keys: readonly ConcurrencyKey[],
  considered: readonly string[],
): Promise<KeyUseRow[]> {
  await tx.query(LOCK_SQL, columnsOf(keys))
  return (await tx.query<KeyUseRow>(USE_SQL, [...columnsOf(keys), LEASE.fenceMarginMs, considered])).rows
}

const SETTLE_SQL = `
WITH settled AS (
  UPDATE sessions s SET waits_for_key = i.waits FROM unnest($1::uuid[], $2::bool[]) AS i(id, waits)
  WHERE s.id = i.id AND s.waits_for_key <> i.waits
)
INSERT INTO freed_concurrency_keys (project_id, key) SELECT * FROM unnest($3::uuid[], $4::text[])`

/**
 * Records the sessions that wait for a key now, and the keys whose places are offered next. The caller has locked the
 * sessions.
 */
export async function settleKeys(
  tx: Queryable,
  waits: ReadonlyMap<string, boolean>,
  freed: readonly ConcurrencyKey[],
): Promise<void> {
  await tx.query(SETTLE_SQL, [[...waits.keys()], [...waits.values()], ...columnsOf(freed)])
}

const FREED_SQL = `
DELETE FROM freed_concurrency_keys WHERE id IN (
  SELECT id FROM freed_concurrency_keys WHERE due_at <= reprise_now() ORDER BY due_at LIMIT $1 FOR UPDATE SKIP LOCKED)
RETURNING project_id AS "projectId", key`

/**
 * Selects the first waiting sessions of each key, as many as it has places: one more is allowed only if every holder,
 * and every session offered before, allows it. A session that another transaction has locked is about to be placed,
 * sent back to the queue or cancelled. The key of a session that may be alive is checked again when its kernels are
 * certain to be gone.
 */
const OFFER_SQL = `
WITH ${ALIVE}, waiting AS (
  SELECT w.id FROM uses k CROSS JOIN LATERAL (
    SELECT w.concurrency_limit AS "limit" FROM sessions w WHERE ${WAITING} ORDER BY ${ORDER} LIMIT 1) AS first
  CROSS JOIN LATERAL (
    SELECT w.id, w.next_try_at, row_number() OVER places AS number, min(w.concurrency_limit) OVER places AS "limit"
    FROM (SELECT * FROM sessions w WHERE ${WAITING} ORDER BY ${ORDER}
      LIMIT greatest(0, least(k."limit", first."limit") - k.held)) AS w
    WINDOW places AS (ORDER BY ${ORDER} ROWS UNBOUNDED PRECEDING)) AS w
  WHERE k.held + w.number <= least(k."limit", w."limit") AND w.next_try_at IS NOT NULL
), offered AS (
  SELECT s.id FROM waiting JOIN sessions s USING (id) WHERE s.status = 'PENDING' ORDER BY s.id
  FOR NO KEY UPDATE OF s SKIP LOCKED
), later AS (
  INSERT INTO freed_concurrency_keys (project_id, key, due_at)
  SELECT project_id, key, reprise_now() + make_interval(secs => alive_ms / 1000) FROM uses WHERE alive_ms > 0
)
UPDATE sessions s SET next_try_at = NULL FROM offered WHERE s.id = offered.id`

/** Offers the places of keys that were freed. Returns the number of keys checked. */
export async function offerFreedKeys(tx: Queryable): Promise<number> {
  const { rows } = await tx.query<ConcurrencyKey>(FREED_SQL, [FREED_KEYS_PER_PASS_MAX])
  if (rows.length === 0) return 0
  await tx.query(LOCK_SQL, columnsOf(rows))
  await tx.query(OFFER_SQL, [...columnsOf(rows), LEASE.fenceMarginMs])
  return rows.length
}

const HELD_SQL = `
WITH ${ALIVE}
SELECT p.id, k.key, k.held::int, least(k."limit", p.concurrency_limit)::int AS "limit", k.holders, (
  SELECT count(*) FROM (SELECT FROM sessions w WHERE ${WAITING} AND w.id <> p.id
    AND (w.priority > p.priority OR w.priority = p.priority AND (w.created_at, w.id) < (p.created_at, p.id))
    LIMIT ${QUEUE_POSITION_MAX + 1}) AS before)::int AS before
FROM sessions p JOIN uses k ON k.project_id = p.project_id AND k.key = p.concurrency_key
WHERE p.id = ANY($4) AND NOT (p.reschedules > 0 AND NOT p.waits_for_key AND p.next_try_at > reprise_now())`

export interface HeldKeyRow {
  id: string
  key: string
  held: number
  limit: number
  holders: string[]
  before: number
}

/**
 * Reads the holders of these sessions' keys, by session, without sessions that hold their key during a pause. For
 * information only; takes no locks.
 */
export async function readHeldKeys(
  db: Queryable,
  sessions: readonly (ConcurrencyKey & { id: string })[],
): Promise<Map<string, HeldKeyRow>> {
  if (sessions.length === 0) return new Map()
  const ids = sessions.map(({ id }) => id)
  const { rows } = await db.query<HeldKeyRow>(HELD_SQL, [...columnsOf(sessions), LEASE.fenceMarginMs, ids])
  return new Map(rows.map((row) => [row.id, row]))
}

function columnsOf(keys: readonly ConcurrencyKey[]): [string[], string[]] {
  return [keys.map(({ projectId }) => projectId), keys.map(({ key }) => key)]
}
