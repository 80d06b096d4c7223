import pg, { type PoolConfig } from 'pg'
import { readForServer, readStatement } from './snapshot.ts'

const INT8_OID = 20

/**
 * Chooses the parser for a PostgreSQL type. int8 becomes a number, which is exact for counts and sizes; a bigint could
 * not be serialised to JSON. Statements cast ids that need more than 53 bits to text.
 */
export function parserFor(oid: number, format?: 'text' | 'binary'): (value: string) => unknown {
  if (oid === INT8_OID) return Number
  return pg.types.getTypeParser(oid, format) as (value: string) => unknown
}

/** Timeouts, in milliseconds, after which the database counts as unreachable. */
export interface Patience {
  /** The time to open a connection, or to get a free one of a pool. */
  connectMs: number
  /** The time to wait for the answer to a statement: several times as long as the slowest statement takes. */
  queryMs: number
}

export const PATIENCE: Patience = { connectMs: 15_000, queryMs: 60_000 }

const KEEPALIVE_DELAY_MS = 10_000
/**
 * Idle connections are kept for this long, and a few for good. A new connection has empty caches: its first statements
 * cost several times what later ones do.
 */
const IDLE_MAX_MS = 60_000
const KEPT_CONNECTIONS = 6

/**
 * Builds the settings of a connection. A peer may vanish without closing its connections: a machine loses power, or a
 * firewall drops its state. Keep-alive detects that within 20 s if no data is in transit. Otherwise, or if the peer
 * accepts data and never answers, only these timeouts end a wait that would block a service for a quarter of an hour,
 * or for ever.
 */
export function connectionSettings({ connectMs, queryMs }: Patience = PATIENCE): PoolConfig {
  return {
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEPALIVE_DELAY_MS,
    connectionTimeoutMillis: connectMs,
    idleTimeoutMillis: IDLE_MAX_MS,
    query_timeout: queryMs,
  }
}

/** Whether a statement timed out without an answer; its connection is then unusable. */
export function wasUnanswered(error: unknown): boolean {
  return error instanceof Error && error.message === 'Query read timeout'
}

/**
 * Reports errors on idle connections, which the pool replaces by itself. Once the pool is closed, such errors are
 * expected and not reported.
 */
export function reportFaults(pool: pg.Pool, onError: (error: Error) => void): void {
  pool.on('error', (error: Error & { client?: unknown }) => {
    if (pool.ending) return
    // Removes the connection object, which would flood the log line.
    delete error.client
    onError(error)
  })
}

/** Runs statements, on the pool or on the connection of a transaction. */
export interface Queryable {
  query<Row extends pg.QueryResultRow = pg.QueryResultRow>(
    text: string,
    values?: readonly unknown[],
  ): Promise<{ rows: Row[]; rowCount: number | null }>
}

/** Names of statements whose plans are kept, by their text. */
const keptPlans = new Map<string, string>()

/**
 * Marks a statement whose planning takes longer than its execution for a few rows, 1 to 10 ms: of the way from a
 * session's creation to its end, of each round of a service, or of usual reads. Each connection prepares it by name.
 * After five times PostgreSQL keeps a plan for any parameters if it estimates that as no worse; so the statement must
 * not need its values to find an index.
 */
export function keepsPlan(sql: string): string {
  return keepAs('r', sql)
}

function keepAs(kind: 'r' | 'b', sql: string): string {
  if (!keptPlans.has(sql)) keptPlans.set(sql, `${kind}${keptPlans.size}`)
  return sql
}

/** A plan takes tens of kilobytes of each connection that has run it. */
const KEPT_BUILT_PLANS_MAX = 100
const USES_TO_KEEP_PLAN = 5
const COUNTED_STATEMENTS_MAX = 1_000
const uses = new Map<string, number>()
let keptBuiltPlans = 0

/**
 * The same for a statement that is built from what a client asks for, once it has been used a few times. Its limits
 * should be constants: PostgreSQL estimates a plan for any limit as worse, and goes on planning for the values.
 */
export function keepsPlanIfUsual(sql: string): string {
  if (keptPlans.has(sql) || keptBuiltPlans === KEPT_BUILT_PLANS_MAX) return sql
  if (uses.size === COUNTED_STATEMENTS_MAX) uses.clear()
  const count = (uses.get(sql) ?? 0) + 1
  uses.set(sql, count)
  if (count < USES_TO_KEEP_PLAN) return sql
  uses.delete(sql)
  keptBuiltPlans += 1
  return keepAs('b', sql)
}

/** The name by which connections that keep plans prepare a statement; undefined for one that is not marked. */
export function planName(sql: string): string | undefined {
  return keptPlans.get(sql)
}

/** The statements that were marked by `keepsPlan` so far. */
export function statementsWithKeptPlans(): readonly string[] {
  return [...keptPlans].filter(([, name]) => name.startsWith('r')).map(([sql]) => sql)
}

/** How often a pool looks whether its connections' plans are still right. */
const SIZES_EVERY_MS = 10_000

