import type { Settings } from './postmaster.ts'

/** Of a server, besides its two pools: those that listen, hold the owner's lock, migrate or look something up. */
const OTHER_CONNECTIONS = 12
/** For people and their programs. */
const CONNECTIONS_OF_OTHERS = 40
const CONNECTIONS_MIN = 100

/**
 * @param connectionsMax of each of the server's two pools. As many are reserved for it: other roles leave them free.
 */
export function embeddedSettings(connectionsMax: number): Settings {
  const ofServer = 2 * connectionsMax + OTHER_CONNECTIONS
  return {
    ...EMBEDDED_SETTINGS,
    max_connections: String(Math.max(CONNECTIONS_MIN, ofServer + CONNECTIONS_OF_OTHERS)),
    reserved_connections: String(ofServer),
  }
}

/** For machines from 2 cores and 2 GB upwards. Nothing here weakens the durability of a commit. */
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
  // There are no replicas: write less WAL, and spread checkpoints out.
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
  // When a client is killed in the middle of a statement, its locks are released within this time.
  client_connection_check_interval: '1s',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_checkpoints: 'off',
  log_autovacuum_min_duration: '-1',
}
