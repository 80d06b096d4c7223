import { PrismaPg } from '@prisma/adapter-pg'
import { PrismaClient, type Prisma, type Session } from '../generated/prisma/client.ts'

export type { Prisma, PrismaClient, Session }
/** Which sessions a read is about. */
export type SessionWhere = Prisma.SessionWhereInput

/** For reads alone: whatever writes uses the statements of `store/sql`. Connects at the first query. */
export function createPrisma(options: {
  connectionString: string
  connectionsMax: number
  /** Told of faults on connections; the pool replaces them by itself. */
  onError: (error: Error) => void
}): PrismaClient {
  const { connectionString, connectionsMax, onError } = options
  const pool = { connectionString, max: connectionsMax, application_name: 'reprise-read' }
  const adapter = new PrismaPg(pool, {
    onPoolError: onError,
    onConnectionError: onError,
    statementNameGenerator: namedStatements(),
  })
  return new PrismaClient({ adapter, errorFormat: 'minimal' })
}

const NAMED_STATEMENTS_MAX = 500
const NAMED_PARAMETERS_MAX = 8

/**
 * Statements with few parameters are prepared once per connection. Those with many come from lists of ids,
 * whose length makes each another statement: they stay without a name, and nobody has to keep them.
 */
function namedStatements(): (query: { sql: string; args: readonly unknown[] }) => string {
  const names = new Map<string, string>()
  return ({ sql, args }) => {
    const known = names.get(sql)
    if (known !== undefined) return known
    if (args.length > NAMED_PARAMETERS_MAX || names.size >= NAMED_STATEMENTS_MAX) return ''
    const name = `p${names.size}`
    names.set(sql, name)
    return name
  }
}
