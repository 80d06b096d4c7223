import { createHash, randomUUID } from 'node:crypto'
import type pg from 'pg'
import { migrationNames, readMigrations } from '../../../src/store/postgres/schema-engine.ts'

const HISTORY = `CREATE TABLE _prisma_migrations (id varchar(36) PRIMARY KEY, checksum varchar(64) NOT NULL,
  finished_at timestamptz, migration_name varchar(255) NOT NULL, logs text, rolled_back_at timestamptz,
  started_at timestamptz NOT NULL DEFAULT now(), applied_steps_count int NOT NULL DEFAULT 0)`

/** Brings an empty database to the state before this migration, as a server of that time would have. */
export async function migrateUpTo(client: pg.Client, name: string): Promise<void> {
  if (!(await migrationNames()).includes(name)) throw new Error(`there is no migration ${name}`)
  await client.query(HISTORY)
  const { migrationDirectories } = await readMigrations()
  for (const { path, migrationFile } of migrationDirectories.filter((migration) => migration.path < name)) {
    const script = migrationFile.content.value
    await client.query(`BEGIN; ${script}\n; COMMIT`)
    const checksum = createHash('sha256').update(script).digest('hex')
    await client.query(
      `INSERT INTO _prisma_migrations (id, checksum, finished_at, migration_name, applied_steps_count)
       VALUES ($1, $2, now(), $3, 1)`,
      [randomUUID(), checksum, path],
    )
  }
}
