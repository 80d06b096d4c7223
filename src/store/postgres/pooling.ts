import pg from 'pg'
import { connectionSettings, type Patience, PATIENCE } from '../database.ts'
import { createHmac } from 'node:crypto'

/** The message of pg's error. */
const CONNECT_TIMED_OUT = 'timeout expired'

/**
 * Opens a connection, for work before the server's pools exist or that needs its own connection. The caller closes it.
 */
export async function connect(connectionString: string, name: string, patience: Patience): Promise<pg.Client> {
  const client = new pg.Client({ ...connectionSettings(patience), connectionString, application_name: name })
  // An error on the connection also rejects the running statement.
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
 * The kind of pooler between a server and PostgreSQL: none, one that assigns each of our connections one database
 * connection until it is closed (session), or one that assigns any for each transaction. The last kind keeps no state
 * between transactions: LISTEN receives nothing, session locks may belong to others, and so may statements prepared by
 * name.
 */
export type Pooling = 'none' | 'session' | 'transaction'

/**
 * Other clients may use the pooler at the same time, so several rounds are tried: one round that they did not disturb
 * is enough.
 */
const ROUNDS = 5
const BACKEND_SQL = 'SELECT pg_backend_pid() AS pid'

/** Detects the kind of pooler, with one connection, and a second one if a pooler answers. */
export async function poolingOf(connectionString: string, patience: Patience = PATIENCE): Promise<Pooling> {
  await using first = await probe(connectionString, patience)
  // PostgreSQL sends its process id on each new connection; a pooler sends another number.
  if ((await first.backend()) === first.toldPid) return 'none'
  await using second = await probe(connectionString, patience)
  const seen = new Set<number>()
  for (let round = 0; round < ROUNDS; round++) {
    const pid = await first.backend()
    const other = await second.backendInTransaction()
    seen.add(pid)
    // Both connections are open: they can have the same process only if the pooler lends it by transaction.
    if (other === pid || seen.size > 1) return 'transaction'
  }
  return 'session'
}

async function probe(connectionString: string, patience: Patience) {
  const client = await connect(connectionString, 'reprise-probe', patience)
  const backend = async () => (await client.query<{ pid: number }>(BACKEND_SQL)).rows[0]!.pid
  return {
    /** The process id of cancel requests; pg's types do not have it. */
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

/** Whether two connection strings lead to one database, as far as the database reveals it. */
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
 * The role of a running server in its embedded database. It reads and writes rows. The further rights of a superuser
 * (programs, files, other roles) are used only by the start, which migrates.
 */
export const SERVER_ROLE = 'reprise_server'

/** Derives the server role's password from the superuser's, which cannot be derived from it. */
export function serverPassword(superuserPassword: string): string {
  return createHmac('sha256', superuserPassword).update(SERVER_ROLE).digest('base64url')
}

/** A role whose members may use the connections that `reserved_connections` keeps from others. */
const RESERVED = 'pg_use_reserved_connections'

/**
 * Selects whether nothing is missing: the role, its connections, and its rights on everything that migrations have
 * created. Also checks that roles without rights cannot connect, because they could listen to the messages between
 * servers.
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

/** Creates the role, or what it lacks, in a migrated database. Idempotent. */
export async function ensureServerRole(superuserUrl: string): Promise<void> {
  const client = await connect(superuserUrl, 'reprise-role', PATIENCE)
  try {
    if ((await client.query<{ complete: boolean }>(COMPLETE_SQL)).rows[0]!.complete) return
    const { password: superuserPassword, pathname } = new URL(superuserUrl)
    const password = serverPassword(decodeURIComponent(superuserPassword))
    const grants = grantsIn(pg.escapeIdentifier(decodeURIComponent(pathname.slice(1))))
    const known = await client.query(`SELECT FROM pg_roles WHERE rolname = '${SERVER_ROLE}'`)
    // All statements of one simple query run in one transaction.
    const make = known.rowCount === 0 ? `CREATE ROLE ${SERVER_ROLE} LOGIN` : `ALTER ROLE ${SERVER_ROLE} LOGIN`
    await client.query(`${make} NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD '${password}';${grants}`)
  } finally {
    await client.end()
  }
}
