import type { IncomingMessage, ServerResponse } from 'node:http'
import { RATE_RETRY_AFTER_SECONDS } from '../domain/limits.ts'
import { RepriseError } from '../domain/errors.ts'
import type { Logger } from '../observability/log.ts'
import { type Authenticate, browserAuthorization, identifyBearer } from '../services/access/authenticate.ts'
import { issueDownloadLink, issueLoginCode, logIn, logInByCode, logOut } from '../services/access/browser-session.ts'
import type { Rates } from '../services/access/admission.ts'
import { isBrowserKey, isToken, tokenPrefix } from '../services/access/tokens.ts'
import { outageOf } from '../services/database-outage.ts'
import type { ServiceContext, Viewer } from '../services/service-context.ts'
import { PROBLEM_TYPE, problemOf } from './problem.ts'

/** Name of the cookie over TLS. Sibling hosts and pages without TLS cannot set it; other TLS ports of the host can. */
const SECURE_COOKIE = '__Host-reprise_session'
const COOKIE = 'reprise_session'
/**
 * Attributes of the cookie. Scripts cannot read it, and other sites cannot send it; browsers send it to all ports of
 * the host.
 */
const ATTRIBUTES = 'Path=/; HttpOnly; SameSite=Strict'
/** Lifetime of the cookie: longer than that of a login session. */
const COOKIE_SECONDS = 7 * 24 * 3600

/** Header with the key that pages of this server keep in the storage of their origin and send only to it. */
const KEY_HEADER = 'x-reprise-browser-key'
/** Header that informs a page that the browser has the cookie of a login, but not its key. */
export const LOGIN_HEADER = 'X-Reprise-Login'

const SESSION_PATH = '/ui/session'
const CODE_PATH = '/ui/code'
const LINK_PATH = '/ui/link'

interface BrowserSessions {
  readonly paths: readonly string[]
  handle(request: IncomingMessage, response: ServerResponse, requestId: string): Promise<void>
  end(): void
}

interface Dependencies {
  db: ServiceContext['db']
  authenticate: Authenticate
  /** Limits the invalid codes from one address. */
  failures: Rates
  log: Logger
}

type Call = (request: IncomingMessage, requestId: string, dependencies: Dependencies) => Promise<Answered>

interface Answered {
  status: number
  headers?: Record<string, string | string[]>
  body?: object
}

const CALLS: Readonly<Record<string, Call>> = {
  [`POST ${SESSION_PATH}`]: async (request, requestId, dependencies) => {
    const secret = await openSession(request, requestId, dependencies)
    return { status: 204, headers: { 'Set-Cookie': cookiesFor(request, secret) } }
  },
  [`DELETE ${SESSION_PATH}`]: async (request, requestId, dependencies) => {
    await logOut(dependencies.db, await viewerOf(request, requestId, dependencies))
    return { status: 204, headers: { 'Set-Cookie': cookiesFor(request, null) } }
  },
  [`POST ${CODE_PATH}`]: async (request, requestId, dependencies) => {
    const code = await issueLoginCode(dependencies.db, await viewerOf(request, requestId, dependencies))
    return { status: 200, body: { code } }
  },
  [`POST ${LINK_PATH}`]: async (request, requestId, dependencies) => {
    const path = new URL(request.url!, 'http://localhost').searchParams.get('to') ?? ''
    const code = await issueDownloadLink(dependencies.db, await viewerOf(request, requestId, dependencies), path)
    return { status: 200, body: { link: `${path}${path.includes('?') ? '&' : '?'}link=${code}` } }
  },
}

/**
 * Serves the login and logout of browsers, login codes for programs, and download links for pages. Browsers log in with
 * a token (`Bearer`) or with a login code (`Code`) in `Authorization`, a header that pages of other sites cannot send.
 */
export function createBrowserSessions(dependencies: Dependencies): BrowserSessions {
  return {
    paths: [SESSION_PATH, CODE_PATH, LINK_PATH],
    async handle(request, response, requestId) {
      request.resume()
      response.setHeader('Cache-Control', 'no-store')
      try {
        const call = CALLS[`${request.method} ${request.url!.split('?', 1)[0]}`]
        if (!call) throw new RepriseError('METHOD_NOT_ALLOWED', `${request.method} is not for this path.`)
        const { status, headers, body } = await call(request, requestId, dependencies)
        response.writeHead(status, { ...headers, ...(body && { 'Content-Type': 'application/json' }) })
        response.end(body && JSON.stringify(body))
      } catch (thrown) {
        refuse(response, requestId, outageOf(thrown) ?? thrown, dependencies.log)
      }
    },
    end() {},
  }
}

