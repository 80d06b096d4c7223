import { EMBEDDED_SETTINGS } from '../../../src/store/postgres/binaries.ts'

/** Settings of a PostgreSQL that lives as long as a test run: nothing in it has to survive a crash. */
export const TEST_SETTINGS = {
  ...EMBEDDED_SETTINGS,
  // Besides its socket: poolers and proxies of tests stand between a server and this address.
  listen_addresses: '127.0.0.1',
  max_connections: '300',
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  // Compression of pages that are logged whole was a fortieth of the CPU of tests with many rows.
  wal_compression: 'off',
  // Events wait for the oldest transaction of any database: a statement that hangs fails only its own test.
  transaction_timeout: '30s',
  // Makes plans independent of when autovacuum runs; tests that need statistics run ANALYZE.
  autovacuum: 'off',
}
