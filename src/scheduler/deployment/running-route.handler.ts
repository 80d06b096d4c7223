import { ROUTE_HANDLERS } from '../../domain/deployment/handlers.ts'
import type { ClaimedRoute } from '../../store/sql/deployment/claim-routes.sql.ts'
import { handleRoutes } from './handle-routes.ts'

/** → TERMINATING if its session no longer runs, never started, or was not healthy in time. */
export const runningRoute = handleRoutes(ROUTE_HANDLERS['running-route'], {
  wakes: ['drive-routes'],
  find: (route) => ({ id: route.id, result: 'FAILURE', message: whyOver(route) }),
})

function whyOver({ status, statusReason, sessionStatus, sessionReason, startTimeoutMs, lastCheckFault }: ClaimedRoute) {
  if (status === 'FAILED_TO_START') return statusReason
  if (sessionStatus !== 'RUNNING') {
    return sessionReason === null ? `its session is ${sessionStatus}` : `its session ended: ${sessionReason}`
  }
  const found = lastCheckFault === null ? '' : `: ${lastCheckFault}`
  return `it was not healthy within ${startTimeoutMs / 1000} s${found}`
}
