import { isDeepStrictEqual } from 'node:util'
import { environFault } from '../../domain/session/exec-bytes.ts'
import type { SealedVariable } from '../../domain/session/sealed-variable.ts'
import type { DeploymentSpec } from '../../store/sql/deployment/deployment-spec.sql.ts'
import { insertRevision, readRevision } from '../../store/sql/deployment/revisions.sql.ts'
import { assertMayChange } from '../access/authorize.ts'
import { assertLives, changeDeployment } from './change-deployment.ts'
import {
  defaultStaleAfterMs,
  deploymentSpecSchema,
  specOf,
  type DeploymentSpecInput,
  type HealthCheckInput,
} from './deployment-fields.ts'
import { assertHasVolumes, assertServes } from './deployment-group.ts'
import { parseInput, refuseInput } from '../input/parse-input.ts'
import { sealEnviron } from '../session/secret-environ.ts'
import type { ServiceContext } from '../service-context.ts'
import { withoutNulls } from '../input/without-nulls.ts'

/** Missing and null fields stay as they are, except for `image` and `healthCheck.staleAfter`, which null clears. */
export type UpdateDeploymentInput = { deploymentId: string } & {
  [Field in Exclude<keyof DeploymentSpecInput, 'healthCheck'>]?: DeploymentSpecInput[Field] | null
} & { healthCheck?: HealthCheckInput | null }

/**
 * Adds a revision, to which the routes are brought one after the other. If nothing differs from the present revision,
 * none is added, so repeating an update does nothing.
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
    if (!isDeepStrictEqual(placeOf(after), placeOf(before))) await assertHasVolumes(tx, deployment.projectId, after)
    const next = await insertRevision(tx, { deploymentId, actor: context.viewer.name, spec: after })
    return { revision: next, changed: changedFields(before, after) }
  })
}

/** Only now is it known how long the stored secrets are that stay. */
function assertFits({ environ, secretEnviron }: DeploymentSpec, change: Partial<UpdateDeploymentInput>): void {
  const message = environFault(environ, secretEnviron)
  if (message === null) return
  refuseInput([{ path: change.environ == null ? 'secretEnviron' : 'environ', message }])
}

/** Values that are given again stay as they are stored, so that an update that changes nothing adds no revision. */
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
    image: (image === undefined ? stored.image : image) ?? undefined,
    healthCheck: mergedCheck(stored.healthCheck, check),
  }
}

/** A value that is not an object is kept, so that validation refuses it. */
function mergedCheck(stored: HealthCheckInput, change: HealthCheckInput | null | undefined): unknown {
  if (change === null || change === undefined) return stored
  if (typeof change !== 'object') return change
  const staleAfter = change.staleAfter === undefined ? stored.staleAfter : change.staleAfter
  return { ...stored, ...withoutNulls(change), staleAfter: staleAfter ?? undefined }
}

/** A stored spec as client input. A `staleAfter` derived from the interval is derived again from a new interval. */
function inputOf(spec: DeploymentSpec) {
  const interval = spec.healthIntervalMs / 1000
  const timeout = spec.healthTimeoutMs / 1000
  const followsInterval = spec.staleAfterMs === defaultStaleAfterMs({ interval, timeout })
  return {
    resourceGroup: spec.resourceGroup,
    image: spec.image ?? undefined,
    command: spec.command,
    environ: spec.environ,
    // For their names, which are compared with others: the values stay as they are stored.
    secretEnviron: spec.secretEnviron.map(({ name }) => ({ name, value: '' })),
    resourceSlots: Object.entries(spec.resourceSlots).map(([slot, amount]) => ({ slot, amount })),
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

/** What the volumes of a revision that stands need not be asked about again without a change of. */
function placeOf({ resourceGroup, mounts }: DeploymentSpec): unknown {
  return { resourceGroup, mounts }
}

function changedFields(before: DeploymentSpec, after: DeploymentSpec): string[] {
  const names = Object.keys(after) as (keyof DeploymentSpec)[]
  return names.filter((name) => !isDeepStrictEqual(before[name], after[name]))
}
