import { RepriseError } from '../../domain/errors.ts'
import { SESSION_COOKIES_MAX } from '../../domain/limits.ts'
import type { Viewer } from '../service-context.ts'
import { browserCredential, hashToken, isBrowserCredential, isBrowserKey, isToken, tokenPrefix } from './tokens.ts'
import type { Logger } from '../../observability/log.ts'
import type { Database } from '../../store/database.ts'
import { findToken, findValidHashes, recordTokenUse, type TokenRow } from '../../store/sql/access/tokens.sql.ts'
import { readForServer } from '../consistent-reads.ts'
import type { Rates } from './admission.ts'

const BEARER = /^Bearer +([^\s~]+)$/i
const BROWSER = /^Browser +([\w,-]+)(?:~([\w-]+))?$/i

const NO_TOKEN = 'A valid token is needed: `Authorization: Bearer …`.'
const NO_KEY =
  "This browser's login is incomplete: the server was updated, or the browser's storage was cleared. Log in again."

/**
 * Identifies the viewer by an `Authorization` header.
 * @throws RepriseError UNAUTHENTICATED, TOO_MANY_REQUESTS
 */
export async function identifyBearer(
  authenticate: Authenticate,
  authorization: unknown,
  address: string | undefined,
): Promise<{ viewer: Viewer; token: string }> {
  const text = typeof authorization === 'string' ? authorization.trim() : ''
  const [, secrets, key] = BROWSER.exec(text) ?? []
  if (secrets !== undefined) {
    if (key === undefined) throw new RepriseError('UNAUTHENTICATED', NO_KEY)
    return identifyBrowser(authenticate, { secrets: secrets.split(','), key }, address)
  }
  const [, token] = BEARER.exec(text) ?? []
  const viewer = token === undefined ? null : await authenticate(token, address)
  if (token !== undefined && viewer) return { viewer, token }
  throw new RepriseError('UNAUTHENTICATED', NO_TOKEN)
}

/** The internal `Authorization` header for a browser's request: the secrets of its cookies, and the key of the page. */
export function browserAuthorization(secrets: readonly string[], key: string | undefined): string {
  return withBrowserKey(`Browser ${secrets.join(',')}`, key)!
}

/** Builds the header for an authenticated token or credential. */
export function authorizationOf(token: string): string {
  return `${isBrowserCredential(token) ? 'Browser' : 'Bearer'} ${token}`
}

/** Adds the key from the first message of a WebSocket, whose request cannot carry it. */
export function withBrowserKey(authorization: string | undefined, key: unknown): string | undefined {
  const isIncomplete = authorization?.startsWith('Browser ') && !authorization.includes('~')
  return isIncomplete && typeof key === 'string' && isBrowserKey(key) ? `${authorization}~${key}` : authorization
}

/** Other programs may have set cookies of the same name: at most one of them fits the key. */
async function identifyBrowser(
  authenticate: Authenticate,
  { secrets, key }: { secrets: readonly string[]; key: string },
  address: string | undefined,
): Promise<{ viewer: Viewer; token: string }> {
  let refused: RepriseError | undefined
  for (const secret of secrets.slice(0, SESSION_COOKIES_MAX)) {
    const token = browserCredential(secret, key)
    try {
      const viewer = await authenticate(token, address)
      if (viewer) return { viewer, token }
    } catch (error) {
      if (!(error instanceof RepriseError)) throw error
      refused = error
    }
  }
  throw refused ?? new RepriseError('UNAUTHENTICATED', NO_TOKEN)
}

const announced = new WeakSet()

/**
 * Records that a valid token was used on this connection; limits for strangers, such as those on slow reading, no
 * longer apply to it.
 */
export function noteKnown(connection: object): void {
  announced.add(connection)
}

/** Whether a valid token was used on this connection. */
export function isKnown(connection: object): boolean {
  return announced.has(connection)
}

/**
 * Finds the viewer of a token or of a browser's credential; null if it is unknown, revoked or expired.
 * @throws RepriseError TOO_MANY_REQUESTS if it is unknown, and this address has sent too many unknown tokens with its
 * prefix
 */
export type Authenticate = (token: string, address?: string) => Promise<Viewer | null>

/** How long a revoked token may still work; in exchange, requests need no database lookup. */
const TRUST_MS = 3_000
/** An upper bound of the cached tokens, far more than there are in use. */
const CACHED_TOKENS_MAX = 10_000

/** Tokens that are looked up in one statement. */
const CROWD_STATEMENT_MAX = 1_000

