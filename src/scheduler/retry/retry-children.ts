import { deriveChild } from '../../domain/retry/child.ts'
import { chooseGroup, type GroupAgent } from '../../domain/retry/choose-group.ts'
import type { StoredChildChanges } from '../../domain/retry/policy/stored-child-changes.ts'
import { childSession } from '../../services/session/child-session.ts'
import type { Queryable } from '../../store/database.ts'
import type { DueRetry } from '../../store/sql/retry/claim-due-retries.sql.ts'
import type { NewSession } from '../../store/sql/session/session-columns.sql.ts'
import { readAliveAgents } from '../../store/sql/agent/read-agents.sql.ts'

/** The children of failed sessions, by parent. */
export async function retryChildren(
  tx: Queryable,
  retries: readonly DueRetry[],
  changes: ReadonlyMap<string, StoredChildChanges>,
): Promise<Map<string, NewSession>> {
  const children = new Map(retries.map((retry) => [retry.sessionId, childOf(retry, changes.get(retry.sessionId)!)]))
  const movers = [...children.values()].filter(({ avoidGroups, resourceGroup }) => avoidGroups.includes(resourceGroup))
  const agents: GroupAgent[] = movers.length > 0 ? await readAliveAgents(tx) : []
  for (const child of movers) {
    child.resourceGroup = chooseGroup({ ...child, clusterSize: child.kernelIds.length }, agents)
  }
  return children
}

function childOf(retry: DueRetry, stored: StoredChildChanges): NewSession {
  const changes = { cause: retry.cause, counted: retry.counted, ...stored }
  const parent = { ...retry, id: retry.sessionId, chainCreationId: retry.rootCreationId }
  const derived = deriveChild(parent, changes)
  return childSession(retry, { ...derived, epochStartedAt: derived.epochStartedAt.toISOString() })
}
