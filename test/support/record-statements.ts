import pg from 'pg'

/**
 * The statements that reach the driver while `work` runs, of all pools in this process: what PostgreSQL is
 * asked, not what was asked of Prisma.
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
