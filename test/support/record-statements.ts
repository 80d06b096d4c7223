import pg from 'pg'

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
  const queries: { text: string; values: readonly unknown[] }[] = []
  const original = pg.Client.prototype.query
  pg.Client.prototype.query = function (this: pg.Client, ...args: unknown[]) {
    const [query, values] = args as [string | { text: string; values?: unknown[] }, unknown[]?]
    if (typeof query === 'string') queries.push({ text: query, values: Array.isArray(values) ? values : [] })
    else queries.push({ text: query.text, values: query.values ?? [] })
    return (original as (...all: unknown[]) => unknown).apply(this, args)
  } as typeof original
  try {
    return { result: await work(), queries }
  } finally {
    pg.Client.prototype.query = original
  }
}
