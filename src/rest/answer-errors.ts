import { RequestError } from '@hono/node-server'
import type { HonoRequest } from 'hono'
import { routePath } from 'hono/route'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { RepriseError } from '../domain/errors.ts'
import { RATE_RETRY_AFTER_SECONDS } from '../domain/limits.ts'
import type { Logger } from '../observability/log.ts'
import type { RefusalLog } from '../services/access/audit.ts'
import { listIssues } from '../services/input/parse-input.ts'
import { outageOf, refusalOf, tookTooLong, wasCancelled } from '../services/database-outage.ts'
import { OPENAPI_PATH } from './openapi.ts'
import { PROBLEM_TYPE, problemOf } from './problem.ts'
import type { RestApp } from './rest-app.ts'

/** Responds to every error, and to every request that no route serves, with a problem document. */
export function answerErrors(app: RestApp, { log, refusals }: { log: Logger; refusals: RefusalLog }): void {
  app.notFound((c) => {
    const allowed = methodsOf(app, c.req.path)
    if (allowed.length > 0) c.header('Allow', allowed.join(', '))
    throw allowed.length > 0
      ? new RepriseError('METHOD_NOT_ALLOWED', `${c.req.path} answers to ${allowed.join(', ')}.`)
      : new RepriseError('NO_SUCH_PATH', `Nothing is served at ${c.req.path}; ${OPENAPI_PATH} lists all paths.`)
  })
  app.onError((thrown, c) => {
    const requestId = c.get('requestId')
    const error = underParameters(toRepriseError(thrown), c.req)
    const viewer = c.get('context')?.viewer
    if (viewer && c.req.method !== 'GET' && c.req.method !== 'HEAD' && error instanceof RepriseError)
      refusals.note(viewer, {
        operation: `${c.req.method} ${routePath(c)}`,
        code: error.code,
        message: error.message,
      })
    if (!(error instanceof RepriseError))
      log.error({ err: error, requestId, path: c.req.path }, 'a request failed unexpectedly')
    const outage = !(thrown instanceof RepriseError) && error instanceof RepriseError ? error.code : null
    if (outage === 'SERVER_DISK_FULL') log.error({ err: thrown, requestId, path: c.req.path }, 'a disk is full')
    if (outage === 'DATABASE_UNAVAILABLE' || outage === 'TOO_MANY_REQUESTS') {
      log.warn(
        { requestId, path: c.req.path, reason: String(thrown) },
        `a request failed because of an outage: ${outage}`,
      )
      c.header('Retry-After', '1')
    }
    const { status, body } = problemOf(error, requestId)
    if (error instanceof RepriseError && error.code === 'TOO_MANY_REQUESTS')
      c.header('Retry-After', String(RATE_RETRY_AFTER_SECONDS))
    if (status === 401) c.header('WWW-Authenticate', 'Bearer')
    return c.body(JSON.stringify(body), status as ContentfulStatusCode, {
      'Content-Type': PROBLEM_TYPE,
      'Cache-Control': 'no-store',
    })
  })
}

/**
 * Renames the arguments of the services to the parameters of a list: the fields of a filter are parameters, and the
 * cursor after which a page begins is `cursor`.
 */
function underParameters(error: Error, request: Pick<HonoRequest, 'method' | 'query'>): Error {
  if (request.method !== 'GET' || !(error instanceof RepriseError) || error.issues.length === 0) return error
  const hasCursor = request.query('cursor') !== undefined
  const rename = (text: string) =>
    hasCursor ? text.replace(/^after$|`after`/, (name) => name.replace('after', 'cursor')) : text
  const issues = error.issues.map(({ path, message }) => ({
    path: rename(path.replace(/^filter\./, '')),
    message: rename(message),
  }))
  const isList = error.message === listIssues(error.issues)
  return new RepriseError(error.code, isList ? listIssues(issues) : rename(error.message), issues, error.inTheWay)
}

/** Responds to a request that cannot be turned into a `Request`, because its Host or its path is invalid. */
export function refuseRequest(error: Error, requestId: string): Response {
  const { status, body } = problemOf(toRepriseError(error), requestId)
  return new Response(JSON.stringify(body), { status, headers: { 'Content-Type': PROBLEM_TYPE } })
}

/** Converts an unreadable request and a database outage to an error with a code; other errors stay as they are. */
export function toRepriseError(error: Error): Error {
  const outage = outageOf(error)
  if (outage !== null) return outage
  if (wasCancelled(error)) return tookTooLong()
  return error instanceof RequestError
    ? new RepriseError('MALFORMED_REQUEST', error.message)
    : (refusalOf(error) ?? error)
}

function methodsOf(app: RestApp, path: string): string[] {
  const served = app.openAPIRegistry.definitions.flatMap((definition) =>
    definition.type === 'route' ? [definition.route] : [],
  )
  const matching = served.filter((route) => new RegExp(`^${route.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path))
  return matching.map(({ method }) => method.toUpperCase()).toSorted()
}
