import { vi } from 'vitest'
import type { Database } from '../../../src/store/database.ts'
import type { TestDatabase } from '../database/database.ts'

/** The time of a database whose clock stands still until it is set. */
export interface StoppedClock {
  readonly now: Date
  set(at: Date): Promise<void>
  /** Moves on. */
  pass(seconds: number): Promise<void>
  /** This process has the real time again. */
  start(): void
}

const FUNCTIONS = ['now', 'clock_timestamp', 'statement_timestamp', 'transaction_timestamp']

/**
 * Gives the database functions of its own for the time, which all connections opened from now on find before those of
 * PostgreSQL: whatever is written has times that are chosen.
 */
export async function stopClock(database: TestDatabase, at: Date): Promise<void> {
  const { db } = database
  database.spoil()
  await db.query('CREATE SCHEMA stopped')
  await db.query('CREATE TABLE stopped.clock (at timestamptz NOT NULL)')
  await db.query('INSERT INTO stopped.clock VALUES ($1)', [at])
  for (const name of FUNCTIONS) {
    await db.query(
      `CREATE FUNCTION stopped.${name}() RETURNS timestamptz LANGUAGE sql STABLE AS 'SELECT at FROM stopped.clock'`,
    )
  }
  await db.query(`DO $$ DECLARE it record; BEGIN
    FOR it IN SELECT table_name, column_name FROM information_schema.columns
      WHERE table_schema = 'public' AND column_default ~* 'now\\(\\)|CURRENT_TIMESTAMP|clock_timestamp'
    LOOP
      EXECUTE format('ALTER TABLE %I ALTER COLUMN %I SET DEFAULT stopped.now()', it.table_name, it.column_name);
    END LOOP;
    EXECUTE format('ALTER DATABASE %I SET search_path = stopped, pg_catalog, public', current_database());
  END $$`)
}

/** Stops this process's clock, too, since ids contain times. `db`: connected after the database's clock was stopped. */
export function stoppedClock(db: Database, at: Date): StoppedClock {
  let now = at
  vi.useFakeTimers({ toFake: ['Date'], now })
  const set = async (next: Date) => {
    now = next
    vi.setSystemTime(next)
    await db.query('UPDATE stopped.clock SET at = $1', [next])
  }
  return {
    get now() {
      return now
    },
    set,
    pass: (seconds) => set(new Date(now.getTime() + seconds * 1000)),
    start: () => void vi.useRealTimers(),
  }
}