/**
 * Changes when a table or an index has grown or shrunk to about twice or half its size; null while one is locked, as
 * asking for its size would wait for the lock. It takes less than 1 ms.
 */
const SIZES_SQL = `
SELECT CASE WHEN NOT EXISTS (
    SELECT FROM pg_locks JOIN pg_class c ON c.oid = relation
    WHERE mode = 'AccessExclusiveLock' AND relnamespace = current_schema()::regnamespace
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())) THEN (
  SELECT md5(string_agg(oid || ' ' || floor(ln(1 + pg_relation_size(oid) / 8192) / ln(2)), ',' ORDER BY oid))
  FROM pg_class WHERE relkind IN ('r', 'i') AND relnamespace = current_schema()::regnamespace) END AS sizes`

/**
 * A pool of connections. Most statements are not prepared by name, so that each one is planned for its own batch. Batches
 * vary from one row to hundreds, and tables from empty to millions: a plan cached from the first runs would be wrong
 * for most. Forcing it with `plan_cache_mode` would also re-plan every foreign key check, row by row.
 */
export interface Database extends Queryable {
  /** Runs a statement with its own timeout, enforced by the database instead of the usual one. */
  queryWithin<Row extends pg.QueryResultRow = pg.QueryResultRow>(
    timeoutMs: number,
    text: string,
    values?: readonly unknown[],
  ): Promise<{ rows: Row[]; rowCount: number | null }>
  /** Commits when `work` resolves, rolls back when it throws. */
  transaction<T>(work: (tx: Queryable) => Promise<T>): Promise<T>
  /** Number of connections opened so far. Each may lead to another server than the previous ones. */
  opened(): number
  close(): Promise<void>
}

export function openDatabase(options: {
  connectionString: string
  connectionsMax: number
  /** Called for errors on idle connections; the pool replaces those connections itself. */
  onError: (error: Error) => void
  patience?: Patience
  /** False if statements prepared by name may end up on another connection, as with a pooler in transaction mode. */
  keepsPlans?: boolean
}): Database {
  const { keepsPlans = true } = options
  const pool = new pg.Pool({
    ...connectionSettings(options.patience),
    connectionString: options.connectionString,
    max: options.connectionsMax,
    min: Math.min(KEPT_CONNECTIONS, options.connectionsMax),
    types: { getTypeParser: parserFor },
    application_name: 'reprise',
  })
  reportFaults(pool, options.onError)
  // When a checked-out connection breaks, its pending statements reject. Without a listener the error event would end
  // the process.
  let opened = 0
  pool.on('connect', (client) => {
    opened += 1
    client.on('error', () => {})
  })
  if (keepsPlans) discardOldPlans(pool)
  const statement = (text: string, values: readonly unknown[] | undefined) => {
    const name = keepsPlans ? planName(text) : undefined
    return { text, values: values as unknown[], ...(name !== undefined && { name }) }
  }
  return {
    query: (text, values) =>
      readStatement(
        () => pool.query(statement(text, values)),
        (client) => client.query({ ...statement(text, values), types: { getTypeParser: parserFor } }),
      ),
    queryWithin: (timeoutMs, text, values) =>
      transaction(async (tx) => {
        await tx.query(`SET LOCAL statement_timeout = ${timeoutMs}`)
        return tx.query(text, values)
      }),
    transaction,
    opened: () => opened,
    close: () => pool.end(),
  }

  async function transaction<T>(work: (tx: Queryable) => Promise<T>): Promise<T> {
    const client = await pool.connect()
    let fault: Error | undefined
    try {
      await client.query('BEGIN')
      const result = await work({ query: (text, values) => client.query(statement(text, values)) })
      await client.query('COMMIT')
      return result
    } catch (error) {
      // A connection that cannot roll back is broken: the pool must not hand it out again.
      if (wasUnanswered(error)) fault = error as Error
      else await client.query('ROLLBACK').catch((broken: Error) => (fault = broken))
      throw error
    } finally {
      client.release(fault)
    }
  }
}

/**
 * Plans anew when sizes have changed: tables grow from empty to millions of rows, faster than they are analyzed. What is
 * analyzed, PostgreSQL plans anew by itself.
 */
export function discardOldPlans(pool: pg.Pool): void {
  let sizes: string | undefined
  let askedAt = Number.NEGATIVE_INFINITY
  const plannedFor = new WeakMap<pg.PoolClient, string | undefined>()
  const look = async () => {
    const { rows } = await pool.query<{ sizes: string | null }>(SIZES_SQL)
    sizes = rows[0]!.sizes ?? sizes
  }
  pool.on('acquire', (client) => {
    // Sent before the statement for which the connection was taken. That statement reports a broken connection.
    if (plannedFor.has(client) && plannedFor.get(client) !== sizes) client.query('DISCARD PLANS').catch(() => {})
    plannedFor.set(client, sizes)
    const now = performance.now()
    if (now - askedAt < SIZES_EVERY_MS) return
    askedAt = now
    // By another connection: the statement for which this one was taken does not wait. A closed pool refuses it.
    readForServer(look).catch(() => {})
  })
}
