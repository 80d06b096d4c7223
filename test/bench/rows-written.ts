import { openDatabase } from '../../src/store/database.ts'
import type { BenchDatabase } from './ground.ts'

const TABLES = ['sessions', 'kernels', 'session_events', 'scheduling_history', 'retry_decisions', 'audit_log']

/**
 * Rows inserted and updated for each session, by table: `sessions 1+8`. Closes the database's connections first:
 * each tells its statistics at its end, and late otherwise.
 */
export async function rowsWritten(database: BenchDatabase, sessions: number): Promise<string> {
  await database.db.close()
  const db = openDatabase({ connectionString: database.connectionString, connectionsMax: 1, onError: () => {} })
  try {
    await new Promise((resolve) => setTimeout(resolve, 200))
    const { rows } = await db.query<{ name: string; inserted: number; updated: number; hot: number }>(
      `SELECT relname AS name, n_tup_ins AS inserted, n_tup_upd AS updated, n_tup_hot_upd AS hot
       FROM pg_stat_user_tables WHERE relname = ANY($1) AND n_tup_ins + n_tup_upd > 0 ORDER BY relname`,
      [TABLES],
    )
    const each = (count: number) => String(Math.round((count / sessions) * 100) / 100)
    return rows
      .map(({ name, inserted, updated, hot }) => `${name} ${each(inserted)}+${each(updated)} (${each(hot)} HOT)`)
      .join(', ')
  } finally {
    await db.close()
  }
}
