import { ROUTE_HANDLERS } from '../../domain/deployment/handlers.ts'
import { isTerminal } from '../../domain/session/statuses.ts'
import type { ClaimedRoute } from '../../store/sql/deployment/claim-routes.sql.ts'
import type { RouteFinding } from './deployment-kinds.ts'
import { handleRoutes } from './handle-routes.ts'

/** PROVISIONING → DEGRADED as soon as its session runs with a port; → FAILED_TO_START if it will not. */
export const provisioningRoute = handleRoutes(ROUTE_HANDLERS['provisioning-route'], {
  wakes: ['drive-routes', 'check-route-health'],
  find: (route): RouteFinding => {
    const { id, host, port, firstCheckInMs, sessionStatus } = route
    if (sessionStatus === 'RUNNING' && host !== null && port !== null) {
      return { id, result: 'SUCCESS', message: 'it has not been checked yet', endpoint: { host, port, firstCheckInMs } }
    }
    return { id, result: 'FAILURE', message: explainShortage(route) }
  },
})

function explainShortage({ sessionStatus, sessionReason, startTimeoutMs, port }: ClaimedRoute): string {
  const reason = sessionReason === null ? '' : `: ${sessionReason}`
  if (isTerminal(sessionStatus) || sessionStatus === 'TERMINATING') return `its session ended before it served${reason}`
  if (sessionStatus === 'RUNNING' && port === null) return 'its agent has told no port for it'
  return `its session is ${sessionStatus} after ${startTimeoutMs / 1000} s${reason}`
}
