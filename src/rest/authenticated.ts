import type { MiddlewareHandler } from 'hono'
import { RepriseError } from '../domain/errors.ts'
import type { Authenticate } from '../services/authenticate.ts'
import { mayRead } from '../services/authorize.ts'
import { bearerToken } from '../services/bearer-token.ts'
import type { ReadContext } from '../services/read-sessions.ts'
import type { RestEnvironment } from './rest-app.ts'

/** Authenticates a request before anything else in it is checked. */
export function authenticated(
  authenticate: Authenticate,
  base: Omit<ReadContext, 'viewer'>,
): MiddlewareHandler<RestEnvironment> {
  return async (c, next) => {
    const token = bearerToken(c.req.header('authorization'))
    const viewer = token === undefined ? null : await authenticate(token)
    if (!viewer) throw new RepriseError('UNAUTHENTICATED', 'A valid token is needed: `Authorization: Bearer …`.')
    if (!mayRead(viewer))
      throw new RepriseError('FORBIDDEN', `The token "${viewer.name}" is an agent's; it has no access here.`)
    c.set('context', { ...base, viewer, log: base.log.child({ requestId: c.get('requestId') }) })
    await next()
  }
}
