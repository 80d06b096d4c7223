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
  'This browser has only a part of its login: the server was updated, or its storage was cleared. Log in again.'

/**
 * Who asks, by an `Authorization` header.
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

/**
 * How the requests of browsers are passed on inside this server: the secrets of their cookies, and the key of the page.
 */
export function browserAuthorization(secrets: readonly string[], key: string | undefined): string {
  return withBrowserKey(`Browser ${secrets.join(',')}`, key)!
}

/** For a token or credential that has been authenticated. */
export function authorizationOf(token: string): string {
  return `${isBrowserCredential(token) ? 'Browser' : 'Bearer'} ${token}`
}

/** Adds the key that the first message of a WebSocket has: its request cannot have it. */
export function withBrowserKey(authorization: string | undefined, key: unknown): string | undefined {
  const isIncomplete = authorization?.startsWith('Browser ') && !authorization.includes('~')
  return isIncomplete && typeof key === 'string' && isBrowserKey(key) ? `${authorization}~${key}` : authorization
}

/** Others may have set cookies of the same name: one of them fits the key, or none. */
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

/** A valid token has come on this connection: what is bounded for strangers, such as slow reading, is not bounded here. */
export function noteKnown(connection: object): void {
  announced.add(connection)
}

/** Whether a valid token has come on this connection. */
export function isKnown(connection: object): boolean {
  return announced.has(connection)
}

/**
 * The viewer of this token, or of a browser's credential; null if it is unknown, revoked or expired.
 * @throws RepriseError TOO_MANY_REQUESTS if it is, and too many with its prefix from its address were
 */
export type Authenticate = (token: string, address?: string) => Promise<Viewer | null>

/** How long a revoked token may still work, in exchange for no database lookup per request. */
const TRUST_MS = 3_000
/** Far more than there are tokens in use: an upper bound, not a working set. */
const CACHED_TOKENS_MAX = 10_000

/** Tokens that are looked up in one statement. */
const CROWD_STATEMENT_MAX = 1_000

/**
 * Looks each token up once in TRUST_MS. Only valid tokens are remembered, so that guessing cannot
 * push them out. Their use is recorded once a minute, without anybody waiting for it.
 *
 * Many users may share an address, so a valid token is never refused because of others. An address that has sent too
 * many unknown tokens only waits longer: its tokens are looked up together, in one statement at a time.
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

  const crowd = createCrowd((hashes) => readForServer(() => findValidHashes(db, hashes)))

  function failed(address: string, token: string): null {
    failures?.take(address)
    if (failures?.take(`${address} ${tokenPrefix(token)}`) === false) throw tooManyFailures()
    return null
  }

  async function lookUp(hash: Buffer, ofBrowser: boolean): Promise<Viewer | null> {
    const row = await findToken(db, hash)
    // The cookies of servers before this one were tokens by themselves.
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
    // One that was valid a moment ago is looked up by itself, whoever else is behind its address.
    if (!cached && failures?.allows(address) === false && !(await crowd.has(hash))) return failed(address, token)
    if (known.size >= CACHED_TOKENS_MAX) known.clear()
    // Other requests with this token wait for it, too.
    const viewer = readForServer(() => lookUp(hash, ofBrowser))
    known.set(key, { viewer, until: now() + TRUST_MS })
    const forget = () => known.get(key)?.viewer === viewer && known.delete(key)
    viewer.then((found) => found ?? forget(), forget)
    return (await viewer) ?? failed(address, token)
  }
}

/**
 * Looks up many hashes in one statement, and the next ones once it has answered. Each that waits is a request whose
 * connection is open, so their number needs no bound of its own.
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

/** Null if the token gives no access. */
export function viewerOf(row: TokenRow): Viewer | null {
  if (!isWellFormed(row)) return null
  const { id: tokenId, name, role, projectId, userId, resourceGroups, sessionOf } = row
  return { tokenId, name, role, projectId, userId, resourceGroups, sessionOf }
}

/** Of those that read tenants' data, only administrators may have no project: null stands for all of them. */
function isWellFormed({ role, projectId }: TokenRow): boolean {
  return projectId !== null || role === 'ADMIN' || role === 'AGENT' || role === 'METRICS'
}
