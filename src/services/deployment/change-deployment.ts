import { validate } from 'uuid'
import { RepriseError, type ValidationIssue } from '../../domain/errors.ts'
import type { Queryable } from '../../store/database.ts'
import {
  type DeploymentSpec,
  destroyDeploymentRow,
  lockDeployment,
  type LockedDeployment,
  scaleDeploymentRow,
} from '../../store/sql/deployment/change-deployment.sql.ts'
import { recordAudit } from '../../store/sql/access/audit.sql.ts'
import { actorOf, assertMayChange, assertMayEnd } from '../access/authorize.ts'
import type { ServiceContext } from '../service-context.ts'
import { isGpuSlot } from '../../domain/gpu.ts'
import { isDeepStrictEqual } from 'node:util'
import { environFault } from '../../domain/session/session-spec.ts'
import type { SealedVariable } from '../../domain/session/kernel-environment.ts'
import { insertRevision, readRevision } from '../../store/sql/deployment/revisions.sql.ts'
import {
  assertHasVolumes,
  assertServes,
  defaultStaleAfterMs,
  type DeploymentSpecInput,
  deploymentSpecSchema,
  type HealthCheckInput,
  replicas,
  specOf,
} from './deployment-fields.ts'
import { parseInput, refuseInput, withoutNulls } from '../input/parse-input.ts'
import { sealEnviron } from '../session/plan-attempt.ts'
import { z } from 'zod'
import type { RolloutSettings } from '../../domain/deployment/plan-replicas.ts'
import { REASON_LENGTH_MAX } from '../../domain/limits.ts'
import { text } from '../input/input-fields.ts'

/**
 * Changes a deployment that the viewer may change, with an entry in the audit log, in one transaction. `change` returns
 * the details of the entry, or undefined if there was nothing to change. A deployment of another project is not found.
 * @throws RepriseError FORBIDDEN, DEPLOYMENT_NOT_FOUND
 */
export async function changeDeployment(
  { db, viewer, wake }: ServiceContext,
  id: string,
  action: string,
  change: (tx: Queryable, deployment: LockedDeployment) => Promise<object | undefined>,
): Promise<{ deploymentId: string }> {
  assertMayChange(viewer)
  await db.transaction(async (tx) => {
    const deployment = validate(id) ? await lockDeployment(tx, id, viewer.projectId) : undefined
    if (!deployment) throw new RepriseError('DEPLOYMENT_NOT_FOUND', `no deployment ${id.slice(0, 100)}`)
    const details = await change(tx, deployment)
    if (!details) return
    const { projectId } = deployment
    await recordAudit(tx, { actor: actorOf(viewer), action, projectId, details: { deploymentId: id, ...details } })
  })
  wake.wake('drive-deployments', 'events')
  return { deploymentId: id }
}

/** @throws RepriseError DEPLOYMENT_DESTROYED */
export function assertLives({ id, status }: LockedDeployment): void {
  if (status !== 'DESTROYING' && status !== 'DESTROYED') return
  throw new RepriseError('DEPLOYMENT_DESTROYED', `deployment ${id} is ${status}: it can no longer be changed`)
}

/** Missing and null fields stay as they are, except for `image` and `healthCheck.staleAfter`, which null clears. */
export type UpdateDeploymentInput = { deploymentId: string } & {
  [Field in Exclude<keyof DeploymentSpecInput, 'healthCheck'>]?: DeploymentSpecInput[Field] | null
} & { healthCheck?: HealthCheckInput | null }

/**
 * Adds a revision, to which the routes are moved gradually. If nothing differs from the present revision, none is
 * added, so repeating an update does nothing.
 * @throws RepriseError FORBIDDEN, VALIDATION_FAILED, DEPLOYMENT_NOT_FOUND, DEPLOYMENT_DESTROYED,
 * RESOURCE_GROUP_NOT_FOUND
 */
export async function updateDeployment(
  context: ServiceContext,
  { deploymentId, ...change }: UpdateDeploymentInput,
): Promise<{ deploymentId: string }> {
  assertMayChange(context.viewer)
  return changeDeployment(context, deploymentId, 'deployment.update', async (tx, deployment) => {
    assertLives(deployment)
    const before = await readRevision(tx, deploymentId, deployment.revision)
    const parsed = parseInput(deploymentSpecSchema, merged(before, change))
    const given = change.secretEnviron == null ? null : sealEnviron(context.secrets, parsed.secretEnviron)
    const after = specOf(parsed, given === null ? before.secretEnviron : keptIfEqual(before.secretEnviron, given))
    assertFits(after, change)
    if (after.resourceGroup !== before.resourceGroup) await assertServes(tx, after.resourceGroup)
    if (isDeepStrictEqual(after, before)) return undefined
    if (!isDeepStrictEqual(volumeCheckInputs(after), volumeCheckInputs(before)))
      await assertHasVolumes(tx, deployment.projectId, after)
    const next = await insertRevision(tx, { deploymentId, actor: context.viewer.name, spec: after })
    return { revision: next, changed: changedFields(before, after) }
  })
}

