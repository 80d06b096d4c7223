import { RepriseError } from '../../domain/errors.ts'
import type { Queryable } from '../../store/database.ts'
import { findOpenAgent } from '../../store/sql/agent/isolation.sql.ts'

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
