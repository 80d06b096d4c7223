import { GraphQLError } from 'graphql'
import type { Plugin } from 'graphql-yoga'
import { ERRORS, RepriseError } from '../../domain/errors.ts'
import type { Logger } from '../../observability/log.ts'
import { type Authenticate, identifyBearer } from '../../services/access/authenticate.ts'
import { mayRead, noAccess } from '../../services/access/authorize.ts'
import type { Viewer } from '../../services/service-context.ts'
import type { ServerContext } from '../context.ts'
import { presentFault, tooManyRequests } from '../error-presentation.ts'
import { NO_UUID } from '../ids.ts'
import { isSmallIntrospection } from './public-introspection.ts'
import { type Identity, requestIdOf, type WholeRequest } from './whole-request.ts'

/** Identity of requests without a token, which may only introspect the schema: it sees no data. */
const STRANGER: Identity = {
  viewer: { tokenId: NO_UUID, userId: null, name: 'stranger', role: 'VIEWER', projectId: NO_UUID },
  token: '',
}

/**
 * Identifies the caller by an `Authorization` header, or by `authorization` in the parameters of a WebSocket
 * connection.
 */
export async function identify(
  authenticate: Authenticate,
  authorization: unknown,
  { address, may = mayRead }: { address?: string | undefined; may?: (viewer: Viewer) => boolean } = {},
): Promise<Identity | GraphQLError> {
  try {
    const identity = await identifyBearer(authenticate, authorization, address)
    return may(identity.viewer) ? identity : refusal('FORBIDDEN', noAccess(identity.viewer))
  } catch (error) {
    if (!(error instanceof RepriseError)) throw error
    return error.code === 'UNAUTHENTICATED' ? refusal(error.code, error.message) : tooManyRequests(error)
  }
}

/**
 * Authenticates HTTP requests before their document is parsed or validated, so that requests without a token learn
 * nothing about the schema, except by introspection where that is public.
 */
export function useAuthentication(options: {
  authenticate: Authenticate
  identities: WeakMap<Request, Identity>
  introspectionForStrangers: boolean
  log: Logger
}): Plugin {
  const { authenticate, identities, introspectionForStrangers, log } = options
  return {
    async onParams({ request, params, setResult, context }) {
      try {
        const { identity: known } = request as Partial<WholeRequest>
        const identity =
          known ??
          (await identify(authenticate, request.headers.get('authorization'), {
            address: (context as ServerContext).address,
          }))
        if (!(identity instanceof GraphQLError)) identities.set(request, identity)
        else if (introspectionForStrangers && isSmallIntrospection(params.query)) identities.set(request, STRANGER)
        else setResult({ errors: [identity] })
      } catch (error) {
        setResult({ errors: [presentFault(error, { log, requestId: requestIdOf(request, context) })] })
      }
    },
  }
}

function refusal(code: 'UNAUTHENTICATED' | 'FORBIDDEN', message: string): GraphQLError {
  const headers = code === 'UNAUTHENTICATED' ? { 'WWW-Authenticate': 'Bearer' } : undefined
  return new GraphQLError(message, { extensions: { code, http: { status: ERRORS[code].httpStatus, headers } } })
}
