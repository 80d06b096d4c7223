import pg from 'pg'
import { connectionSettings, type Patience, PATIENCE } from '../database.ts'
import { createHmac } from 'node:crypto'

/** The message of pg. */
const CONNECT_TIMED_OUT = 'timeout expired'

/** Opens a connection, for work before the server's pools exist or that needs one of its own. The caller ends it. */
export async function connect(connectionString: string, name: string, patience: Patience): Promise<pg.Client> {
  const client = new pg.Client({ ...connectionSettings(patience), connectionString, application_name: name })
  // An error on the connection also rejects the statement that is running.
  client.on('error', () => {})
  await client.connect().catch((error: Error) => {
    throw error.message === CONNECT_TIMED_OUT ? unanswered(client, patience, error) : error
  })
  return client
}

function unanswered({ host, port }: pg.Client, { connectMs }: Patience, cause: Error): Error {
  const words = `The database at ${host}:${port} does not answer: no connection within ${connectMs / 1000} s.`
  return new Error(words, { cause })
}

/**
 * What lies between a server and PostgreSQL: nothing, a pooler that gives each of our connections one of its own for
 * good (session), or one that gives it any for each transaction. The last keeps no state between transactions: LISTEN
 * hears nothing, locks of a session are another's, and a statement that was prepared by name may be another's too.
 */
export type Pooling = 'none' | 'session' | 'transaction'

/** Other clients of the pooler may take turns with ours: one round in which they did not is enough. */
const ROUNDS = 5
const BACKEND_SQL = 'SELECT pg_backend_pid() AS pid'

/** Opens one connection, and a second one where a pooler answers. */
export async function poolingOf(connectionString: string, patience: Patience = PATIENCE): Promise<Pooling> {
  await using first = await probe(connectionString, patience)
  // PostgreSQL tells its process id to each new connection; a pooler tells a number of its own.
  if ((await first.backend()) === first.toldPid) return 'none'
  await using second = await probe(connectionString, patience)
  const seen = new Set<number>()
  for (let round = 0; round < ROUNDS; round++) {
    const pid = await first.backend()
    const other = await second.backendInTransaction()
    seen.add(pid)
    // Both are connected: only by turns can they have one and the same.
    if (other === pid || seen.size > 1) return 'transaction'
  }
  return 'session'
}

async function probe(connectionString: string, patience: Patience) {
  const client = await connect(connectionString, 'reprise-probe', patience)
  const backend = async () => (await client.query<{ pid: number }>(BACKEND_SQL)).rows[0]!.pid
  return {
    /** Undocumented in the types, but what cancel requests are made of. */
    toldPid: (client as unknown as { processID: number }).processID,
    backend,
    async backendInTransaction() {
      await client.query('BEGIN')
      const pid = await backend()
      await client.query('ROLLBACK')
      return pid
    },
    [Symbol.asyncDispose]: () => client.end(),
  }
}

/** Whether two connection strings lead to one database, as far as it tells. */
export async function isSameDatabase(one: string, other: string, patience: Patience = PATIENCE): Promise<boolean> {
  const [a, b] = await Promise.all([identityOf(one, patience), identityOf(other, patience)])
  return a === b
}

async function identityOf(connectionString: string, patience: Patience): Promise<string> {
  const client = await connect(connectionString, 'reprise-probe', patience)
  try {
    const sql = `SELECT (SELECT oid FROM pg_database WHERE datname = current_database()) AS database,
      pg_postmaster_start_time() AS started`
    return JSON.stringify((await client.query(sql)).rows[0])
  } finally {
    await client.end()
  }
}

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
