import type { IncomingMessage, ServerResponse } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { OpenAPIHono } from '@hono/zod-openapi'
import type { Admission } from '../services/access/admission.ts'
import type { Authenticate } from '../services/access/authenticate.ts'
import type { ReadContext } from '../services/session/read-sessions.ts'
import { createRefusalLog } from '../services/access/audit.ts'
import { serveAdvice } from './advice.routes.ts'
import { serveInsight } from './insight.routes.ts'
import { serveKernels } from './kernel.routes.ts'
import { serveLogs } from './log.routes.ts'
import { serveAgents } from './agent.routes.ts'
import type { CodeStore } from '../services/code/code-store.ts'
import type { BlobStore } from '../services/blob/blob-store.ts'
import { serveOutputs } from './output.routes.ts'
import { serveCode } from './code.routes.ts'
import { serveChains } from './chain.routes.ts'
import { serveBulkActions } from './resubmission.routes.ts'
import { serveBulk } from './bulk.routes.ts'
import { serveWaits } from './wait.routes.ts'
import { serveGroups } from './group.routes.ts'
import { serveTokens } from './token.routes.ts'
import { serveWebhooks } from './webhook.routes.ts'
import { serveFigures } from './figures.routes.ts'
import { serveQuotas } from './quota.routes.ts'
import { serveRetries } from './retry.routes.ts'
import { answerErrors, refuseRequest } from './answer-errors.ts'
import { authenticated } from './authenticated.ts'
import { entityTag } from './entity-tag.ts'
import { OPENAPI_INFO, OPENAPI_PATH, registerComponents } from './openapi.ts'
import type { RestApp, RestEnvironment } from './rest-app.ts'
import { serveEvents } from './event.routes.ts'
import type { StreamServices } from './event-stream.ts'
import { serveDeployments } from './deployment.routes.ts'
import { serveSessions } from './session.routes.ts'
import { serveDiscovery } from './discovery.routes.ts'
import { serveSchedules } from './schedule.routes.ts'
import type { z } from 'zod'
import { RepriseError } from '../domain/errors.ts'
import type { MiddlewareHandler } from 'hono'
import { refuseUnstorable } from '../services/input/parse-input.ts'

export const REST_PREFIX = '/v2/'

export interface RestDependencies extends Omit<ReadContext, 'viewer'>, StreamServices {
  authenticate: Authenticate
  admission: Admission
  code: CodeStore
  blobs: BlobStore
}

export interface Rest {
  /** All routes, with parameters as `{id}`. */
  readonly routes: readonly { method: string; path: string }[]
  /** The OpenAPI document, which is served at `OPENAPI_PATH` without a token. Building it takes about 20 ms. */
  document(): object
  /** Serves a request. `response` must have its `X-Request-Id` header. */
  handle(request: IncomingMessage, response: ServerResponse): Promise<void>
}

/** Creates the API of JSON over HTTP, for clients that do not use GraphQL. */
export function createRest(dependencies: RestDependencies): Rest {
  const app = restApp(dependencies)
  return {
    routes: routesOf(app),
    document: () => app.getOpenAPI31Document(OPENAPI_INFO),
    async handle(request, response) {
      // Each request has its own listener: errors that occur before the app, such as an invalid Host, need the request
      // id, too.
      const listener = getRequestListener(app.fetch, {
        overrideGlobalObjects: false,
        errorHandler: (error) => refuseRequest(error as Error, requestIdOf(response)),
      })
      await listener(request, response)
    },
  }
}

function routesOf({ openAPIRegistry }: RestApp): { method: string; path: string }[] {
  const routes = openAPIRegistry.definitions.flatMap((definition) =>
    definition.type === 'route' ? [{ method: definition.route.method.toUpperCase(), path: definition.route.path }] : [],
  )
  return [{ method: 'GET', path: OPENAPI_PATH }, ...routes]
}

function requestIdOf(response: Pick<ServerResponse, 'getHeader'>): string {
  return String(response.getHeader('X-Request-Id'))
}

function restApp({ authenticate, admission, ...base }: RestDependencies): RestApp {
  const app: RestApp = new OpenAPIHono<RestEnvironment>({ defaultHook: refuseParameters })
  app.use(async (c, next) => {
    c.set('requestId', requestIdOf(c.env.outgoing))
    await next()
  })
  app.use(entityTag)
  registerComponents(app)
  app.use('/v2/*', authenticated({ authenticate, admission }, base))
  app.use('/v2/*', storableParameters)
  serveBulk(app)
  serveWaits(app, base)
  serveSessions(app)
  serveGroups(app, base)
  serveRetries(app)
  serveInsight(app)
  serveAdvice(app)
  serveKernels(app, base)
  serveLogs(app)
  serveChains(app)
  serveAgents(app)
  serveBulkActions(app)
  serveDeployments(app)
  serveSchedules(app)
  serveWebhooks(app)
  serveTokens(app)
  serveQuotas(app)
  serveFigures(app)
  serveDiscovery(app)
  serveEvents(app, base)
  serveCode(app, base)
  serveOutputs(app, base)
  answerErrors(app, { log: base.log, refusals: createRefusalLog(base) })
  return app
}

/** Refuses path and query parameters that do not match the OpenAPI document. @throws RepriseError */
function refuseParameters(result: { success: true } | { success: false; error: z.core.$ZodError }): void {
  if (result.success) return
  const issues = result.error.issues.map(({ path, message }) => ({ path: path.join('.'), message }))
  const detail = issues.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; ')
  throw new RepriseError('VALIDATION_FAILED', detail, issues)
}

/**
 * Refuses text that PostgreSQL cannot store. In a URL, only NUL (`%00`) is such text, because a URL cannot contain half
 * a surrogate pair.
 */
const storableParameters: MiddlewareHandler = async (c, next) => {
  refuseUnstorable(c.req.queries())
  await next()
}
