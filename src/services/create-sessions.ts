import { v7 as uuidv7 } from 'uuid'
import { RepriseError } from '../domain/errors.ts'
import { CREATE_SESSIONS_MAX } from '../domain/limits.ts'
import { parseRetryPolicy } from '../domain/retry/parse-policy.ts'
import type { RetryPolicy } from '../domain/retry/policy.ts'
import { resolvePolicy, statedSources } from '../domain/retry/resolve-policy.ts'
import type { SessionType } from '../domain/session/statuses.ts'
import { currentSpan } from '../observability/trace.ts'
import {
  readByCreationId,
  readGroupTypes,
  readProjectScopes,
  type ProjectScope,
} from '../store/sql/creation-scope.sql.ts'
import type { NewSession } from '../store/sql/insert-sessions.sql.ts'
import { readChainIds } from '../store/sql/read-chain-ids.sql.ts'
import { addSessions } from './add-sessions.ts'
import { assertMayChange } from './authorize.ts'
import { parseCreateSession, type CreateSessionInput, type ParsedCreateSession } from './create-session-input.ts'
import type { ServiceContext } from './service-context.ts'

export interface CreatedSession {
  sessionId: string
  /** False if the creation id was known: it is the session created then. */
  created: boolean
}

/**
 * @throws RepriseError VALIDATION_FAILED, PROJECT_NOT_FOUND, RESOURCE_GROUP_NOT_FOUND, DEPENDENCY_NOT_FOUND,
 * QUOTA_EXCEEDED, FORBIDDEN
 */
export async function createSession(context: ServiceContext, input: CreateSessionInput): Promise<CreatedSession> {
  const [result] = await createSessions(context, [input])
  if (result instanceof RepriseError) throw result
  return result!
}

/**
 * Inputs are independent: an error in one does not affect the others. Results are in the order of the inputs.
 * @throws RepriseError VALIDATION_FAILED for more than CREATE_SESSIONS_MAX, FORBIDDEN
 */
export async function createSessions(
  context: ServiceContext,
  inputs: readonly CreateSessionInput[],
): Promise<(CreatedSession | RepriseError)[]> {
  assertMayChange(context.viewer)
  if (inputs.length > CREATE_SESSIONS_MAX) {
    const message = `at most ${CREATE_SESSIONS_MAX} sessions in one call`
    throw new RepriseError('VALIDATION_FAILED', message, [{ path: 'sessions', message }])
  }
  const parsed = inputs.map(parse)
  const values = accepted(parsed)
  const scope = await readScope(context, values)
  const planned = parsed.map((value) =>
    value instanceof RepriseError ? value : plan(value, scope, context.viewer.userId),
  )
  const sessions = accepted(planned)
  const { inserted, refused } = await addSessions(context.db, sessions, {
    actor: context.viewer.name,
    transact: context.db.transaction,
  })
  const known = await readByCreationId(
    context.db,
    sessions.filter(({ id }) => !inserted.has(id) && !refused.has(id)),
  )
  if (inserted.size > 0) tell(context, [...inserted])
  return planned.map((session) => {
    if (session instanceof RepriseError) return session
    if (inserted.has(session.id)) return { sessionId: session.id, created: true }
    const refusal = refused.get(session.id)
    if (refusal) return refusal
    return { sessionId: known.get(`${session.projectId}/${session.creationId}`)!, created: false }
  })
}

/** The id of a first attempt is also its chain's. */
function tell({ wake, log }: ServiceContext, sessionIds: readonly string[]): void {
  wake.wake('schedule-sessions', 'events')
  currentSpan()?.note({ 'reprise.session.ids': sessionIds })
  if (sessionIds.length > 1) return log.debug({ sessionIds }, `created ${sessionIds.length} sessions`)
  log.debug({ sessionId: sessionIds[0], chainId: sessionIds[0] }, 'created a session')
}

function accepted<T>(values: readonly (T | RepriseError)[]): T[] {
  return values.filter((value): value is T => !(value instanceof RepriseError))
}

function parse(input: CreateSessionInput): ParsedCreateSession | RepriseError {
  const parsed = parseCreateSession(input)
  if ('value' in parsed) return parsed.value
  const faults = parsed.issues.map(({ path, message }) => `${path || 'input'}: ${message}`)
  return new RepriseError('VALIDATION_FAILED', faults.join('; '), parsed.issues)
}

interface Scope {
  projects: Map<string, ProjectScope>
  groups: Map<string, SessionType[]>
  chains: Map<string, string>
}

async function readScope({ db, viewer }: ServiceContext, values: readonly ParsedCreateSession[]): Promise<Scope> {
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

function plan(value: ParsedCreateSession, scope: Scope, userId: string | null): NewSession | RepriseError {
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
  return {
    id,
    projectId: project.id,
    userId,
    resourceGroup: value.resourceGroup,
    creationId: value.creationId ?? id,
    name: value.name,
    sessionType: value.sessionType,
    image: value.image ?? null,
    command: value.command,
    environ: value.environ,
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
