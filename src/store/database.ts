import pg from 'pg'

/** What statements run on: the pool, or the connection of a transaction. */
export interface Queryable {
  query<Row extends pg.QueryResultRow = pg.QueryResultRow>(
    text: string,
    values?: readonly unknown[],
  ): Promise<{ rows: Row[]; rowCount: number | null }>
}

/**
 * Statements have no name, so each is planned for its batch. Batches vary from one row to hundreds, and tables from
 * empty to millions: a plan kept from the first runs would be wrong for most. Planning costs 0.3 to 1 ms; forcing it
 * by `plan_cache_mode` would also plan each check of a foreign key anew, row by row.
 */
export interface Database extends Queryable {
  /** Commits when `work` resolves, rolls back when it throws. */
  transaction<T>(work: (tx: Queryable) => Promise<T>): Promise<T>
  close(): Promise<void>
}

const INT8_OID = 20

export function openDatabase(options: {
  connectionString: string
  connectionsMax: number
  /** Told of faults on idle connections; the pool replaces them by itself. */
  onError: (error: Error) => void
}): Database {
  const pool = new pg.Pool({
    connectionString: options.connectionString,
    max: options.connectionsMax,
    types: { getTypeParser: parserFor },
    application_name: 'reprise',
  })
  pool.on('error', options.onError)
  // A connection that breaks while it is lent out tells its statements; as an event nobody heard it would end the process.
  pool.on('connect', (client) => client.on('error', () => {}))
  return {
    query: (text, values) => pool.query(text, values as unknown[]),
    async transaction(work) {
      const client = await pool.connect()
      let fault: Error | undefined
      try {
        await client.query('BEGIN')
        const result = await work({ query: (text, values) => client.query(text, values as unknown[]) })
        await client.query('COMMIT')
        return result
      } catch (error) {
        // A connection that cannot even roll back is broken: the pool must not hand it out again.
        await client.query('ROLLBACK').catch((broken: Error) => (fault = broken))
        throw error
      } finally {
        client.release(fault)
      }
    },
    close: () => pool.end(),
  }
}

/** int8 as number where it is exact (counts, sizes), else as bigint would surprise JSON: ids that need more stay text by a cast. */
function parserFor(oid: number, format?: 'text' | 'binary'): (value: string) => unknown {
  if (oid === INT8_OID) return Number
  return pg.types.getTypeParser(oid, format) as (value: string) => unknown
}
