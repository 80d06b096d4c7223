import type { Database } from '../../src/store/database.ts'

export interface TableSize {
  table: string
  /** With its indexes. */
  bytes: number
  live: number
  dead: number
  /** By autovacuum, so far. */
  vacuums: number
}

const SQL = `
SELECT relname AS "table", pg_total_relation_size(relid)::float8 AS bytes, n_live_tup::float8 AS live,
  n_dead_tup::float8 AS dead, autovacuum_count::float8 AS vacuums
FROM pg_stat_user_tables WHERE n_tup_ins + n_tup_upd > 500 ORDER BY relname`

/** Of every table that is written to again and again. Rows as the statistics know them: of what was committed a second ago. */
export async function readTableSizes(db: Database): Promise<TableSize[]> {
  return (await db.query<TableSize & { [column: string]: unknown }>(SQL)).rows
}
