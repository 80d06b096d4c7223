import { v7 as uuidv7 } from 'uuid'
import { chooseGroup, type GroupAgent } from '../../domain/retry/choose-group.ts'
import { deriveChild, type ChildShape } from '../../domain/retry/child.ts'
import type { Queryable } from '../../store/database.ts'
import type { DueRetry } from '../../store/sql/claim-due-retries.sql.ts'
import type { NewSession } from '../../store/sql/insert-sessions.sql.ts'
import { readAliveAgents } from '../../store/sql/read-alive-agents.sql.ts'

/** The children of failed sessions, by parent. */
export async function retryChildren(tx: Queryable, retries: readonly DueRetry[]): Promise<Map<string, NewSession>> {
  const children = new Map(retries.map((retry) => [retry.sessionId, childOf(retry)]))
  const movers = [...children.values()].filter(({ avoidGroups, resourceGroup }) => avoidGroups.includes(resourceGroup))
  const agents: GroupAgent[] = movers.length > 0 ? await readAliveAgents(tx) : []
  for (const child of movers) {
    child.resourceGroup = chooseGroup({ ...child, clusterSize: child.kernelIds.length }, agents)
  }
  return children
}

function childOf(retry: DueRetry): NewSession {
  const shape = {
    cause: retry.cause,
    counted: retry.counted,
    ...(retry.details as Pick<ChildShape, 'growth' | 'avoid'>),
  }
  const parent = { ...retry, id: retry.sessionId, chainCreationId: retry.rootCreationId }
  const { epochStartedAt, ...derived } = deriveChild(parent, shape)
  return {
    id: uuidv7(),
    projectId: retry.projectId,
    userId: retry.userId,
    resourceGroup: retry.resourceGroup,
    name: retry.name,
    sessionType: 'BATCH',
    image: retry.image,
    command: retry.command,
    environ: retry.environ,
    clusterMode: retry.clusterMode,
    kernelIds: Array.from({ length: retry.clusterSize }, () => uuidv7()),
    startsAt: null,
    priority: retry.priority,
    labels: retry.labels,
    dependsOnChains: retry.dependsOnChains,
    retryPolicy: retry.retryPolicy,
    retryPolicySources: retry.retryPolicySources,
    allowAgents: retry.allowAgents,
    ...derived,
    epochStartedAt: epochStartedAt.toISOString(),
  }
}