/**
 * Creates an authenticator that looks each token up once in TRUST_MS. Only valid tokens are cached, so that guessing
 * cannot evict them. Their use is recorded once a minute, and no request waits for that.
 *
 * Many users may share an address, so a valid token is never refused because of others. If an address has sent too many
 * unknown tokens, its tokens only wait longer: they are looked up together, in one statement at a time.
 */
export function createAuthenticator(options: {
  db: Database
  log: Logger
  /** Limits the invalid tokens of an address. */
  failures?: Rates
  now?: () => number
}): Authenticate {
  const { db, log, failures, now = () => performance.now() } = options
  const known = new Map<string, { viewer: Promise<Viewer | null>; until: number }>()

  const crowd = createCrowd((hashes) => readForServer(() => findValidHashes(db, hashes)))

  function failed(address: string, token: string): null {
    failures?.take(address)
    if (failures?.take(`${address} ${tokenPrefix(token)}`) === false) throw tooManyFailures()
    return null
  }

  async function lookUp(hash: Buffer, ofBrowser: boolean): Promise<Viewer | null> {
    const row = await findToken(db, hash)
    // In earlier versions, the cookie itself was a token.
    if (!row || (row.sessionOf !== null) !== ofBrowser) return null
    const viewer = viewerOf(row)
    if (viewer && row.useUnnoted)
      recordTokenUse(db, row.id).catch((error) => log.warn({ err: error }, "could not note a token's use"))
    return viewer
  }

  return async (token, address = '') => {
    const ofBrowser = isBrowserCredential(token)
    if (!ofBrowser && !isToken(token)) return failed(address, token)
    const hash = hashToken(token)
    const key = hash.toString('base64')
    const cached = known.get(key)
    if (cached && cached.until > now()) return cached.viewer
    // A token that was valid a moment ago is looked up separately, even if its address has too many failures, because
    // others may use the same address.
    if (!cached && failures?.allows(address) === false && !(await crowd.has(hash))) return failed(address, token)
    if (known.size >= CACHED_TOKENS_MAX) known.clear()
    // Other requests with this token also wait for this lookup.
    const viewer = readForServer(() => lookUp(hash, ofBrowser))
    known.set(key, { viewer, until: now() + TRUST_MS })
    const forget = () => known.get(key)?.viewer === viewer && known.delete(key)
    viewer.then((found) => found ?? forget(), forget)
    return (await viewer) ?? failed(address, token)
  }
}

/**
 * Looks up many hashes in one statement; later ones wait for the next statement. Each waiting hash belongs to a request
 * with an open connection, so their number needs no further bound.
 */
function createCrowd(find: (hashes: Buffer[]) => Promise<Buffer[]>): { has(hash: Buffer): Promise<boolean> } {
  let waiting: { hash: Buffer; answer: (isValid: boolean) => void; fail: (error: unknown) => void }[] = []
  let looking = false

  async function look(): Promise<void> {
    looking = true
    while (waiting.length > 0) {
      const some = waiting.slice(0, CROWD_STATEMENT_MAX)
      waiting = waiting.slice(CROWD_STATEMENT_MAX)
      try {
        const valid = new Set((await find(some.map(({ hash }) => hash))).map((hash) => hash.toString('base64')))
        for (const { hash, answer } of some) answer(valid.has(hash.toString('base64')))
      } catch (error) {
        for (const { fail } of some) fail(error)
      }
    }
    looking = false
  }

  return {
    has(hash) {
      const { promise, resolve, reject } = Promise.withResolvers<boolean>()
      waiting.push({ hash, answer: resolve, fail: reject })
      if (!looking) void look()
      return promise
    },
  }
}

function tooManyFailures(): RepriseError {
  const message = 'Too many unknown tokens from this address. Try again in a moment.'
  return new RepriseError('TOO_MANY_REQUESTS', message)
}

/** Builds the viewer of a token; null if the token gives no access. */
export function viewerOf(row: TokenRow): Viewer | null {
  if (!isWellFormed(row)) return null
  const { id: tokenId, name, role, projectId, userId, resourceGroups, sessionOf } = row
  return { tokenId, name, role, projectId, userId, resourceGroups, sessionOf }
}

/**
 * Whether role and project go together. Among the roles that read tenants' data, only administrators may have no
 * project, which means all projects.
 */
function isWellFormed({ role, projectId }: TokenRow): boolean {
  return projectId !== null || role === 'ADMIN' || role === 'AGENT' || role === 'METRICS'
}
