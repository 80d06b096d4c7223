import { newId } from '../../store/new-id.ts'
import { resolvePolicy, statedPolicy, statedSources } from '../../domain/retry/policy/resolve-policy.ts'
import { addSessions } from '../../services/session/create-sessions.ts'
import { refuseType } from '../../domain/session/session-spec.ts'
import type { Queryable } from '../../store/database.ts'
import type { ClaimedDeployment } from '../../store/sql/deployment/claim-deployments.sql.ts'
import { readGroupScopes } from '../../store/sql/session/creation-scope.sql.ts'
import { insertRoutes, type NewRoute } from '../../store/sql/deployment/routes.sql.ts'
import { FIRST_ATTEMPT, type NewSession } from '../../store/sql/session/session-columns.sql.ts'
import { readRevisionSpecs, type RevisionSpec } from '../../store/sql/deployment/revisions.sql.ts'

export interface RouteOrder {
  deployment: ClaimedDeployment
  /** Number of routes of the current revision to begin. */
  count: number
}

/** Routes are replaced, not retried. */
const NEVER_RETRIED = resolvePolicy([{ source: 'SESSION', policy: { maxRetries: 0 } }])

/**
 * Creates routes together with their sessions, in the caller's transaction: neither exists without the other. A session
 * that exceeds a quota, or that its resource group no longer accepts, is not created; `refused` has the reason, by
 * deployment.
 */
export async function beginRoutes(
  tx: Queryable,
  phase: string,
  orders: readonly RouteOrder[],
): Promise<{ begun: number; refused: Map<string, string> }> {
  const refused = new Map<string, string>()
  if (orders.length === 0) return { begun: 0, refused }
  const specs = await readRevisionSpecs(
    tx,
    orders.map(({ deployment }) => deployment.id),
  )
  const groups = await readGroupScopes(
    tx,
    [...specs.values()].map(({ resourceGroup }) => resourceGroup),
  )
  const planned = orders.flatMap(({ deployment, count }) => {
    const spec = specs.get(deployment.id)!
    const types = groups.get(spec.resourceGroup)
    const reason = types
      ? refuseType(spec.resourceGroup, types, 'INFERENCE')
      : `resource group ${spec.resourceGroup} is gone`
    if (reason === undefined) return Array.from({ length: count }, () => plan(deployment, spec))
    refused.set(deployment.id, reason)
    return []
  })
  const added = await addSessions(
    tx,
    planned.map(({ session }) => session),
    { actor: null, transact: (work) => work(tx) },
  )
  const begun = planned.filter(({ session }) => added.inserted.has(session.id)).map(({ route }) => route)
  await insertRoutes(tx, phase, begun)
  for (const { route } of planned) {
    const refusal = added.refused.get(route.sessionId)
    if (refusal) refused.set(route.deploymentId, refusal.message)
  }
  return { begun: begun.length, refused }
}

function plan(deployment: ClaimedDeployment, spec: RevisionSpec): { route: NewRoute; session: NewSession } {
  const [routeId, sessionId] = [newId(), newId()]
  const { deploymentId, ...runs } = spec
  return {
    route: { id: routeId, deploymentId, revision: deployment.revision, sessionId },
    session: {
      ...FIRST_ATTEMPT,
      ...runs,
      id: sessionId,
      projectId: deployment.projectId,
      userId: deployment.userId,
      creationId: `${deployment.id}:route:${routeId}`,
      name: deployment.name,
      sessionType: 'INFERENCE',
      kernelIds: [newId()],
      dependsOnChains: [],
      chainId: sessionId,
      retryPolicy: statedPolicy(NEVER_RETRIED.policy, NEVER_RETRIED.sources),
      retryPolicySources: statedSources(NEVER_RETRIED.sources),
    },
  }
}
