import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { bindMigrationAwareSqlAdapterFactory } from '@prisma/driver-adapter-utils'
import type * as SchemaEngineGlue from '@prisma/schema-engine-wasm/schema_engine_bg'
import { CatalogAdapterFactory, CatalogPool } from './catalog-adapter.ts'
import { readMigrations } from './migration-files.ts'

/**
 * Prisma's schema engine as WebAssembly: migrations, their history table and the drift check are Prisma's own, with no
 * engine binary to download.
 */

const PRISMA_DIR = join(import.meta.dirname, '../../../prisma')
const NO_FILTER = { externalTables: [], externalEnums: [] }

interface Engine {
  applyMigrations(input: object): Promise<{ appliedMigrationNames: string[] }>
  diagnoseMigrationHistory(input: object): Promise<{ failedMigrationNames: string[]; editedMigrationNames: string[] }>
  markMigrationRolledBack(input: object): Promise<object>
  diff(input: object): Promise<{ exitCode: number; stdout: string | null }>
  free(): void
}

type Glue = typeof SchemaEngineGlue

/** The glue code keeps its WebAssembly instance in a module variable, so a process has one instance, created once. */
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

/** The engine never clears its timeout timers; unref keeps them from holding a finished process alive. */
function withQuietTimers(glue: Glue): WebAssembly.ModuleImports {
  const setQuietTimeout = (callback: () => void, ms: number) => setTimeout(callback, ms).unref()
  const entries = Object.entries(glue).map(([name, member]) => [
    name,
    name.startsWith('__wbg_setTimeout_') ? setQuietTimeout : member,
  ])
  return Object.fromEntries(entries) as WebAssembly.ModuleImports
}

/** Gives the engine its own pool and closes it afterwards: the engine holds session locks on its connections. */
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
 * Each migration is one transaction, so one that was cut off by a crash left nothing but its row in the history and is
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

/** The SQL that would bring this database to `schema.prisma`; it has no statements if they agree. */
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
