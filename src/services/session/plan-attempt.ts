import { newId } from '../../store/new-id.ts'
import { refuseType } from '../../domain/session/session-spec.ts'
import { RepriseError, type ValidationIssue } from '../../domain/errors.ts'
import type { DerivedChild } from '../../domain/retry/child.ts'
import { parseRetryPolicy } from '../../domain/retry/policy/stored-policy.ts'
import type { RetryPolicy } from '../../domain/retry/policy/policy.ts'
import {
  overlayPolicy,
  type ResolvedPolicy,
  resolvePolicy,
  statedPolicy,
  statedSources,
} from '../../domain/retry/policy/resolve-policy.ts'
import { currentSpan } from '../../observability/trace.ts'
import type { Queryable } from '../../store/database.ts'
import {
  type GroupScope,
  type ProjectScope,
  readGroupScopes,
  readProjectScopes,
} from '../../store/sql/session/creation-scope.sql.ts'
import { readChainIds } from '../../store/sql/chain/read-chains.sql.ts'
import {
  type ChildSource,
  FIRST_ATTEMPT,
  inheritedFrom,
  type NewRetry,
  type NewSession,
  type RetrySource,
} from '../../store/sql/session/session-columns.sql.ts'
import { useCode } from '../../store/sql/code.sql.ts'
import { codeNotFound } from '../code/upload-code.ts'
import { inputDigest, type ParsedCreateSession } from './create-session-input.ts'
import { projectNotFound } from '../access/tenants.ts'
import type { ServiceContext, Viewer } from '../service-context.ts'
import { inputError } from '../input/parse-input.ts'
import type { SealedVariable } from '../../domain/session/kernel-environment.ts'
import type { SecretBox } from '../access/secrets.ts'

/** The objects that inputs refer to, as far as they exist and the viewer sees them. */
interface PlanScope {
  projects: Map<string, ProjectScope>
  groups: Map<string, GroupScope>
  chains: Map<string, string>
  /** Uploaded code, as `<project's name>/<SHA-256>`. */
  codes: Set<string>
  /** Errors for projects that do not exist or that the viewer does not see, by name. */
  missing: Map<string, RepriseError>
}

export async function readPlanScope(
  { db, viewer }: { db: Queryable; viewer: Pick<Viewer, 'projectId'> },
  values: readonly ParsedCreateSession[],
): Promise<PlanScope> {
  const [projects, groups, chains, codes] = await Promise.all([
    readProjectScopes(
      db,
      distinct(values, ({ project }) => [project]),
      viewer.projectId,
    ),
    readGroupScopes(
      db,
      distinct(values, ({ resourceGroup }) => [resourceGroup]),
    ),
    readChainIds(db, distinct(values, dependenciesOf), viewer.projectId),
    useCode(
      db,
      values.flatMap(({ project, codeSha256: sha256 }) => (sha256 == null ? [] : [{ project, sha256 }])),
      viewer.projectId,
    ),
  ])
  const unknown = distinct(values, ({ project }) => (projects.has(project) ? [] : [project]))
  const missing = await Promise.all(
    unknown.map(async (name) => [name, await projectNotFound({ db, viewer }, name)] as const),
  )
  return { projects, groups, chains, codes, missing: new Map(missing) }
}

/** The sessions that it waits for, because it depends on them or receives their outputs. */
function dependenciesOf({ dependsOn, inputs }: ParsedCreateSession): string[] {
  return [...dependsOn, ...inputs.map(({ from }) => from)]
}

function distinct(values: readonly ParsedCreateSession[], of: (value: ParsedCreateSession) => string[]): string[] {
  return [...new Set(values.flatMap(of))]
}

/** Plans the session of an input, with its resolved retry policy, or returns why there can be none. */
export function planFirstAttempt(
  value: ParsedCreateSession,
  scope: PlanScope,
  { viewer, secrets }: Pick<ServiceContext, 'viewer' | 'secrets'>,
): NewSession | RepriseError {
  const project = scope.projects.get(value.project)
  if (!project) return scope.missing.get(value.project)!
  const group = scope.groups.get(value.resourceGroup)
  if (!group) return new RepriseError('RESOURCE_GROUP_NOT_FOUND', `no resource group ${value.resourceGroup}`)
  const issues = groupIssues(value, group)
  if (issues.length > 0) return inputError(issues)
  const dependencies = dependenciesOf(value)
  const unknown = dependencies.find((id) => !scope.chains.has(id))
  if (unknown !== undefined) {
    const field = value.dependsOn.includes(unknown) ? 'dependsOn' : 'inputs'
    return new RepriseError('DEPENDENCY_NOT_FOUND', `${field}: no session ${unknown}`)
  }
  if (value.codeSha256 != null && !scope.codes.has(`${value.project}/${value.codeSha256}`)) {
    return codeNotFound(value.codeSha256, value.project)
  }
  const inProject = resolveInProject(value.retryPolicy, project)
  const resolved = value.neverRunTwice ? overlayPolicy(inProject, { maxRetries: 0 }) : inProject
  const id = newId()
  const secretEnviron = sealEnviron(secrets, value.secretEnviron)
  const { project: _, dependsOn: __, inputs, clusterSize, creationId, startsAt, retryPolicy: ___, ...spec } = value
  return {
    ...FIRST_ATTEMPT,
    ...given(spec),
    id,
    projectId: project.id,
    userId: viewer.userId,
    creationId: creationId ?? id,
    creationDigest: creationId ? inputDigest(value, secretEnviron) : null,
    secretEnviron,
    kernelIds: Array.from({ length: clusterSize }, newId),
    startsAt: startsAt?.toISOString() ?? null,
    inputs: inputs.map(({ from, match, to }) => ({ chainId: scope.chains.get(from)!, match, to })),
    dependsOnChains: [...new Set(dependencies.map((sessionId) => scope.chains.get(sessionId)!))],
    chainId: id,
    retryPolicy: statedPolicy(resolved.policy, resolved.sources),
    retryPolicySources: statedSources(resolved.sources),
    traceParent: currentSpan()?.traceParent ?? null,
  }
}

