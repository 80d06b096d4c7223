import { createHmac } from 'node:crypto'
import pg from 'pg'
import { PATIENCE } from '../connection-settings.ts'
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

/** Lets its connections use those that `reserved_connections` keeps from other roles. */
const RESERVED = 'pg_use_reserved_connections'

/**
 * True if nothing is missing: the role, its connections, and its rights on everything that migrations have made. A role
 * without rights could otherwise connect, and listen to what servers tell each other.
 */
const COMPLETE_SQL = `
SELECT EXISTS (SELECT FROM pg_auth_members WHERE roleid = '${RESERVED}'::regrole
    AND member = (SELECT oid FROM pg_roles WHERE rolname = '${SERVER_ROLE}'))
  AND NOT EXISTS (
    SELECT FROM pg_database d, aclexplode(coalesce(datacl, acldefault('d', datdba))) a
    WHERE d.datname = current_database() AND a.grantee = 0 AND a.privilege_type = 'CONNECT')
  AND NOT EXISTS (
    SELECT FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND (
      c.relkind IN ('r', 'p') AND NOT has_table_privilege(
        (SELECT oid FROM pg_roles WHERE rolname = '${SERVER_ROLE}'), c.oid, 'DELETE')
      OR c.relkind = 'S' AND NOT has_sequence_privilege(
        (SELECT oid FROM pg_roles WHERE rolname = '${SERVER_ROLE}'), c.oid, 'USAGE'))
  ) AS complete`

const grantsIn = (database: string) => `
GRANT ${RESERVED} TO ${SERVER_ROLE};
GRANT CONNECT, TEMPORARY ON DATABASE ${database} TO ${SERVER_ROLE};
REVOKE ALL ON DATABASE ${database} FROM PUBLIC;
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
    const { password: superuserPassword, pathname } = new URL(superuserUrl)
    const password = serverPassword(decodeURIComponent(superuserPassword))
    const grants = grantsIn(pg.escapeIdentifier(decodeURIComponent(pathname.slice(1))))
    const known = await client.query(`SELECT FROM pg_roles WHERE rolname = '${SERVER_ROLE}'`)
    // One simple query is one transaction.
    const make = known.rowCount === 0 ? `CREATE ROLE ${SERVER_ROLE} LOGIN` : `ALTER ROLE ${SERVER_ROLE} LOGIN`
    await client.query(`${make} NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD '${password}';${grants}`)
  } finally {
    await client.end()
  }
}
