import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import type { Logger } from '../../observability/log.ts'
import { PATIENCE, type Patience } from '../database.ts'
import { applyMigrations, migrationNames, RUNNING_MIGRATION_LOCK_KEY } from './schema-engine.ts'
import { connect } from './pooling.ts'
import { settleOutbox } from './outbox-era.ts'

const MIGRATION_LOCK_KEY = 7_265_707_270
/**
 * Interval at which the lock is polled. Waiting inside PostgreSQL would hold a snapshot, for which a concurrent index
 * build would wait.
 */
const LOCK_POLL_MS = 100
/** Another server that started at the same time may need this long for a migration that rewrites large tables. */
const LOCK_TIMEOUT_MS = 15 * 60_000
const UNDEFINED_TABLE = '42P01'

/** Thrown if a newer version of the program has migrated the database. Migrations only go forward. */
export class NewerDatabaseError extends Error {
  constructor(unknown: readonly string[]) {
    super(
      `This database was migrated by a newer version of reprise: it has ${unknown.join(', ')}, which this version ` +
        'does not know. Start that version, or use another database.',
    )
    this.name = 'NewerDatabaseError'
  }
}

/**
 * Brings the database to this version's schema and returns the names of the applied migrations.
 *
 * When several servers start at once, one migrates and the others wait on an advisory lock, which ends with the process
 * that holds it.
 * @throws the signal's reason, if aborted while waiting
 */
export async function migrate(
  connectionString: string,
  log: Logger,
  { signal, patience = PATIENCE }: { signal?: AbortSignal | undefined; patience?: Patience } = {},
): Promise<string[]> {
  const client = await connect(connectionString, 'reprise-migrate', patience)
  try {
    await waitForTurn(client, signal)
    const known = await migrationNames()
    await refuseNewer(client, known)
    const applied = (await isUpToDate(client, known)) ? [] : await applyMigrations(connectionString)
    if (applied.length > 0) await assertComplete(client, known)
    await settleOutbox(client, log)
    return applied
  } finally {
    await client.end()
  }
}

/**
 * Waits for a migration of a killed process. That process frees its lock at once, but PostgreSQL may still be running
 * the migration it had sent. The migration itself holds another lock, which is acquired here only to wait for the
 * migration's end.
 */
async function waitForTurn(client: pg.Client, signal?: AbortSignal): Promise<void> {
  await takeLock(client, MIGRATION_LOCK_KEY, signal)
  await takeLock(client, RUNNING_MIGRATION_LOCK_KEY, signal)
  await client.query('SELECT pg_advisory_unlock($1)', [RUNNING_MIGRATION_LOCK_KEY])
}

async function takeLock(client: pg.Client, key: number, signal?: AbortSignal): Promise<void> {
  const deadline = performance.now() + LOCK_TIMEOUT_MS
  for (;;) {
    const { rows } = await client.query<{ taken: boolean }>('SELECT pg_try_advisory_lock($1) AS taken', [key])
    if (rows[0]!.taken) return
    signal?.throwIfAborted()
    if (performance.now() > deadline) throw new Error('Another server has been migrating this database for 15 minutes.')
    await sleep(LOCK_POLL_MS)
  }
}

async function refuseNewer(client: pg.Client, known: readonly string[]): Promise<void> {
  const unknown = (await finishedMigrations(client)).filter((name) => !known.includes(name))
  if (unknown.length > 0) throw new NewerDatabaseError(unknown)
}

/**
 * Checks whether all migrations are applied. The engine's own check of an up-to-date database would take most of the
 * server's start time.
 */
async function isUpToDate(client: pg.Client, known: readonly string[]): Promise<boolean> {
  const finished = await finishedMigrations(client)
  if (known.length === 0 || !known.every((name) => finished.includes(name))) return false
  const cutOff = `SELECT FROM _prisma_migrations WHERE finished_at IS NULL AND rolled_back_at IS NULL LIMIT 1`
  return (await client.query(cutOff)).rowCount === 0
}

async function assertComplete(client: pg.Client, known: readonly string[]): Promise<void> {
  const finished = await finishedMigrations(client)
  const missing = known.filter((name) => !finished.includes(name))
  if (missing.length > 0) throw new Error(`These migrations did not take effect: ${missing.join(', ')}`)
}

async function finishedMigrations(client: pg.Client): Promise<string[]> {
  try {
    const { rows } = await client.query<{ name: string }>(
      `SELECT migration_name AS name FROM _prisma_migrations
       WHERE finished_at IS NOT NULL AND rolled_back_at IS NULL ORDER BY started_at`,
    )
    return rows.map(({ name }) => name)
  } catch (error) {
    if ((error as pg.DatabaseError).code === UNDEFINED_TABLE) return []
    throw error
  }
}