/**
 * Converts the cookie and the page's key into an `Authorization` header, if a page of this server sent the request.
 * This is checked by `Sec-Fetch-Site`, which scripts cannot set, or by `Origin` if the browser does not send it. An
 * existing `Authorization` is kept.
 * @returns incomplete if the cookie came without a key; the cookie is then ignored
 */
export function takeSessionCookie(request: IncomingMessage): 'incomplete' | undefined {
  const { headers } = request
  if (headers.authorization !== undefined || !headers.cookie?.includes(COOKIE) || !isSameOrigin(request)) return
  const secrets = sessionSecrets(headers.cookie)
  if (secrets.length === 0) return
  const key = keyOf(request)
  headers.authorization = browserAuthorization(secrets, key)
  request.rawHeaders.push('Authorization', headers.authorization)
  return key === undefined ? 'incomplete' : undefined
}

/**
 * Returns the secrets of all cookies with our names, the most likely first. Programs on other ports of the host can set
 * cookies of the same names, and browsers send cookies with longer paths before ours; the page's key does not match
 * those.
 */
function sessionSecrets(header: string): string[] {
  const values = (wanted: string) =>
    header.split(';').flatMap((pair) => {
      const [name, value = ''] = pair.trim().split('=', 2)
      return name === wanted && isToken(value) ? [value] : []
    })
  return [...values(COOKIE), ...values(SECURE_COOKIE)].toReversed()
}

function keyOf({ headers }: IncomingMessage): string | undefined {
  const key = headers[KEY_HEADER]
  return typeof key === 'string' && isBrowserKey(key) ? key : undefined
}

/** Sets the cookie and removes the one of the other name, which an earlier login may have left. Null logs out. */
function cookiesFor(request: IncomingMessage, secret: string | null): string[] {
  const isOverTls = isSecure(request)
  const cookie = (name: string, value: string | null) =>
    `${name}=${value ?? ''}; ${ATTRIBUTES}; Max-Age=${value === null ? 0 : COOKIE_SECONDS}`
  const plain = cookie(COOKIE, isOverTls ? null : secret)
  return isOverTls ? [`${cookie(SECURE_COOKIE, secret)}; Secure`, plain] : [plain]
}

function isSameOrigin({ headers }: IncomingMessage): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin'
  return headers.origin !== undefined && URL.parse(headers.origin)?.host === headers.host?.toLowerCase()
}

async function viewerOf(request: IncomingMessage, requestId: string, { authenticate }: Dependencies): Promise<Viewer> {
  const address = request.socket.remoteAddress
  const { viewer } = await identifyBearer(authenticate, request.headers.authorization, address)
  return { ...viewer, request: { id: requestId, address: address ?? null } }
}

async function openSession(request: IncomingMessage, requestId: string, dependencies: Dependencies): Promise<string> {
  const { db, failures } = dependencies
  const address = request.socket.remoteAddress ?? ''
  const code = /^Code +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1]
  if (code === undefined) {
    const viewer = await viewerOf(request, requestId, dependencies)
    return logIn(db, viewer, { key: newKeyOf(request), request: viewer.request! })
  }
  const key = newKeyOf(request)
  // Users behind one address are counted separately, by the prefix of their code.
  const party = `${address} ${tokenPrefix(code)}`
  if (!failures.allows(party)) {
    throw new RepriseError('TOO_MANY_REQUESTS', 'Too many unknown codes from this address. Try again in a moment.')
  }
  return logInByCode(db, code, { key, request: { id: requestId, address } }).catch((error: unknown) => {
    failures.take(party)
    throw error
  })
}

/** Reads the key that the page has created. @throws RepriseError MALFORMED_REQUEST */
function newKeyOf(request: IncomingMessage): string {
  const key = keyOf(request)
  if (key !== undefined) return key
  const message = `This page is of an earlier version: reload it, and log in again. (${KEY_HEADER} is missing: 32 random bytes in base64url.)`
  throw new RepriseError('MALFORMED_REQUEST', message)
}

/** Whether the browser uses TLS. `Origin` counts because a proxy may end TLS in front of this server. */
function isSecure({ socket, headers }: IncomingMessage): boolean {
  return 'encrypted' in socket || headers.origin?.startsWith('https:') === true
}

function refuse(response: ServerResponse, requestId: string, error: unknown, log: Logger): void {
  if (!(error instanceof RepriseError)) log.error({ err: error, requestId }, 'a request failed unexpectedly')
  const { status, body } = problemOf(error, requestId)
  response.writeHead(status, {
    'Content-Type': PROBLEM_TYPE,
    ...(status === 401 && { 'WWW-Authenticate': 'Bearer' }),
    ...(status === 429 && { 'Retry-After': String(RATE_RETRY_AFTER_SECONDS) }),
  })
  response.end(JSON.stringify(body))
}
