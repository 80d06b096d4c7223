import pg from 'pg'

/**
 * The statements that reach the driver while `work` runs, from all pools of this process: the statements sent to
 * PostgreSQL, not the calls of Prisma.
 */
export async function recordStatements<T>(work: () => Promise<T>): Promise<{ result: T; statements: string[] }> {
  const statements: string[] = []
  const original = pg.Client.prototype.query
  pg.Client.prototype.query = function (this: pg.Client, ...args: unknown[]) {
    const [query] = args as [string | { text: string }]
    statements.push(typeof query === 'string' ? query : query.text)
    return (original as (...all: unknown[]) => unknown).apply(this, args)
  } as typeof original
  try {
    return { result: await work(), statements }
  } finally {
    pg.Client.prototype.query = original
  }
}
