import type { Database, Queryable } from '../../../src/store/database.ts'

export interface RecordedStatement {
  text: string
  values: readonly unknown[]
}

/** The same database, which records each different statement with the values of its first run. */
export function recordedDatabase(db: Database): { db: Database; statements: Map<string, RecordedStatement> } {
  const statements = new Map<string, RecordedStatement>()
  const record = (on: Queryable): Queryable => ({
    query(text, values = []) {
      if (!statements.has(text)) statements.set(text, { text, values })
      return on.query(text, values)
    },
  })
  return {
    statements,
    db: {
      ...record(db),
      queryWithin: (timeoutMs, text, values) => db.queryWithin(timeoutMs, text, values),
      transaction: (work) => db.transaction((tx) => work(record(tx))),
      opened: () => db.opened(),
      close: () => db.close(),
    },
  }
}
