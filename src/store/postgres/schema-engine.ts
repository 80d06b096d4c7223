import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { PrismaPg } from '@prisma/adapter-pg'
import { bindMigrationAwareSqlAdapterFactory, ColumnTypeEnum } from '@prisma/driver-adapter-utils'
import pg from 'pg'
import { createRequire } from 'node:module'
import type * as SchemaEngineGlue from '@prisma/schema-engine-wasm/schema_engine_bg'

const MIGRATIONS_DIR = join(import.meta.dirname, '../../../prisma/migrations')

/** Lists the names of this version's migrations, in order. */
export async function migrationNames(): Promise<string[]> {
  const entries = await readdir(MIGRATIONS_DIR, { withFileTypes: true })
  return entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])).toSorted()
}

export async function readMigrations() {
  const baseDir = MIGRATIONS_DIR
  const names = await migrationNames()
  return {
    baseDir,
    lockfile: {
      path: 'migration_lock.toml',
      content: await readFile(join(baseDir, 'migration_lock.toml'), 'utf8'),
    },
    shadowDbInitScript: '',
    migrationDirectories: await Promise.all(
      names.map(async (name) => ({
        path: name,
        migrationFile: {
          path: 'migration.sql',
          content: { tag: 'ok', value: await readFile(join(baseDir, name, 'migration.sql'), 'utf8') },
        },
      })),
    ),
  }
}

const OID_CHAR = 18
const OID_TEXT = 25

/**
 * A pool for the catalogue queries of the schema engine. Prisma's adapter refuses the one-byte catalogue type "char".
 * This pool reports such columns as text and remembers which ones they were in the latest result, because the schema
 * engine expects them as characters.
 */
class CatalogPool extends pg.Pool {
  charColumns: number[] = []

  constructor(config: pg.PoolConfig) {
    super(config)
    // A connection that breaks also rejects the running statement.
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
class CatalogAdapterFactory extends PrismaPg {
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
 * The key of a lock that is held while a migration's transaction runs, even if its process has died while the statement
 * still runs.
 */
export const RUNNING_MIGRATION_LOCK_KEY = 7_265_707_271

/**
 * Wraps a migration so that its success is recorded in the same transaction. PostgreSQL completes and commits what a
 * killed process had already sent, and the history must not report that as failed. The one open row is the migration's
 * own.
 */
function asOneUnit(script: string): string {
  return `SELECT pg_advisory_xact_lock(${RUNNING_MIGRATION_LOCK_KEY});
${script}
;UPDATE _prisma_migrations SET finished_at = clock_timestamp() WHERE finished_at IS NULL AND rolled_back_at IS NULL`
}

const PRISMA_DIR = join(import.meta.dirname, '../../../prisma')
const NO_FILTER = { externalTables: [], externalEnums: [] }

/**
 * Prisma's schema engine as WebAssembly: migrations, their history table and the drift check are Prisma's own, with no
 * engine binary to download.
 */
interface Engine {
  applyMigrations(input: object): Promise<{ appliedMigrationNames: string[] }>
  diagnoseMigrationHistory(input: object): Promise<{ failedMigrationNames: string[]; editedMigrationNames: string[] }>
  markMigrationRolledBack(input: object): Promise<object>
  diff(input: object): Promise<{ exitCode: number; stdout: string | null }>
  free(): void
}

type Glue = typeof SchemaEngineGlue

/**
 * The loaded glue code. It keeps its WebAssembly instance in a module variable, so a process has one instance, created
 * once.
 */
let glueLoaded: Promise<Glue> | undefined

async function loadGlue(): Promise<Glue> {
  const require = createRequire(import.meta.url)
  const glue = await import('@prisma/schema-engine-wasm/schema_engine_bg')
  const path = join(require.resolve('@prisma/schema-engine-wasm/schema_engine_bg'), '../schema_engine_bg.wasm')
  const { instance } = await WebAssembly.instantiate(await readFile(path), {
    './schema_engine_bg.js': withQuietTimers(glue),
  })
  glue.__wbg_set_wasm(instance.exports)
  const { __wbindgen_start: start } = instance.exports as { __wbindgen_start?: () => void }
  start?.()
  return glue
}

/**
 * Replaces the engine's timers, which it never clears, by ones that are unref'd and so do not keep a finished process
 * alive.
 */
function withQuietTimers(glue: Glue): WebAssembly.ModuleImports {
  const setQuietTimeout = (callback: () => void, ms: number) => setTimeout(callback, ms).unref()
  const entries = Object.entries(glue).map(([name, member]) => [
    name,
    name.startsWith('__wbg_setTimeout_') ? setQuietTimeout : member,
  ])
  return Object.fromEntries(entries) as WebAssembly.ModuleImports
}

/**
 * Gives the engine its own pool and closes it afterwards, because the engine holds session locks on its connections.
 */
async function withEngine<T>(
  connectionString: string,
  use: (engine: Engine, datamodel: string) => Promise<T>,
  migrations: ReadonlySet<string> = new Set(),
): Promise<T> {
  glueLoaded ??= loadGlue()
  const [glue, datamodel] = await Promise.all([glueLoaded, readFile(join(PRISMA_DIR, 'schema.prisma'), 'utf8')])
  const pool = new CatalogPool({ connectionString })
  try {
    const adapter = bindMigrationAwareSqlAdapterFactory(new CatalogAdapterFactory(pool, migrations))
    const options = { datamodels: [['schema.prisma', datamodel]] as [string, string][] }
    const engine: Engine = await glue.SchemaEngine.new(options, () => {}, adapter)
    try {
      return await use(engine, datamodel)
    } finally {
      engine.free()
    }
  } finally {
    await pool.end()
  }
}

/**
 * Applies the missing migrations and returns their names, in order. The caller holds the migration lock.
 *
 * Each migration is one transaction, so one that was interrupted by a crash left only its row in the history and is
 * simply applied again. No migration may commit by itself.
 */
export async function applyMigrations(connectionString: string): Promise<string[]> {
  const migrationsList = await readMigrations()
  const scripts = migrationsList.migrationDirectories.map(({ migrationFile }) => migrationFile.content.value)
  return withEngine(
    connectionString,
    async (engine) => {
      const { failedMigrationNames } = await engine.diagnoseMigrationHistory({
        migrationsList,
        optInToShadowDatabase: false,
        filters: NO_FILTER,
      })
      for (const migrationName of failedMigrationNames) await engine.markMigrationRolledBack({ migrationName })
      return (await engine.applyMigrations({ migrationsList, filters: NO_FILTER })).appliedMigrationNames
    },
    new Set(scripts),
  )
}

/** Generates the SQL that would bring this database to `schema.prisma`; it has no statements if they agree. */
export async function driftFromSchema(connectionString: string): Promise<string> {
  return withEngine(connectionString, async (engine, content) => {
    const files = [{ path: 'schema.prisma', content }]
    const result = await engine.diff({
      from: { tag: 'schemaDatasource', files, configDir: PRISMA_DIR },
      to: { tag: 'schemaDatamodel', files },
      script: true,
      exitCode: null,
      filters: NO_FILTER,
      shadowDatabaseUrl: null,
    })
    return result.stdout ?? ''
  })
}