export const scaleSchema = z.strictObject({
  replicas: replicas.nullish(),
  minHealthy: replicas.nullish(),
  maxSurge: replicas.nullish(),
})

/** A missing field keeps its setting; null means the default for `minHealthy` and `maxSurge`. */
export type ScaleDeploymentInput = z.input<typeof scaleSchema> & { deploymentId: string }

/**
 * Sets the desired number of replicas, and the limits for updates.
 * @throws RepriseError FORBIDDEN, VALIDATION_FAILED, DEPLOYMENT_NOT_FOUND, DEPLOYMENT_DESTROYED
 */
export async function scaleDeployment(
  context: ServiceContext,
  { deploymentId, ...input }: ScaleDeploymentInput,
): Promise<{ deploymentId: string }> {
  assertMayChange(context.viewer)
  const change = parseInput(scaleSchema, input)
  return changeDeployment(context, deploymentId, 'deployment.scale', async (tx, deployment) => {
    assertLives(deployment)
    const { replicas: wanted, minHealthy, maxSurge } = deployment
    const before = { replicas: wanted, minHealthy, maxSurge }
    const after = {
      replicas: change.replicas ?? wanted,
      minHealthy: change.minHealthy === undefined ? minHealthy : change.minHealthy,
      maxSurge: change.maxSurge === undefined ? maxSurge : change.maxSurge,
    }
    const issues = rolloutIssues(after).filter(({ path }) => change[path as keyof typeof change] !== undefined)
    if (issues.length > 0) refuseInput(issues)
    const same = wanted === after.replicas && minHealthy === after.minHealthy && maxSurge === after.maxSurge
    if (same) return undefined
    await scaleDeploymentRow(tx, deploymentId, after, wanted)
    return { before, after }
  })
}

/** Finds contradictions between these settings, by path. */
export function rolloutIssues({ replicas: wanted, minHealthy, maxSurge }: RolloutSettings): ValidationIssue[] {
  if (minHealthy !== null && minHealthy > wanted) {
    return [{ path: 'minHealthy', message: 'must be at most replicas' }]
  }
  if (minHealthy !== null && minHealthy === wanted && wanted > 0 && maxSurge === 0) {
    return [
      { path: 'maxSurge', message: 'must be at least 1 where all replicas must be healthy: nothing could be updated' },
    ]
  }
  return []
}

const schema = z.strictObject({
  deploymentId: z.string(),
  reason: text(REASON_LENGTH_MAX).nullish(),
})

type DestroyDeploymentInput = z.input<typeof schema>

/**
 * Ends a deployment with all its routes, each after its drain. Repeating it changes nothing.
 * @throws RepriseError FORBIDDEN, VALIDATION_FAILED, DEPLOYMENT_NOT_FOUND, DEPLOYMENT_DESTROYED
 */
export async function destroyDeployment(
  context: ServiceContext,
  input: DestroyDeploymentInput,
): Promise<{ deploymentId: string }> {
  const { viewer } = context
  assertMayChange(viewer)
  const { deploymentId, reason: given } = parseInput(schema, input)
  const reason = given ?? `destroyed by ${viewer.name}`
  return changeDeployment(context, deploymentId, 'deployment.destroy', async (tx, { id, status }) => {
    if (status === 'DESTROYED')
      throw new RepriseError('DEPLOYMENT_DESTROYED', `deployment ${id} has already been destroyed`)
    if (status === 'DESTROYING') return undefined
    await assertMayEnd({ db: tx, viewer }, 'deployment', id)
    await destroyDeploymentRow(tx, { id, actor: viewer.name, reason })
    return { reason }
  })
}

/** Checks the environment's size here, because the length of the kept secrets is known only now. */
function assertFits({ environ, secretEnviron }: DeploymentSpec, change: Partial<UpdateDeploymentInput>): void {
  const message = environFault(environ, secretEnviron)
  if (message === null) return
  refuseInput([{ path: change.environ == null ? 'secretEnviron' : 'environ', message }])
}

