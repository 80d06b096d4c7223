import pg from 'pg'

/** The snapshot around the statements of an operation; its end is sent when the operation has been answered. */
const OF_SNAPSHOTS = /^(BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY|COMMIT$)/
/** What a pool does every ten seconds. */
const OF_POOLS = /^DISCARD PLANS$|pg_relation_size\(oid\)/

/**
 * The statements that reach the driver while `work` runs, from all pools of this process: the statements sent to
 * PostgreSQL, not the calls of Prisma.
 */
export async function recordStatements<T>(work: () => Promise<T>): Promise<{ result: T; statements: string[] }> {
  const { result, queries } = await recordQueries(work)
  return { result, statements: queries.map(({ text }) => text) }
}

/** The same with their values. */
export async function recordQueries<T>(
  work: () => Promise<T>,
): Promise<{ result: T; queries: { text: string; values: readonly unknown[] }[] }> {
  const { result, queries } = await recordAllQueries(work)
  return { result, queries: queries.filter(({ text }) => !OF_SNAPSHOTS.test(text) && !OF_POOLS.test(text)) }
}

/** The same, and with what belongs to snapshots and pools. */
export async function recordAllQueries<T>(
  work: () => Promise<T>,
): Promise<{ result: T; queries: { text: string; values: readonly unknown[] }[] }> {
  const queries: { text: string; values: readonly unknown[] }[] = []
  const original = pg.Client.prototype.query
  pg.Client.prototype.query = function (this: pg.Client, ...args: unknown[]) {
    const [query, given] = args as [string | { text: string; values?: unknown[] }, unknown[]?]
    const { text, values = [] } = typeof query === 'string' ? { text: query, values: given } : query
    queries.push({ text, values: Array.isArray(values) ? values : [] })
    return (original as (...all: unknown[]) => unknown).apply(this, args)
  } as typeof original
  try {
    return { result: await work(), queries }
  } finally {
    pg.Client.prototype.query = original
  }
}
