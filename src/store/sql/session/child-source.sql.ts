import type { SealedVariable } from '../../../domain/session/sealed-variable.ts'
import type { ClusterMode } from '../../../domain/session/statuses.ts'

/** What a child inherits from its parent, and the counters from which its own are derived. */
export interface ChildSource {
  projectId: string
  userId: string | null
  resourceGroup: string
  /** The creation id of the chain's first session. */
  rootCreationId: string
  name: string
  image: string | null
  command: string[]
  environ: { name: string; value: string }[]
  secretEnviron: SealedVariable[]
  resourceSlots: Record<string, string>
  clusterMode: ClusterMode
  clusterSize: number
  batchTimeout: number | null
  priority: number
  labels: Record<string, string>
  chainId: string
  attempt: number
  epoch: number
  epochStartedAt: Date
  retryCount: number
  uncountedRetries: number
  maxRetries: number
  retryPolicy: { maxRetries: number; emitRetryEvents?: boolean }
  retryPolicySources: Record<string, string>
  avoidAgents: string[]
  allowAgents: string[]
  excludeAgents: string[]
  agentLabels: Record<string, string>
  avoidGroups: string[]
  dependsOnChains: string[]
  traceParent: string | null
}

/** The columns of a ChildSource, from `sessions s` and the first session of its chain, `root`. */
export const CHILD_SOURCE_COLUMNS = `
  s.project_id AS "projectId", s.user_id AS "userId", s.resource_group AS "resourceGroup",
  root.creation_id AS "rootCreationId", s.name, s.image, s.command, s.environ,
  s.secret_environ AS "secretEnviron", s.resource_slots AS "resourceSlots",
  s.cluster_mode AS "clusterMode", s.cluster_size AS "clusterSize", s.batch_timeout AS "batchTimeout", s.priority,
  s.labels, s.chain_id AS "chainId", s.attempt, s.epoch, s.epoch_started_at AS "epochStartedAt",
  s.retry_count AS "retryCount", s.uncounted_retries AS "uncountedRetries", s.max_retries AS "maxRetries",
  s.retry_policy AS "retryPolicy", s.retry_policy_sources AS "retryPolicySources", s.avoid_agents AS "avoidAgents",
  s.allow_agents AS "allowAgents", s.exclude_agents AS "excludeAgents", s.agent_labels AS "agentLabels", s.avoid_groups AS "avoidGroups",
  s.trace_parent AS "traceParent",
  ARRAY(SELECT sd.chain_id FROM session_dependencies sd WHERE sd.session_id = s.id) AS "dependsOnChains"`

/**
 * Milliseconds until every kernel of `sessions s` is certain to be gone; 0 if all are. If an agent has not confirmed a
 * kernel's end, the kernel is certain to be gone once the agent must have stopped it under its own fencing rule:
 * `fence_after_ms` plus a margin after the agent was last heard.
 */
export function parentAliveMs(marginMs: `$${number}`): string {
  return `coalesce((SELECT greatest(0,
      max(ceil(extract(epoch FROM a.last_heard_at - now()) * 1000) + a.fence_after_ms + ${marginMs}))
    FROM kernels k JOIN agents a ON a.id = k.agent_id
    WHERE k.session_id = s.id AND NOT k.confirmed_gone), 0)::float8`
}
