import type { IncomingMessage, ServerResponse } from 'node:http'
import { getRequestListener, RequestError } from '@hono/node-server'
import { OpenAPIHono } from '@hono/zod-openapi'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { RepriseError } from '../domain/errors.ts'
import { databaseUnavailable, isDatabaseOutage } from '../services/database-outage.ts'
import type { Authenticate } from '../services/authenticate.ts'
import { authenticated } from './authenticated.ts'
import { entityTag } from './entity-tag.ts'
import { OPENAPI_INFO, registerComponents } from './openapi.ts'
import { refuseParameters } from './refuse-parameters.ts'
import { problemOf, PROBLEM_TYPE } from './resources/problem.ts'
import type { ReadContext } from '../services/read-sessions.ts'
import type { RestApp, RestEnvironment } from './rest-app.ts'
import { serveCreateDeployment } from './routes/create-deployment.route.ts'
import { serveCreateSession } from './routes/create-session.route.ts'
import { serveDestroyDeployment } from './routes/destroy-deployment.route.ts'
import { serveDiscoverForPrometheus } from './routes/discover-for-prometheus.route.ts'
import { serveDiscoverForTraefik } from './routes/discover-for-traefik.route.ts'
import { serveGetDeployment } from './routes/get-deployment.route.ts'
import { serveGetSession } from './routes/get-session.route.ts'
import { serveListAttempts } from './routes/list-attempts.route.ts'
import { serveListDeployments } from './routes/list-deployments.route.ts'
import { serveListEndpoints } from './routes/list-endpoints.route.ts'
import { serveListSessions } from './routes/list-sessions.route.ts'
import { serveScaleDeployment } from './routes/scale-deployment.route.ts'
import { serveTerminateSession } from './routes/terminate-session.route.ts'
import { serveUpdateDeployment } from './routes/update-deployment.route.ts'

export const REST_PREFIX = '/v2/'
export const OPENAPI_PATH = '/v2/openapi.json'

export interface RestDependencies extends Omit<ReadContext, 'viewer'> {
  authenticate: Authenticate
}

export interface Rest {
  /** `response` has its `X-Request-Id` already. */
  handle(request: IncomingMessage, response: ServerResponse): Promise<void>
}

/** The services as JSON over HTTP, for those who do not speak GraphQL. */
export function createRest(dependencies: RestDependencies): Rest {
  const app = restApp(dependencies)
  return {
    async handle(request, response) {
      // One for each request: what cannot be made a Request of, by its Host or its path, never comes to the app.
      const listener = getRequestListener(app.fetch, {
        overrideGlobalObjects: false,
        errorHandler: (error) => refuseRequest(error as Error, requestIdOf(response)),
      })
      await listener(request, response)
    },
  }
}

function requestIdOf(response: Pick<ServerResponse, 'getHeader'>): string {
  return String(response.getHeader('X-Request-Id'))
}

function restApp({ authenticate, ...base }: RestDependencies): RestApp {
  const app: RestApp = new OpenAPIHono<RestEnvironment>({ defaultHook: refuseParameters })
  app.use(async (c, next) => {
    c.set('requestId', requestIdOf(c.env.outgoing))
    await next()
  })
  app.use(entityTag)
  registerComponents(app)
  app.get(OPENAPI_PATH, (c) => c.json(app.getOpenAPI31Document(OPENAPI_INFO)))
  app.use('/v2/*', authenticated(authenticate, base))
  for (const serve of [
    serveListSessions,
    serveCreateSession,
    serveGetSession,
    serveListAttempts,
    serveTerminateSession,
    serveListDeployments,
    serveCreateDeployment,
    serveGetDeployment,
    serveUpdateDeployment,
    serveScaleDeployment,
    serveDestroyDeployment,
    serveListEndpoints,
    serveDiscoverForPrometheus,
    serveDiscoverForTraefik,
  ]) {
    serve(app)
  }
  app.notFound((c) => {
    const allowed = methodsOf(app, c.req.path)
    if (allowed.length > 0) c.header('Allow', allowed.join(', '))
    throw allowed.length > 0
      ? new RepriseError('METHOD_NOT_ALLOWED', `${c.req.path} answers to ${allowed.join(', ')}.`)
      : new RepriseError('NO_SUCH_PATH', `There is nothing at ${c.req.path}; ${OPENAPI_PATH} lists what there is.`)
  })
  app.onError((thrown, c) => {
    const requestId = c.get('requestId')
    const error = asOurs(thrown)
    if (!(error instanceof RepriseError))
      base.log.error({ err: error, requestId, path: c.req.path }, 'a request met a fault')
    if (thrown !== error && isDatabaseOutage(thrown)) {
      base.log.warn({ requestId, path: c.req.path, reason: String(thrown) }, 'a request found the database away')
      c.header('Retry-After', '1')
    }
    const { status, body } = problemOf(error, requestId)
    if (status === 401) c.header('WWW-Authenticate', 'Bearer')
    return c.body(JSON.stringify(body), status as ContentfulStatusCode, {
      'Content-Type': PROBLEM_TYPE,
      'Cache-Control': 'no-store',
    })
  })
  return app
}

/** What never comes to the app. */
function refuseRequest(error: Error, requestId: string): Response {
  const { status, body } = problemOf(asOurs(error), requestId)
  return new Response(JSON.stringify(body), { status, headers: { 'Content-Type': PROBLEM_TYPE } })
}

/** What the library says of a request that it cannot read, and that the database is away. */
function asOurs(error: Error): Error {
  if (isDatabaseOutage(error)) return databaseUnavailable()
  return error instanceof RequestError ? new RepriseError('MALFORMED_REQUEST', error.message) : error
}

function methodsOf(app: RestApp, path: string): string[] {
  const served = app.openAPIRegistry.definitions.flatMap((definition) =>
    definition.type === 'route' ? [definition.route] : [],
  )
  const fitting = served.filter((route) => new RegExp(`^${route.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path))
  return fitting.map(({ method }) => method.toUpperCase()).toSorted()
}
