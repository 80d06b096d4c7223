import type { IncomingMessage, ServerResponse } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import { OpenAPIHono } from '@hono/zod-openapi'
import type { Admission } from '../services/access/admission.ts'
import type { Authenticate } from '../services/access/authenticate.ts'
import type { ReadContext } from '../services/session/read-sessions.ts'
import { createRefusalLog } from '../services/access/refusal-log.ts'
import { serveFollowKernelLog } from './agent/follow-kernel-log.route.ts'
import { serveListVolumes } from './agent/list-volumes.route.ts'
import { serveReadAgents } from './agent/read-agents.route.ts'
import type { CodeStore } from '../services/code/code-store.ts'
import { serveUploadCode } from './code/upload-code.route.ts'
import { serveReadChains } from './chain/read-chains.route.ts'
import { serveReadResubmissions } from './resubmission/read-resubmissions.route.ts'
import { serveResubmit } from './resubmission/resubmit.route.ts'
import { serveGetRetry } from './retry/get-retry.route.ts'
import { serveListKernels } from './session/list-kernels.route.ts'
import { serveGetKernelLog } from './agent/get-kernel-log.route.ts'
import { answerErrors, refuseRequest } from './answer-errors.ts'
import { authenticated } from './authenticated.ts'
import { entityTag } from './entity-tag.ts'
import { OPENAPI_INFO, OPENAPI_PATH, registerComponents } from './openapi.ts'
import { refuseParameters } from './refuse-parameters.ts'
import type { RestApp, RestEnvironment } from './rest-app.ts'
import { serveFollowEvents } from './event/follow-events.route.ts'
import type { StreamServices } from './event/send-events.ts'
import { serveChangeRetry } from './retry/change-retry.route.ts'
import { storableParameters } from './storable-parameters.ts'
import { serveCreateDeployment } from './deployment/create-deployment.route.ts'
import { serveCreateSession } from './session/create-session.route.ts'
import { serveDestroyDeployment } from './deployment/destroy-deployment.route.ts'
import { serveDiscoverForPrometheus } from './deployment/discover-for-prometheus.route.ts'
import { serveDiscoverForTraefik } from './deployment/discover-for-traefik.route.ts'
import { serveChangeSchedule } from './schedule/change-schedule.route.ts'
import { serveCreateSchedule } from './schedule/create-schedule.route.ts'
import { serveReadSchedules } from './schedule/read-schedules.route.ts'
import { serveGetDeployment } from './deployment/get-deployment.route.ts'
import { serveGetSession } from './session/get-session.route.ts'
import { serveListAttempts } from './session/list-attempts.route.ts'
import { serveListDeployments } from './deployment/list-deployments.route.ts'
import { serveListEndpoints } from './deployment/list-endpoints.route.ts'
import { serveListSessions } from './session/list-sessions.route.ts'
import { serveScaleDeployment } from './deployment/scale-deployment.route.ts'
import { serveTerminateSession } from './session/terminate-session.route.ts'
import { serveUpdateDeployment } from './deployment/update-deployment.route.ts'

export const REST_PREFIX = '/v2/'

export interface RestDependencies extends Omit<ReadContext, 'viewer'>, StreamServices {
  authenticate: Authenticate
  admission: Admission
  code: CodeStore
}

export interface Rest {
  /** All of them, with parameters as `{id}`. */
  readonly routes: readonly { method: string; path: string }[]
  /** The OpenAPI document, which is served at `OPENAPI_PATH` without a token. Making it takes some 20 ms. */
  document(): object
  /** `response` has its `X-Request-Id` already. */
  handle(request: IncomingMessage, response: ServerResponse): Promise<void>
}

/** The services as JSON over HTTP, for clients that do not use GraphQL. */
export function createRest(dependencies: RestDependencies): Rest {
  const app = restApp(dependencies)
  return {
    routes: routesOf(app),
    document: () => app.getOpenAPI31Document(OPENAPI_INFO),
    async handle(request, response) {
      // One listener per request: errors before the app, such as an invalid Host or path, also need the request id.
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
  for (const serve of [
    serveListSessions,
    serveCreateSession,
    serveGetSession,
    serveListAttempts,
    serveTerminateSession,
    serveChangeRetry,
    serveGetRetry,
    serveListKernels,
    serveReadChains,
    serveReadAgents,
    serveListVolumes,
    serveResubmit,
    serveReadResubmissions,
    serveGetKernelLog,
    serveListDeployments,
    serveCreateDeployment,
    serveGetDeployment,
    serveUpdateDeployment,
    serveScaleDeployment,
    serveDestroyDeployment,
    serveCreateSchedule,
    serveReadSchedules,
    serveChangeSchedule,
    serveListEndpoints,
    serveDiscoverForPrometheus,
    serveDiscoverForTraefik,
  ]) {
    serve(app)
  }
  for (const serve of [serveFollowEvents, serveFollowKernelLog, serveUploadCode]) serve(app, base)
  answerErrors(app, { log: base.log, refusals: createRefusalLog(base) })
  return app
}
