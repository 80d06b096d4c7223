import { v7 as uuidv7 } from 'uuid'
import { RepriseError } from '../../domain/errors.ts'
import { parseRetryPolicy } from '../../domain/retry/policy/parse-policy.ts'
import type { RetryPolicy } from '../../domain/retry/policy/policy.ts'
import { resolvePolicy, statedSources } from '../../domain/retry/policy/resolve-policy.ts'
import type { SessionType } from '../../domain/session/statuses.ts'
import { currentSpan } from '../../observability/trace.ts'
import { readGroupTypes, readProjectScopes, type ProjectScope } from '../../store/sql/session/creation-scope.sql.ts'
import { readChainIds } from '../../store/sql/chain/read-chain-ids.sql.ts'
import type { NewSession } from '../../store/sql/session/insert-sessions.sql.ts'
import { creationDigest } from './creation-digest.ts'
import type { ParsedCreateSession } from './create-session-input.ts'
import { sealEnviron } from './secret-environ.ts'
import type { ServiceContext } from '../service-context.ts'

/** What inputs refer to, as far as it exists and the viewer sees it. */
export interface PlanScope {
  projects: Map<string, ProjectScope>
  groups: Map<string, SessionType[]>
  chains: Map<string, string>
}

export async function readPlanScope(
  { db, viewer }: ServiceContext,
  values: readonly ParsedCreateSession[],
): Promise<PlanScope> {
  const [projects, groups, chains] = await Promise.all([
    readProjectScopes(
      db,
      distinct(values, ({ project }) => [project]),
      viewer.projectId,
    ),
    readGroupTypes(
      db,
      distinct(values, ({ resourceGroup }) => [resourceGroup]),
    ),
    readChainIds(
      db,
      distinct(values, ({ dependsOn }) => dependsOn),
      viewer.projectId,
    ),
  ])
  return { projects, groups, chains }
}

function distinct(values: readonly ParsedCreateSession[], of: (value: ParsedCreateSession) => string[]): string[] {
  return [...new Set(values.flatMap(of))]
}

/** The session that an input asks for, with its resolved retry policy, or why there can be none. */
export function planFirstAttempt(
  value: ParsedCreateSession,
  scope: PlanScope,
  { viewer, secrets }: Pick<ServiceContext, 'viewer' | 'secrets'>,
): NewSession | RepriseError {
  const project = scope.projects.get(value.project)
  if (!project) return new RepriseError('PROJECT_NOT_FOUND', `no project ${value.project}`)
  const allowed = scope.groups.get(value.resourceGroup)
  if (!allowed) return new RepriseError('RESOURCE_GROUP_NOT_FOUND', `no resource group ${value.resourceGroup}`)
  if (!allowed.includes(value.sessionType)) {
    const message = `resource group ${value.resourceGroup} takes ${allowed.join(', ')} only`
    return new RepriseError('VALIDATION_FAILED', `sessionType: ${message}`, [{ path: 'sessionType', message }])
  }
  const unknown = value.dependsOn.find((id) => !scope.chains.has(id))
  if (unknown !== undefined) return new RepriseError('DEPENDENCY_NOT_FOUND', `dependsOn: no session ${unknown}`)
  const resolved = resolvePolicy([
    { source: 'SESSION', policy: value.retryPolicy },
    { source: 'PROJECT', policy: storedDefaults(project.retryDefaults) },
    { source: 'DOMAIN', policy: storedDefaults(project.domainRetryDefaults) },
    { source: 'CLUSTER', policy: storedDefaults(project.clusterRetryDefaults) },
  ])
  const id = uuidv7()
  const secretEnviron = sealEnviron(secrets, value.secretEnviron)
  return {
    id,
    projectId: project.id,
    userId: viewer.userId,
    resourceGroup: value.resourceGroup,
    creationId: value.creationId ?? id,
    creationDigest: value.creationId ? creationDigest(value, secretEnviron) : null,
    name: value.name,
    sessionType: value.sessionType,
    image: value.image ?? null,
    command: value.command,
    environ: value.environ,
    secretEnviron,
    resourceSlots: value.resourceSlots,
    clusterMode: value.clusterMode,
    kernelIds: Array.from({ length: value.clusterSize }, () => uuidv7()),
    batchTimeout: value.batchTimeout ?? null,
    startsAt: value.startsAt?.toISOString() ?? null,
    priority: value.priority,
    labels: value.labels,
    dependsOnChains: [...new Set(value.dependsOn.map((sessionId) => scope.chains.get(sessionId)!))],
    parentSessionId: null,
    chainId: id,
    attempt: 1,
    epoch: 0,
    origin: 'INITIAL',
    retryCount: 0,
    uncountedRetries: 0,
    retryPolicy: resolved.policy,
    retryPolicySources: statedSources(resolved.sources),
    retryCause: null,
    epochStartedAt: null,
    avoidAgents: value.avoidAgents,
    allowAgents: value.allowAgents,
    excludeAgents: value.excludeAgents,
    avoidGroups: [],
    agentLabels: value.agentLabels,
    traceParent: currentSpan()?.traceParent ?? null,
    portVariable: null,
  }
}

/** Defaults were validated when they were set; those that no longer validate are ignored. */
function storedDefaults(stored: unknown): Partial<RetryPolicy> | null {
  if (stored === null || stored === undefined) return null
  const parsed = parseRetryPolicy(stored)
  return 'policy' in parsed ? parsed.policy : null
}
