import { EMBEDDED_SETTINGS } from '../../src/store/postgres/settings.ts'

/** Of a PostgreSQL that lives as long as a test run: nothing in it has to survive a crash of the machine. */
export const TEST_SETTINGS = {
  ...EMBEDDED_SETTINGS,
  max_connections: '300',
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  // Events wait for the oldest transaction of any database: a statement that runs away fails itself, and nobody else.
  transaction_timeout: '30s',
  // Plans then do not depend on the moment at which it came; tests that need statistics take them.
  autovacuum: 'off',
}
