import { warningsOf, type Warning } from '../domain/warning.ts'
import type { Queryable } from '../store/database.ts'
import { readWarningFacts } from '../store/sql/access/warning-facts.sql.ts'

/** All warnings of a server at present. @param own of its process */
export async function readWarnings(db: Queryable, own: readonly Warning[]): Promise<string[]> {
  return warningsOf(await readWarningFacts(db), own)
}
