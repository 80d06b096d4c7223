import type { Settings } from './postmaster.ts'

/** For a machine of 2 cores and 2 GB upwards. Nothing here loosens what a commit promises. */
export const EMBEDDED_SETTINGS: Settings = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  cluster_name: 'reprise',
  max_connections: '100',
  shared_buffers: '192MB',
  // Sorts and hashes of sets of 500 sessions stay in memory.
  work_mem: '16MB',
  maintenance_work_mem: '64MB',
  random_page_cost: '1.1',
  jit: 'off',
  // Statements are short; a second process costs more than it brings.
  max_parallel_workers_per_gather: '0',
  // There are no replicas: less is written, and what is written is spread.
  wal_level: 'minimal',
  max_wal_senders: '0',
  wal_compression: 'on',
  max_wal_size: '2GB',
  min_wal_size: '256MB',
  checkpoint_timeout: '15min',
  // Queue tables turn over whole many times an hour.
  autovacuum_naptime: '10s',
  autovacuum_vacuum_scale_factor: '0.05',
  autovacuum_analyze_scale_factor: '0.05',
  autovacuum_vacuum_cost_limit: '1000',
  // A client that was killed in the middle of a statement lets go of its locks within this.
  client_connection_check_interval: '1s',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_checkpoints: 'off',
  log_autovacuum_min_duration: '-1',
}
