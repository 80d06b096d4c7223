import { RepriseError } from '../../domain/errors.ts'
import type { Queryable } from '../../store/database.ts'
import { countAgentsAtRisk, findOpenAgent } from '../../store/sql/agent/isolation.sql.ts'

/**
 * Before strangers are let in: nobody else's sessions may come to an agent on which they could read everything, unless
 * somebody has decided so there.
 *
 * @throws RepriseError ISOLATION_REQUIRED
 */
export async function requireIsolation(db: Queryable, what: string): Promise<void> {
  const agent = await findOpenAgent(db)
  if (agent === null) return
  throw new RepriseError(
    'ISOLATION_REQUIRED',
    `${what} would let others run sessions on agent ${agent}, where nothing keeps sessions from the server's and each other's data. ` +
      'Install bubblewrap there, or set REPRISE_ISOLATION (docs/executors.md); REPRISE_ISOLATION=none accepts it as it is.',
  )
}

/** What people should know who run this server; null if there is nothing. */
export async function isolationWarning(db: Queryable): Promise<string | null> {
  const agents = await countAgentsAtRisk(db)
  if (agents === 0) return null
  const which = agents === 1 ? 'an agent runs' : `${agents} agents run`
  return `${which} kernels without isolation (REPRISE_ISOLATION), and not only administrators have tokens: sessions of any project can read what the agent's user can`
}
