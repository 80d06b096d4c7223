import { createHmac } from 'node:crypto'
import { PATIENCE } from '../connection-settings.ts'
import type { Queryable } from '../database.ts'
import { connect } from './connect.ts'

/**
 * The role that a running server has in its embedded database: it reads and writes rows. What a superuser may beyond
 * that (programs, files, other roles) is for the start alone, which migrates.
 */
export const SERVER_ROLE = 'reprise_server'

/** Follows from the superuser's, which does not follow from it. */
export function serverPassword(superuserPassword: string): string {
  return createHmac('sha256', superuserPassword).update(SERVER_ROLE).digest('base64url')
}

/** True if nothing is missing: the role, and its rights on everything that migrations have made. */
const COMPLETE_SQL = `
SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = '${SERVER_ROLE}')
  AND NOT EXISTS (
    SELECT FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND (
      c.relkind IN ('r', 'p') AND NOT has_table_privilege(
        (SELECT oid FROM pg_roles WHERE rolname = '${SERVER_ROLE}'), c.oid, 'DELETE')
      OR c.relkind = 'S' AND NOT has_sequence_privilege(
        (SELECT oid FROM pg_roles WHERE rolname = '${SERVER_ROLE}'), c.oid, 'USAGE'))
  ) AS complete`

const GRANTS = `
GRANT USAGE ON SCHEMA public TO ${SERVER_ROLE};
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ${SERVER_ROLE};
GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO ${SERVER_ROLE};
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO ${SERVER_ROLE};
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT USAGE, SELECT ON SEQUENCES TO ${SERVER_ROLE}`

/** Makes the role, or what it lacks, in a database that is migrated. Idempotent. */
export async function ensureServerRole(superuserUrl: string): Promise<void> {
  const client = await connect(superuserUrl, 'reprise-role', PATIENCE)
  try {
    if ((await client.query<{ complete: boolean }>(COMPLETE_SQL)).rows[0]!.complete) return
    const password = serverPassword(decodeURIComponent(new URL(superuserUrl).password))
    const known = await client.query(`SELECT FROM pg_roles WHERE rolname = '${SERVER_ROLE}'`)
    // One simple query is one transaction.
    const make = known.rowCount === 0 ? `CREATE ROLE ${SERVER_ROLE} LOGIN` : `ALTER ROLE ${SERVER_ROLE} LOGIN`
    await client.query(`${make} NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD '${password}';${GRANTS}`)
  } finally {
    await client.end()
  }
}

/** Whether this connection's user may do anything on the machine of the database. */
export async function isSuperuser(db: Queryable): Promise<boolean> {
  const sql = 'SELECT rolsuper AS yes FROM pg_roles WHERE rolname = current_user'
  return (await db.query<{ yes: boolean }>(sql)).rows[0]?.yes ?? false
}