type Given<Values> = { [Name in keyof Values]: Exclude<Values[Name], undefined> }

/** Leaves out fields without a value, which have that of a first attempt. */
function given<Values extends object>(values: Values): Given<Values> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Given<Values>
}

function groupIssues(value: ParsedCreateSession, group: GroupScope): ValidationIssue[] {
  const issues: ValidationIssue[] = []
  const refused = refuseType(value.resourceGroup, group, value.sessionType)
  if (refused !== undefined) issues.push({ path: 'sessionType', message: refused })
  for (const [index, key] of Object.keys(value.executorOptions).entries()) {
    if (group.executorOptions.includes(key)) continue
    const message = `resource group ${value.resourceGroup} lets sessions set ${group.executorOptions.join(', ') || 'no executor options'}`
    issues.push({ path: `executorOptions.${index}.key`, message })
  }
  if ((value.stopGrace ?? 0) > group.stopGraceMax) {
    const message = `resource group ${value.resourceGroup} allows at most ${group.stopGraceMax} s (its stopGraceMax)`
    issues.push({ path: 'stopGrace', message })
  }
  return issues
}

/** Resolves the policy of a first attempt with the defaults of its project, and of the wider scopes. */
export function resolveInProject(
  policy: Partial<RetryPolicy>,
  project: Pick<ProjectScope, 'retryDefaults' | 'domainRetryDefaults' | 'clusterRetryDefaults'>,
): ResolvedPolicy {
  return resolvePolicy([
    { source: 'SESSION', policy },
    { source: 'PROJECT', policy: storedDefaults(project.retryDefaults) },
    { source: 'DOMAIN', policy: storedDefaults(project.domainRetryDefaults) },
    { source: 'CLUSTER', policy: storedDefaults(project.clusterRetryDefaults) },
  ])
}

/** Defaults were validated when they were set; those that are no longer valid are ignored. */
function storedDefaults(stored: unknown): Partial<RetryPolicy> | null {
  if (stored === null || stored === undefined) return null
  const parsed = parseRetryPolicy(stored)
  return 'policy' in parsed ? parsed.policy : null
}

/** Values of the child itself, including any that may differ from its parent's. */
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

/** Builds the next session of a chain: fields missing in `own` are its parent's, or those of a first attempt. */
export function childSession(parent: ChildSource, own: Own & Partial<NewSession>): NewSession {
  return {
    ...FIRST_ATTEMPT,
    ...inheritedFrom(parent),
    id: newId(),
    sessionType: 'BATCH',
    kernelIds: Array.from({ length: parent.clusterSize }, newId),
    dependsOnChains: parent.dependsOnChains,
    requiredImageDigest: pinnedDigest(own.retryPolicy ?? parent.retryPolicy, parent),
    ...own,
  }
}

/** Builds the automatic retry of a parent; the fields that it is not given are copied when it is inserted. */
export function plannedRetry(parent: RetrySource, derived: DerivedChild): NewRetry {
  return {
    ...derived,
    id: newId(),
    resourceGroup: parent.resourceGroup,
    kernelIds: Array.from({ length: parent.clusterSize }, newId),
    requiredImageDigest: pinnedDigest(parent.retryPolicy, parent),
  }
}

function pinnedDigest(
  policy: { pinImage?: boolean },
  { imageDigest }: Pick<RetrySource, 'imageDigest'>,
): string | null {
  return policy.pinImage === false ? null : imageDigest
}

/** Encrypts the secret variables of a client's input for storage. Only kernels that start read them again. */
export function sealEnviron(box: SecretBox, environ: readonly { name: string; value: string }[]): SealedVariable[] {
  return environ.map(({ name, value }) => {
    const bytes = Buffer.from(value)
    return {
      name,
      sealed: box.seal(bytes, about(name)).toString('base64'),
      digest: box.digest(bytes, about(name)).toString('base64'),
    }
  })
}

/**
 * Decrypts secret variables.
 * @throws SecretKeyError
 */
export function openEnviron(box: SecretBox, sealed: readonly SealedVariable[]): { name: string; value: string }[] {
  return sealed.map(({ name, sealed: text }) => ({
    name,
    value: box.open(Buffer.from(text, 'base64'), about(name)).toString('utf8'),
  }))
}

/**
 * The context of a secret variable. It does not contain the session's id, because children inherit the values
 * unchanged.
 */
function about(name: string): string {
  return `environ ${name}`
}
