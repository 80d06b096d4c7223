import type pg from 'pg'

/** Reports errors on idle connections of a pool: it replaces those itself. Once it is closed, they are to end. */
export function reportFaults(pool: pg.Pool, onError: (error: Error) => void): void {
  pool.on('error', (error: Error & { client?: unknown }) => {
    if (pool.ending) return
    // The whole connection, which a log line has no use for.
    delete error.client
    onError(error)
  })
}
