import { ROUTE_HANDLERS } from '../../domain/deployment/handlers.ts'
import { isTerminal } from '../../domain/session/statuses.ts'
import { terminateRouteSessions } from '../../store/sql/session/terminate-session.sql.ts'
import { handleRoutes } from './handle-routes.ts'

/**
 * TERMINATING → TERMINATED when its session is over. Discovery no longer lists a TERMINATING route; its session is
 * terminated only after clients have had time to notice.
 */
export const terminatingRoute = handleRoutes(ROUTE_HANDLERS['terminating-route'], {
  wakes: ['drive-deployments'],
  find: ({ id, sessionStatus, statusReason }) =>
    isTerminal(sessionStatus) ? { id, result: 'SUCCESS', message: statusReason } : undefined,
  async also(tx, routes) {
    const toEnd = routes.filter(({ sessionStatus }) => !isTerminal(sessionStatus))
    await terminateRouteSessions(
      tx,
      toEnd.map(({ sessionId }) => sessionId),
    )
    return toEnd.length === 0 ? [] : ['terminate-sessions', 'promote-to-terminated', 'drive-routes', 'events']
  },
})
