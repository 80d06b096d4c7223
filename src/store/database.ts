import pg, { type PoolConfig } from 'pg'
import { readStatement } from './snapshot.ts'

const INT8_OID = 20

/**
 * int8 is returned as a number, exact for counts and sizes; a bigint would not serialise to JSON. Ids that need more
 * than 53 bits are cast to text in the statement.
 */
export function parserFor(oid: number, format?: 'text' | 'binary'): (value: string) => unknown {
  if (oid === INT8_OID) return Number
  return pg.types.getTypeParser(oid, format) as (value: string) => unknown
}

/** How long the database may be silent before it counts as unreachable, in milliseconds. */
export interface Patience {
  /** Until a connection is open, or one of a pool is free. */
  connectMs: number
  /** Until a statement is answered: several times what any of ours takes. */
  queryMs: number
}

export const PATIENCE: Patience = { connectMs: 15_000, queryMs: 60_000 }

const KEEPALIVE_DELAY_MS = 10_000
/** A new connection looks everything up again: its first statements cost several times what later ones do. */
const IDLE_MAX_MS = 60_000

/**
 * A peer may vanish without closing its connections: a machine that loses power, a firewall that forgets them. Keep-alive
 * finds that out within 20 s where nothing is on its way. Otherwise, or if the peer accepts data and never answers, only
 * the limits end a wait that would hold up its service for a quarter of an hour, or for ever.
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

/** Whether the database left a statement unanswered: the connection is of no use any more. */
export function wasUnanswered(error: unknown): boolean {
  return error instanceof Error && error.message === 'Query read timeout'
}

/** Reports errors on idle connections of a pool: it replaces those itself. Once it is closed, they are to end. */
export function reportFaults(pool: pg.Pool, onError: (error: Error) => void): void {
  pool.on('error', (error: Error & { client?: unknown }) => {
    if (pool.ending) return
    // The whole connection, which a log line has no use for.
    delete error.client
    onError(error)
  })
}

/** Runs statements: on the pool, or on the connection of a transaction. */
export interface Queryable {
  query<Row extends pg.QueryResultRow = pg.QueryResultRow>(
    text: string,
    values?: readonly unknown[],
  ): Promise<{ rows: Row[]; rowCount: number | null }>
}

/**
 * Statements are not prepared by name, so each one is planned for its own batch. Batches vary from one row to hundreds,
 * and tables from empty to millions: a plan cached from the first runs would be wrong for most. Planning costs 0.3 to 1
 * ms. Forcing it with `plan_cache_mode` would also re-plan every foreign key check, row by row.
 */
export interface Database extends Queryable {
  /** A statement that the database ends if it takes longer, whatever holds for others. */
  queryWithin<Row extends pg.QueryResultRow = pg.QueryResultRow>(
    timeoutMs: number,
    text: string,
    values?: readonly unknown[],
  ): Promise<{ rows: Row[]; rowCount: number | null }>
  /** Commits when `work` resolves, rolls back when it throws. */
  transaction<T>(work: (tx: Queryable) => Promise<T>): Promise<T>
  /** How many connections were opened so far. Each may lead to another server than those before. */
  opened(): number
  close(): Promise<void>
}

export function openDatabase(options: {
  connectionString: string
  connectionsMax: number
  /** Called for errors on idle connections; the pool replaces those connections itself. */
  onError: (error: Error) => void
  patience?: Patience
}): Database {
  const pool = new pg.Pool({
    ...connectionSettings(options.patience),
    connectionString: options.connectionString,
    max: options.connectionsMax,
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
  return {
    query: (text, values) =>
      readStatement(
        () => pool.query(text, values as unknown[]),
        (client) => client.query({ text, values: values as unknown[], types: { getTypeParser: parserFor } }),
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
      const result = await work({ query: (text, values) => client.query(text, values as unknown[]) })
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