/** Keeps the stored form of values that are given again, so that an update that changes nothing adds no revision. */
function keptIfEqual(before: readonly SealedVariable[], given: readonly SealedVariable[]): SealedVariable[] {
  const stored = new Map(before.map((variable) => [variable.name, variable]))
  return given.map((variable) => {
    const known = stored.get(variable.name)
    return known?.digest === variable.digest ? known : variable
  })
}

function merged(before: DeploymentSpec, change: Omit<UpdateDeploymentInput, 'deploymentId'>): unknown {
  const { healthCheck: check, image, ...rest } = change
  const stored = inputOf(before)
  return {
    ...stored,
    ...withoutNulls(rest),
    ...mergedGpus(stored, change),
    image: (image === undefined ? stored.image : image) ?? undefined,
    healthCheck: mergedCheck(stored.healthCheck, check),
  }
}

/**
 * Merges conditions on GPUs: null removes one. Their new number replaces that of the stored slots; new slots without
 * GPUs end the stored conditions. A value that is not an object is kept, so that validation refuses it.
 */
function mergedGpus(
  stored: ReturnType<typeof inputOf>,
  { gpus: change, resourceSlots: slots }: Pick<UpdateDeploymentInput, 'gpus' | 'resourceSlots'>,
): object {
  if (change != null && typeof change !== 'object') return { gpus: change }
  const others = stored.resourceSlots.filter(({ slot }) => !isGpuSlot(slot))
  const asksForGpus =
    change != null || (Array.isArray(slots) ? slots : stored.resourceSlots).some((each) => isGpuSlot(each?.slot))
  const gpus = { ...stored.gpus, ...change }
  const isCondition = Object.values(gpus).some((value) => value != null)
  return {
    gpus: asksForGpus && isCondition ? gpus : undefined,
    ...(change?.count != null && slots == null && { resourceSlots: others }),
  }
}

/** Merges a health check. A value that is not an object is kept, so that validation refuses it. */
function mergedCheck(stored: HealthCheckInput, change: HealthCheckInput | null | undefined): unknown {
  if (change === null || change === undefined) return stored
  if (typeof change !== 'object') return change
  const staleAfter = change.staleAfter === undefined ? stored.staleAfter : change.staleAfter
  return { ...stored, ...withoutNulls(change), staleAfter: staleAfter ?? undefined }
}

/**
 * Converts a stored spec to client input. A `staleAfter` that was derived from the interval is derived again from a new
 * interval.
 */
function inputOf(spec: DeploymentSpec) {
  const interval = spec.healthIntervalMs / 1000
  const timeout = spec.healthTimeoutMs / 1000
  const followsInterval = spec.staleAfterMs === defaultStaleAfterMs({ interval, timeout })
  return {
    resourceGroup: spec.resourceGroup,
    image: spec.image ?? undefined,
    command: spec.command,
    environ: spec.environ,
    // Only the names are used: validation checks that no name is also in `environ`. The stored values are kept.
    secretEnviron: spec.secretEnviron.map(({ name }) => ({ name, value: '' })),
    resourceSlots: Object.entries(spec.resourceSlots).map(([slot, amount]) => ({ slot, amount })),
    gpus: spec.gpuNeed ? { model: spec.gpuNeed.model, memory: spec.gpuNeed.memoryBytes } : undefined,
    priority: spec.priority,
    labels: pairs(spec.labels),
    agentLabels: pairs(spec.agentLabels),
    mounts: spec.mounts,
    portVariable: spec.portVariable,
    healthCheck: {
      path: spec.healthPath,
      interval,
      timeout,
      healthyThreshold: spec.healthyThreshold,
      unhealthyThreshold: spec.unhealthyThreshold,
      initialDelay: spec.initialDelayMs / 1000,
      staleAfter: followsInterval ? undefined : spec.staleAfterMs / 1000,
    },
    startTimeout: spec.startTimeoutMs / 1000,
    evictAfter: spec.evictAfterMs / 1000,
    drain: spec.drainMs / 1000,
  }
}

function pairs(entries: Record<string, string>): { key: string; value: string }[] {
  return Object.entries(entries).map(([key, value]) => ({ key, value }))
}

/** The volume check is repeated only if one of these fields changes. */
function volumeCheckInputs({ resourceGroup, mounts }: DeploymentSpec): unknown {
  return { resourceGroup, mounts }
}

function changedFields(before: DeploymentSpec, after: DeploymentSpec): string[] {
  const names = Object.keys(after) as (keyof DeploymentSpec)[]
  return names.filter((name) => !isDeepStrictEqual(before[name], after[name]))
}
