import { RepriseError } from '../../domain/errors.ts'
import type { Logger } from '../../observability/log.ts'
import type { Database } from '../../store/database.ts'
import { findToken, recordTokenUse, type TokenRow } from '../../store/sql/access/tokens.sql.ts'
import { readForServer } from '../consistent-reads.ts'
import type { Rates } from './rates.ts'
import type { Viewer } from '../service-context.ts'
import { hashToken, isToken } from './tokens.ts'

/**
 * The viewer of this token; null if it is unknown, revoked or expired.
 * @throws RepriseError TOO_MANY_REQUESTS if too many tokens from the address were, and this one is not known either
 */
export type Authenticate = (token: string, address?: string) => Promise<Viewer | null>

/** How long a revoked token may still work, in exchange for no database lookup per request. */
const TRUST_MS = 3_000
/** Far more than there are tokens in use: an upper bound, not a working set. */
const CACHED_TOKENS_MAX = 10_000

/**
 * Looks each token up once in TRUST_MS. Only valid tokens are remembered, so that guessing cannot
 * push them out. Their use is recorded once a minute, without anybody waiting for it.
 */
export function createAuthenticator(options: {
  db: Database
  log: Logger
  /** Of addresses that send tokens which are not valid. */
  failures?: Rates
  now?: () => number
}): Authenticate {
  const { db, log, failures, now = () => performance.now() } = options
  const known = new Map<string, { viewer: Promise<Viewer | null>; until: number }>()

  function failed(address: string): null {
    if (failures?.take(address) === false) throw tooManyFailures()
    return null
  }

  async function lookUp(hash: Buffer): Promise<Viewer | null> {
    const row = await findToken(db, hash)
    if (!row || !isWellFormed(row)) return null
    if (row.useUnnoted)
      recordTokenUse(db, row.id).catch((error) => log.warn({ err: error }, "could not note a token's use"))
    const { id: tokenId, name, role, projectId, userId, resourceGroups, sessionOf } = row
    return { tokenId, name, role, projectId, userId, resourceGroups, sessionOf }
  }

  return async (token, address = '') => {
    if (!isToken(token)) return failed(address)
    const hash = hashToken(token)
    const key = hash.toString('base64')
    const cached = known.get(key)
    if (cached && cached.until > now()) return cached.viewer
    // One that was valid a moment ago is looked up again, whoever else is behind its address.
    if (!cached && failures?.allows(address) === false) throw tooManyFailures()
    if (known.size >= CACHED_TOKENS_MAX) known.clear()
    // Other requests with this token wait for it, too.
    const viewer = readForServer(() => lookUp(hash))
    known.set(key, { viewer, until: now() + TRUST_MS })
    const forget = () => known.get(key)?.viewer === viewer && known.delete(key)
    viewer.then((found) => found ?? forget(), forget)
    return (await viewer) ?? failed(address)
  }
}

function tooManyFailures(): RepriseError {
  const message = 'Too many unknown tokens from this address. Try again in a moment.'
  return new RepriseError('TOO_MANY_REQUESTS', message)
}

/** Of those that read tenants' data, only administrators may have no project: null stands for all of them. */
function isWellFormed({ role, projectId }: TokenRow): boolean {
  return projectId !== null || role === 'ADMIN' || role === 'AGENT' || role === 'METRICS'
}
