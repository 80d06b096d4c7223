import { PrismaPg } from '@prisma/adapter-pg'
import { ColumnTypeEnum } from '@prisma/driver-adapter-utils'
import pg from 'pg'

const OID_CHAR = 18
const OID_TEXT = 25

/**
 * The adapter refuses the one-byte catalogue type "char". This pool reports such columns as text and remembers which
 * ones they were in the latest result, because the schema engine expects them as characters.
 */
export class CatalogPool extends pg.Pool {
  charColumns: number[] = []

  constructor(config: pg.PoolConfig) {
    super(config)
    // A connection that breaks also rejects the statement that is running.
    this.on('error', () => {})
    this.on('connect', (client) => void client.on('error', () => {}))
  }

  override query = (async (...args: Parameters<pg.Pool['query']>) => {
    const answer = await (super.query(...args) as unknown as Promise<pg.QueryResult | pg.QueryResult[]>)
    const fields = [answer].flat().at(-1)?.fields ?? []
    this.charColumns = fields.flatMap((field, column) => (field.dataTypeID === OID_CHAR ? [column] : []))
    for (const column of this.charColumns) fields[column]!.dataTypeID = OID_TEXT
    return answer
  }) as unknown as pg.Pool['query']
}

/**
 * Prisma's adapter with two changes that the schema engine needs: "char" columns (see above), and scripts that run as
 * one simple query and so in one transaction. The stock adapter splits a script at every semicolon, even inside
 * comments, and spreads the pieces over the connections of its pool.
 */
export class CatalogAdapterFactory extends PrismaPg {
  readonly #pool: CatalogPool
  readonly #migrations: ReadonlySet<string>

  constructor(pool: CatalogPool, migrations: ReadonlySet<string>) {
    super(pool)
    this.#pool = pool
    this.#migrations = migrations
  }

  override async connect() {
    const adapter = await super.connect()
    const queryRaw = adapter.queryRaw.bind(adapter)
    adapter.queryRaw = async (query) => {
      const result = await queryRaw(query)
      for (const column of this.#pool.charColumns) result.columnTypes[column] = ColumnTypeEnum.Character
      return result
    }
    adapter.executeScript = async (script) => {
      await this.#pool.query(this.#migrations.has(script) ? asOneUnit(script) : script)
    }
    return adapter
  }
}

/**
 * Held while a migration's transaction runs, including one whose process has died but whose statement is still running.
 */
export const RUNNING_MIGRATION_LOCK_KEY = 7_265_707_271

/**
 * Runs a migration and records its success in the same transaction. PostgreSQL completes and commits what a killed
 * process had already sent, and the history must not report that as failed. The one open row is the migration's own.
 */
function asOneUnit(script: string): string {
  return `SELECT pg_advisory_xact_lock(${RUNNING_MIGRATION_LOCK_KEY});
${script}
;UPDATE _prisma_migrations SET finished_at = clock_timestamp() WHERE finished_at IS NULL AND rolled_back_at IS NULL`
}
