import type { IncomingMessage } from 'node:http'
import type { MiddlewareHandler } from 'hono'
import { RepriseError } from '../domain/errors.ts'
import type { Admission } from '../services/access/admission.ts'
import { type Authenticate, identifyBearer, noteKnown } from '../services/access/authenticate.ts'
import { mayDiscover, mayRead, noAccess } from '../services/access/authorize.ts'
import { followDownloadLink } from '../services/access/browser-session.ts'
import { readFor, readTogether } from '../services/consistent-reads.ts'
import type { ReadContext } from '../services/session/read-sessions.ts'
import type { Viewer } from '../services/service-context.ts'
import type { RestEnvironment } from './rest-app.ts'

const DISCOVERY_PREFIX = '/v2/discovery/'
/** Matches the code of a download link, at the end of the URL. */
const LINK = /[?&]link=([\w-]+)$/

/** Authenticates a request before anything else in it is checked. A GET reads from one state of the database. */
export function authenticated(
  { authenticate, admission }: { authenticate: Authenticate; admission: Admission },
  base: Omit<ReadContext, 'viewer'>,
): MiddlewareHandler<RestEnvironment> {
  return async (c, next) => {
    const { socket } = c.env.incoming
    const address = socket.remoteAddress
    const { viewer, stillAuthorized } = await identify(c.env.incoming, authenticate, base.db)
    noteKnown(socket)
    const allowed = c.req.path.startsWith(DISCOVERY_PREFIX) ? mayDiscover(viewer) : mayRead(viewer)
    if (!allowed) throw new RepriseError('FORBIDDEN', noAccess(viewer))
    const request = { id: c.get('requestId'), address: address ?? null }
    c.set('context', { ...base, viewer: { ...viewer, request }, log: base.log.child({ requestId: request.id }) })
    c.set('stillAuthorized', stillAuthorized)
    const giveTurnBack = await admission.enter(viewer)
    let hasTurn = true
    const leave = () => {
      if (hasTurn) giveTurnBack()
      hasTurn = false
    }
    c.set('leaveTurn', leave)
    const gone = new AbortController()
    const { outgoing } = c.env
    outgoing.once('close', () => gone.abort())
    c.set('gone', gone.signal)
    const party = viewer.tokenId
    try {
      if (c.req.method === 'GET') {
        await readFor({ party, signal: gone.signal }, () => readTogether(base.prisma, next))
      } else await readFor({ party, writes: true }, next)
    } finally {
      if (c.get('streams') && !outgoing.closed) outgoing.once('close', leave)
      else leave()
    }
  }
}

interface Caller {
  viewer: Viewer
  stillAuthorized: () => Promise<boolean>
}

/**
 * Identifies the caller by the code of a download link or by the token. A link needs the code, because a browser
 * follows it without the headers of its page.
 */
async function identify(
  { method, url, headers, socket }: IncomingMessage,
  authenticate: Authenticate,
  db: ReadContext['db'],
): Promise<Caller> {
  const link = method === 'GET' ? LINK.exec(url!) : null
  if (link) {
    const viewer = await followDownloadLink(db, link[1]!, url!.slice(0, link.index))
    return { viewer, stillAuthorized: async () => true }
  }
  const { viewer, token } = await identifyBearer(authenticate, headers.authorization, socket.remoteAddress)
  return { viewer, stillAuthorized: async () => (await authenticate(token)) !== null }
}
