import { PATIENCE, type Patience } from '../connection-settings.ts'
import { connect } from './connect.ts'

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
