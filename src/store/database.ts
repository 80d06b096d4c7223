import pg from 'pg'
import { reportFaults } from './report-faults.ts'
import { readStatement } from './snapshot.ts'
import { connectionSettings, wasUnanswered, type Patience } from './connection-settings.ts'
import { parserFor } from './value-parsers.ts'

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
