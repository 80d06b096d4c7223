import { PrismaPg } from '@prisma/adapter-pg'
import { RepriseError } from '../domain/errors.ts'
import { type Prisma, PrismaClient, type Session } from '../generated/prisma/client.ts'
import type { Database, Patience } from './database.ts'
import { ReadPool } from './read-pool.ts'
import { type Reads, readSnapshot } from './snapshot.ts'

export type { Prisma, PrismaClient, Session }
/** A filter of the sessions to read. */
export type SessionWhere = Prisma.SessionWhereInput

/**
 * Creates the Prisma client. It is for reads only: all writes go through the statements of `store/sql`. It connects on
 * the first query.
 */
export function createPrisma(options: {
  connectionString: string
  connectionsMax: number
  /** Called for connection errors; the pool replaces the connections itself. */
  onError: (error: Error) => void
  patience?: Patience
  /** False behind a pooler in transaction mode, where the next statement may meet another connection. */
  ownConnections?: boolean
  /** Statements that take longer are cancelled by the database. */
  readTimeoutMs?: number
}): PrismaClient {
  const { connectionString, connectionsMax, onError, patience, readTimeoutMs, ownConnections = true } = options
  const pool = new ReadPool({
    connectionString,
    connectionsMax,
    patience,
    readTimeoutMs,
    onError,
    keepsSettings: ownConnections,
  })
  const adapter = new ProvableEnumsFactory(pool, {
    onConnectionError: onError,
    ...(ownConnections && { statementNameGenerator: statementNames() }),
    disposeExternalPool: true,
  })
  const prisma = new PrismaClient({ adapter, errorFormat: 'minimal' })
  pools.set(prisma, pool)
  return prisma
}

const pools = new WeakMap<PrismaClient, ReadPool>()

/** Runs `work` so that all its reads see one state of the database: that of its first statement. */
export function readTogether<T>(prisma: PrismaClient, work: () => T | Promise<T>): Promise<Reads<T>> {
  return readSnapshot(pools.get(prisma)!, work)
}

/** The database on Prisma's connections, which are those of the API. Prisma closes only what it has used. */
export function databaseOf(prisma: PrismaClient): Database {
  return pools.get(prisma)!.asDatabase()
}

const NAMED_STATEMENTS_MAX = 500
const NAMED_PARAMETERS_MAX = 8

/**
 * Names statements that are to be prepared. Those with few parameters are prepared once per connection. Those with many
 * come from lists of ids, and each list length is another statement: they stay unnamed, so that no connection has to
 * cache them. So do statements whose plan depends on enum values.
 */
function statementNames(): (query: { sql: string; args: readonly unknown[] }) => string {
  const names = new Map<string, string>()
  return ({ sql, args }) => {
    const known = names.get(sql)
    if (known !== undefined) return known
    if (hasEnumParameters(sql)) return ''
    if (args.length > NAMED_PARAMETERS_MAX || names.size >= NAMED_STATEMENTS_MAX) return ''
    const name = `p${names.size}`
    names.set(sql, name)
    return name
  }
}

const CAST_PARAMETER = /CAST\((\$\d+)::text AS ("public"\."\w+")\)/g

/**
 * Gives enum parameters their own type. Prisma sends enum values as text and casts them. The planner cannot evaluate
 * this cast, so it cannot prove that a condition implies that of a partial index, and reads the whole table. A
 * parameter of the enum's own type is a constant to the planner, as long as the statement is planned for its values.
 */
function withEnumParameters(sql: string): string {
  return sql.includes('CAST($') ? sql.replace(CAST_PARAMETER, '$1::$2') : sql
}

/**
 * Whether a statement of `withEnumParameters` has such a parameter. It must be planned for each execution, not once for
 * all values, so it must not be prepared by name.
 */
function hasEnumParameters(sql: string): boolean {
  return sql.includes('::"public"."')
}

class ProvableEnumsFactory extends PrismaPg {
  override async connect() {
    const adapter = await super.connect()
    const queryRaw = adapter.queryRaw.bind(adapter)
    adapter.queryRaw = (query) => queryRaw({ ...query, sql: withEnumParameters(query.sql) }).catch(passOn)
    return adapter
  }
}

/** Wraps refusals of the pool as a cause, because Prisma replaces any error that has a code by its own error. */
function passOn(error: unknown): never {
  throw error instanceof RepriseError ? new Error(error.message, { cause: error }) : error
}
