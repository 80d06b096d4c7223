import type pg from 'pg'
import type { Logger } from '../../observability/log.ts'
import { PATIENCE, type Patience, type Queryable } from '../database.ts'
import { connect } from './pooling.ts'

/**
 * Eras of the outbox. Events are ordered by the ids of the transactions that wrote them, and these ids grow only within
 * the history of one database. A dump restored in another cluster meets ids that start elsewhere. A promoted standby
 * reuses ids for which it never received its primary's transactions. So the outbox records where it lives, and an era
 * ends whenever that changes. All positions of an era are greater than those of earlier eras: old events sort before
 * new ones, and cursors and webhooks continue with new events.
 */

/** A cluster reaches its 2^48th transaction id after 900 years at 10,000 a second. */
const POSITION_BITS = 48n

interface Home {
  /** The id of the cluster, made by initdb; null if it cannot be read. */
  system: string | null
  /** Grows with each promotion and each point-in-time recovery. */
  timeline: number | null
}

type Noted = Home & { era: number }

const KEY = 'outbox.home'

const NOTED_SQL = `SELECT value FROM settings WHERE key = '${KEY}'`

const NOTE_SQL = `
INSERT INTO settings (key, value) VALUES ('${KEY}', $1)
ON CONFLICT (key) DO UPDATE SET value = excluded.value, updated_at = reprise_now()`

/**
 * Whether positions exist that this cluster has not reached: the database was restored before its home was recorded.
 */
const AHEAD_SQL = `
SELECT coalesce(greatest(
    (SELECT xid FROM session_events ORDER BY xid DESC LIMIT 1),
    (SELECT max((value ->> 'xid')::xid8) FROM settings WHERE key IN ('webhooks.cursor', 'events.removed-through')),
    (SELECT pg_snapshot_xmax(active_since) FROM webhooks ORDER BY pg_snapshot_xmin(active_since) DESC LIMIT 1)
  ) > pg_snapshot_xmax(pg_current_snapshot()), false) AS ahead`

/**
 * Begins an era if the database has moved since the last time. `client` must be allowed to replace functions of the
 * schema.
 */
export async function settleOutbox(client: pg.Client, log: Logger): Promise<void> {
  const home = await homeOf(client)
  const before = await notedIn(client)
  if (before && before.system === home.system && before.timeline === home.timeline) return
  await client.query('BEGIN')
  try {
    // Waits for transactions that still write in the previous era: readers would skip their events.
    await client.query('LOCK TABLE session_events IN SHARE MODE')
    const noted = await notedIn(client)
    const moved = noted ? hasMoved(noted, home) : (await client.query<{ ahead: boolean }>(AHEAD_SQL)).rows[0]!.ahead
    const era = (noted?.era ?? 0) + (moved ? 1 : 0)
    if (moved) {
      await client.query(positionFunction(era))
      log.warn({ from: noted, to: home, era }, 'the database was restored or promoted: a new era of events begins')
    }
    await client.query(NOTE_SQL, [JSON.stringify({ ...known(home, noted), era })])
    await client.query('COMMIT')
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {})
    throw error
  }
}

async function notedIn(client: Queryable): Promise<Noted | undefined> {
  return (await client.query<{ value: Noted }>(NOTED_SQL)).rows[0]?.value
}

/** Whether the database has moved and no server has noticed yet; the next check begins an era. */
export async function isUnsettled(db: Queryable): Promise<boolean> {
  const [home, noted] = [await homeOf(db), await notedIn(db)]
  return noted !== undefined && hasMoved(noted, home)
}

/** Whether the database is a standby, which cannot begin an era, or was promoted and has not yet begun one. */
export async function isBetweenEras(db: Queryable): Promise<boolean> {
  const { rows } = await db.query<{ standby: boolean }>('SELECT pg_is_in_recovery() AS standby')
  return rows[0]!.standby || isUnsettled(db)
}

/** Runs `settleOutbox` on its own connection. */
export async function settleOutboxOf(
  connectionString: string,
  log: Logger,
  patience: Patience = PATIENCE,
): Promise<void> {
  const client = await connect(connectionString, 'reprise-outbox', patience)
  try {
    await settleOutbox(client, log)
  } finally {
    await client.end()
  }
}

/** Reads where the database lives. A hosted PostgreSQL may hide either value. */
async function homeOf(client: Queryable): Promise<Home> {
  const ask = async <T>(sql: string) =>
    client.query<{ value: T }>(sql).then(
      ({ rows }) => rows[0]!.value,
      () => null,
    )
  const system = await ask<string>('SELECT system_identifier::text AS value FROM pg_control_system()')
  const timeline = await ask<number>(
    `SELECT ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int AS value`,
  )
  return { system, timeline }
}

function hasMoved(from: Home, to: Home): boolean {
  const differs = <T>(a: T | null, b: T | null) => a !== null && b !== null && a !== b
  return differs(from.system, to.system) || differs(from.timeline, to.timeline)
}

function known(home: Home, noted: Noted | undefined): Home {
  return { system: home.system ?? noted?.system ?? null, timeline: home.timeline ?? noted?.timeline ?? null }
}

function positionFunction(era: number): string {
  return `CREATE OR REPLACE FUNCTION outbox_position(xid8) RETURNS xid8 LANGUAGE sql STABLE PARALLEL SAFE
AS $$ SELECT ($1::text::int8 + ${BigInt(era) << POSITION_BITS})::text::xid8 $$`
}
