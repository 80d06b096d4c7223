import { RepriseError } from '../../domain/errors.ts'
import { SESSION_COOKIES_MAX } from '../../domain/limits.ts'
import type { Viewer } from '../service-context.ts'
import type { Authenticate } from './authenticate.ts'
import { browserCredential, isBrowserCredential, isBrowserKey } from './tokens.ts'

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

const known = new WeakSet()

/** A valid token has come on this connection: what is bounded for strangers, such as slow reading, is not bounded here. */
export function noteKnown(connection: object): void {
  known.add(connection)
}

/** Whether a valid token has come on this connection. */
export function isKnown(connection: object): boolean {
  return known.has(connection)
}
