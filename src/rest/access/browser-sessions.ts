import type { IncomingMessage, ServerResponse } from 'node:http'
import { RATE_RETRY_AFTER_SECONDS } from '../../domain/limits.ts'
import { RepriseError } from '../../domain/errors.ts'
import type { Logger } from '../../observability/log.ts'
import type { Authenticate } from '../../services/access/authenticate.ts'
import { identifyBearer } from '../../services/access/bearer-token.ts'
import { issueLoginCode, logIn, logInByCode, logOut } from '../../services/access/browser/browser-session.ts'
import type { Rates } from '../../services/access/rates.ts'
import { tokenPrefix } from '../../services/access/tokens.ts'
import { outageOf } from '../../services/database-outage.ts'
import type { ServiceContext, Viewer } from '../../services/service-context.ts'
import { problemOf, PROBLEM_TYPE } from '../resources/problem.ts'

/** Not readable for scripts, and never sent along by other sites. */
const COOKIE = 'reprise_session'
const ATTRIBUTES = 'Path=/; HttpOnly; SameSite=Strict'
/** A session ends before its cookie does. */
const COOKIE_SECONDS = 7 * 24 * 3600

const SESSION_PATH = '/ui/session'
const CODE_PATH = '/ui/code'

interface BrowserSessions {
  readonly paths: readonly string[]
  handle(request: IncomingMessage, response: ServerResponse, requestId: string): Promise<void>
  end(): void
}

interface Dependencies {
  db: ServiceContext['db']
  authenticate: Authenticate
  /** Of addresses that send codes which are not valid. */
  failures: Rates
  log: Logger
}

type Call = (request: IncomingMessage, requestId: string, dependencies: Dependencies) => Promise<Answered>

interface Answered {
  status: number
  headers?: Record<string, string>
  body?: object
}

const CALLS: Readonly<Record<string, Call>> = {
  [`POST ${SESSION_PATH}`]: async (request, requestId, dependencies) => {
    const secret = await openSession(request, requestId, dependencies)
    const secure = isSecure(request) ? '; Secure' : ''
    const cookie = `${COOKIE}=${secret}; ${ATTRIBUTES}; Max-Age=${COOKIE_SECONDS}${secure}`
    return { status: 204, headers: { 'Set-Cookie': cookie } }
  },
  [`DELETE ${SESSION_PATH}`]: async (request, requestId, dependencies) => {
    await logOut(dependencies.db, await viewerOf(request, requestId, dependencies))
    return { status: 204, headers: { 'Set-Cookie': `${COOKIE}=; ${ATTRIBUTES}; Max-Age=0` } }
  },
  [`POST ${CODE_PATH}`]: async (request, requestId, dependencies) => {
    const code = await issueLoginCode(dependencies.db, await viewerOf(request, requestId, dependencies))
    return { status: 200, body: { code } }
  },
}

/**
 * Where browsers log in and out, with a token (`Bearer`) or a code made with one (`Code`) in `Authorization`, which no
 * page of another site can send; and where programs get such codes.
 */
export function createBrowserSessions(dependencies: Dependencies): BrowserSessions {
  return {
    paths: [SESSION_PATH, CODE_PATH],
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
 * Gives a request the identity that its cookie stands for, if a page of this server has sent it: `Sec-Fetch-Site` says
 * so, which no script can set, or, where the browser does not send that, `Origin`. A request with an `Authorization` of
 * its own keeps it.
 */
export function takeSessionCookie(request: IncomingMessage): void {
  const { headers } = request
  if (headers.authorization !== undefined || !headers.cookie?.includes(COOKIE) || !isSameOrigin(request)) return
  const token = new RegExp(`(?:^|;)\\s*${COOKIE}=([\\w-]{1,64})\\s*(?:;|$)`).exec(headers.cookie)?.[1]
  if (token === undefined) return
  headers.authorization = `Bearer ${token}`
  request.rawHeaders.push('Authorization', headers.authorization)
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
    return logIn(db, viewer, viewer.request!)
  }
  // Many may share an address: the codes of others do not count.
  const party = `${address} ${tokenPrefix(code)}`
  if (!failures.allows(party)) {
    throw new RepriseError('TOO_MANY_REQUESTS', 'Too many unknown codes from this address. Try again in a moment.')
  }
  return logInByCode(db, code, { id: requestId, address }).catch((error: unknown) => {
    failures.take(party)
    throw error
  })
}

/** Behind a proxy the page knows better than this server how it was loaded. */
function isSecure({ socket, headers }: IncomingMessage): boolean {
  return 'encrypted' in socket || headers.origin?.startsWith('https:') === true
}

function refuse(response: ServerResponse, requestId: string, error: unknown, log: Logger): void {
  if (!(error instanceof RepriseError)) log.error({ err: error, requestId }, 'a request met a fault')
  const { status, body } = problemOf(error, requestId)
  response.writeHead(status, {
    'Content-Type': PROBLEM_TYPE,
    ...(status === 401 && { 'WWW-Authenticate': 'Bearer' }),
    ...(status === 429 && { 'Retry-After': String(RATE_RETRY_AFTER_SECONDS) }),
  })
  response.end(JSON.stringify(body))
}
