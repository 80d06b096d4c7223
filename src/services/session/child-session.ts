import { v7 as uuidv7 } from 'uuid'
import type { ChildSource } from '../../store/sql/session/child-source.sql.ts'
import type { NewSession } from '../../store/sql/session/insert-sessions.sql.ts'

/** A child's own values, in addition to those that may differ from its parent's. */
type Own = Pick<
  NewSession,
  | 'parentSessionId'
  | 'creationId'
  | 'attempt'
  | 'epoch'
  | 'epochStartedAt'
  | 'origin'
  | 'retryCount'
  | 'uncountedRetries'
  | 'retryCause'
>

/** The next session of a chain: fields missing in `own` are its parent's. */
export function childSession(parent: ChildSource, own: Own & Partial<NewSession>): NewSession {
  return {
    id: uuidv7(),
    creationDigest: null,
    projectId: parent.projectId,
    userId: parent.userId,
    resourceGroup: parent.resourceGroup,
    name: parent.name,
    sessionType: 'BATCH',
    image: parent.image,
    command: parent.command,
    environ: parent.environ,
    secretEnviron: parent.secretEnviron,
    resourceSlots: parent.resourceSlots,
    clusterMode: parent.clusterMode,
    kernelIds: Array.from({ length: parent.clusterSize }, () => uuidv7()),
    batchTimeout: parent.batchTimeout,
    startsAt: null,
    priority: parent.priority,
    labels: parent.labels,
    dependsOnChains: parent.dependsOnChains,
    chainId: parent.chainId,
    retryPolicy: parent.retryPolicy,
    retryPolicySources: parent.retryPolicySources,
    avoidAgents: parent.avoidAgents,
    allowAgents: parent.allowAgents,
    excludeAgents: parent.excludeAgents,
    agentLabels: parent.agentLabels,
    avoidGroups: parent.avoidGroups,
    traceParent: parent.traceParent,
    portVariable: null,
    ...own,
  }
}
