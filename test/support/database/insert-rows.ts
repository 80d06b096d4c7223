import type { Queryable } from '../../../src/store/database.ts'

/** Inserts rows by column name; missing columns have their defaults. */
export async function insertRows(
  db: Queryable,
  table: string,
  rows: readonly Record<string, unknown>[],
): Promise<void> {
  for (const row of rows) {
    const columns = Object.keys(row).map((name) => `"${name}"`)
    const select = `SELECT ${columns.join()} FROM json_populate_record(NULL::${table}, $1::json)`
    await db.query(`INSERT INTO ${table} (${columns.join()}) ${select}`, [JSON.stringify(row)])
  }
}
