import {
  DEPLOYMENT_TRANSITIONS,
  type DeploymentDeclaration,
  type DeploymentResult,
  type Finding,
  judgeDeclared,
  ROUTE_TRANSITIONS,
  type RouteDeclaration,
  type RouteResult,
} from '../../domain/deployment/lifecycle.ts'
import { startBackoffMs } from '../../domain/deployment/plan-replicas.ts'
import { LASTING_HEALTH_MS } from '../../domain/limits.ts'
import type { WakeTopic } from '../../domain/wake.ts'
import type { Logger } from '../../observability/log.ts'
import type { Queryable } from '../../store/database.ts'
import {
  applyDeploymentMoves,
  applyRouteMoves,
  type DeploymentMove,
  type MovedRoute,
  type RouteMove,
} from '../../store/sql/deployment/apply-deployment-moves.sql.ts'
import type { ClaimedDeployment, ClaimedRoute } from '../../store/sql/deployment/claim-deployments.sql.ts'
import { lockFailureCounts, recordFailures } from '../../store/sql/deployment/routes.sql.ts'
import { type Batch, describeMove, type EntityKind, type Handler, type Move } from '../coordinator.ts'

/** The findings of a deployment handler, and the topics to wake for its writes. */
export interface DeploymentFindings {
  findings: Finding<DeploymentResult>[]
  wakes?: readonly WakeTopic[]
}

export type DeploymentHandler = Handler<ClaimedDeployment, DeploymentDeclaration, DeploymentFindings>

/** Deployments are judged without tries or timeouts: each result leads to its declared status. */
export const DEPLOYMENTS: EntityKind<ClaimedDeployment, DeploymentDeclaration, DeploymentFindings, DeploymentMove> = {
  judge: (declaration, deployments, { findings }) =>
    judgeDeclared(declaration, DEPLOYMENT_TRANSITIONS, deployments, findings),
  apply: applyDeploymentMoves,
  topicsToWake: (moves, { wakes = [] }) => [...wakes, ...(hasMoved(moves) ? (['events'] as const) : [])],
  report: ({ log }, handler, batch) => reportDeclared(log, handler, batch, ({ id }) => ({ deploymentId: id })),
}

/** A finding about a route may include where it serves, or that discovery should list it. */
export type RouteFinding = Finding<RouteResult> & Pick<RouteMove, 'endpoint' | 'publish'>

export interface RouteFindings {
  findings: RouteFinding[]
  wakes?: readonly WakeTopic[]
}

export type RouteHandler = Handler<ClaimedRoute, RouteDeclaration, RouteFindings>

/** Routes are judged like deployments. A route that fails before it has served for long delays the next routes. */
export const ROUTES: EntityKind<ClaimedRoute, RouteDeclaration, RouteFindings, RouteMove> = {
  judge(declaration, routes, { findings }) {
    const byId = new Map(findings.map((finding) => [finding.id, finding]))
    return judgeDeclared(declaration, ROUTE_TRANSITIONS, routes, findings).map((move): RouteMove => {
      const { endpoint, publish } = byId.get(move.id)!
      return { ...move, ...(endpoint && { endpoint }), ...(publish && { publish }) }
    })
  },
  async apply(tx, handler, moves) {
    await countFailedStarts(tx, await applyRouteMoves(tx, handler, moves, LASTING_HEALTH_MS))
  },
  topicsToWake(moves, { wakes = [] }) {
    const topics = new Set<WakeTopic>(wakes)
    for (const { from, to, publish } of moves) {
      if (from === 'HEALTHY' && to !== from) topics.add('sync-discovery')
      if (publish) topics.add('sync-discovery')
      if (to !== from) topics.add('events').add('drive-deployments')
    }
    return [...topics]
  },
  report({ log }, handler, batch) {
    reportDeclared(log, handler, batch, ({ id, deploymentId, sessionId }) => ({ deploymentId, routeId: id, sessionId }))
  },
}

function hasMoved(moves: readonly Move[]): boolean {
  return moves.some(({ from, to }) => from !== to)
}

/** Logs one line per outcome, at info if the entity moved. */
function reportDeclared<Item extends { id: string }>(
  log: Logger,
  handler: string,
  { claimed, moves }: Batch<Item, Move & { outcome: string; message: string | null }>,
  idsOf: (item: Item) => Record<string, string>,
): void {
  const items = new Map(claimed.map((item) => [item.id, item]))
  for (const move of moves) {
    const level = move.from === move.to ? 'debug' : 'info'
    if (!log.isLevelEnabled(level)) continue
    log[level]({ handler, ...idsOf(items.get(move.id)!), outcome: move.outcome }, describeMove(handler, move))
  }
}

/**
 * Routes that failed to start, or ended before they had served for long, delay the next routes of their deployment, by
 * more with each consecutive failure. Failures of routes that were begun together count as one.
 */
async function countFailedStarts(tx: Queryable, moved: readonly MovedRoute[]): Promise<void> {
  const failed = moved.filter(hasFailed)
  if (failed.length === 0) return
  const byDeployment = Map.groupBy(failed, ({ deploymentId }) => deploymentId)
  const counts = await lockFailureCounts(tx, [...byDeployment.keys()])
  const counted = counts.flatMap(({ id, revision, failures, failedAt }) => {
    const fresh = byDeployment
      .get(id)!
      .find((route) => route.revision === revision && (failedAt === null || route.createdAt > failedAt))
    return fresh ? [{ id, delayMs: startBackoffMs(failures + 1, fresh.sessionId) }] : []
  })
  if (counted.length > 0) await recordFailures(tx, counted)
}

/** A failed start counts when it fails, and not again when the route terminates. */
function hasFailed({ from, to, lasted }: MovedRoute): boolean {
  if (to === 'FAILED_TO_START') return true
  return to === 'TERMINATING' && from !== 'FAILED_TO_START' && !lasted
}
