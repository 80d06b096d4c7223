import { z } from 'zod'
import { duration } from '../../domain/durations.ts'
import { isHealthPath } from '../../domain/deployment/health.ts'
import {
  DEPLOYMENT_NAME_LENGTH_MAX,
  DEPLOYMENT_WAIT_MAX_SECONDS,
  DRAIN_MAX_SECONDS,
  HEALTH_INTERVAL_MAX_SECONDS,
  HEALTH_INTERVAL_MIN_MS,
  HEALTH_PATH_LENGTH_MAX,
  HEALTH_THRESHOLD_MAX,
  HEALTH_TIMEOUT_MAX_SECONDS,
  HEALTH_TIMEOUT_MIN_MS,
  NAME_LENGTH_MAX,
  REPLICAS_MAX,
} from '../../domain/limits.ts'
import type { SealedVariable } from '../../domain/session/kernel-environment.ts'
import type { DeploymentSpec } from '../../store/sql/deployment/change-deployment.sql.ts'
import {
  besideOtherFaults,
  checkGpus,
  checkSecrets,
  command,
  environ,
  foldGpus,
  gpus,
  secretVariables,
  labels,
  mounts,
  priority,
  resourceSlots,
  variableName,
} from '../session/session-fields.ts'
import { text } from '../input/input-fields.ts'
import { RepriseError } from '../../domain/errors.ts'
import { missingVolumes, offersAll } from '../../domain/scheduling/resource-request.ts'
import { refuseType } from '../../domain/session/session-spec.ts'
import type { Queryable } from '../../store/database.ts'
import { readGroupScopes } from '../../store/sql/session/creation-scope.sql.ts'
import { readGroupVolumes } from '../../store/sql/agent/agents.sql.ts'
import { refuseInput } from '../input/parse-input.ts'

/** Fields of a deployment as clients give them, with durations in seconds. */

export const deploymentName = z
  .string()
  .max(DEPLOYMENT_NAME_LENGTH_MAX)
  .regex(
    /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/,
    'must be small letters, digits and -, and begin and end with none of these -',
  )

export const replicas = z.int().min(0).max(REPLICAS_MAX)

const wait = (min: number) => duration(z.number().min(min).max(DEPLOYMENT_WAIT_MAX_SECONDS))
const threshold = z.int().min(1).max(HEALTH_THRESHOLD_MAX)
/** The unit of the columns: whole milliseconds. */
const MILLISECOND = 0.001

const healthCheck = z
  .strictObject({
    path: z
      .string()
      .max(HEALTH_PATH_LENGTH_MAX)
      .refine(isHealthPath, 'must begin with one /, and be printable ASCII without spaces, # and \\')
      .default('/'),
    interval: duration(
      z
        .number()
        .min(HEALTH_INTERVAL_MIN_MS / 1000)
        .max(HEALTH_INTERVAL_MAX_SECONDS),
    ).default(5),
    timeout: duration(
      z
        .number()
        .min(HEALTH_TIMEOUT_MIN_MS / 1000)
        .max(HEALTH_TIMEOUT_MAX_SECONDS),
    ).default(2),
    healthyThreshold: threshold.default(1),
    unhealthyThreshold: threshold.default(3),
    initialDelay: wait(0).default(0),
    staleAfter: duration(z.number().max(DEPLOYMENT_WAIT_MAX_SECONDS)).optional(),
  })
  .refine(({ interval, timeout, staleAfter }) => !((staleAfter ?? Infinity) <= interval + timeout), {
    path: ['staleAfter'],
    message: 'must be more than interval and timeout together: otherwise even checks on time would be stale',
    when: besideOtherFaults,
  })

const fields = {
  resourceGroup: text(NAME_LENGTH_MAX).default('default'),
  image: text(NAME_LENGTH_MAX).optional(),
  command,
  environ: environ.default([]),
  secretEnviron: secretVariables.default([]),
  resourceSlots,
  gpus: gpus.optional(),
  priority: priority.default(10),
  labels: labels.default({}),
  agentLabels: labels.default({}),
  mounts: mounts.default([]),
  portVariable: variableName.max(NAME_LENGTH_MAX).default('PORT'),
  healthCheck: healthCheck.prefault({}),
  startTimeout: wait(MILLISECOND).default(300),
  evictAfter: wait(0).default(10),
  drain: duration(z.number().min(0).max(DRAIN_MAX_SECONDS)).default(2),
}

/** The spec from which a revision's routes are created, with GraphQL's names. */
export const deploymentSpecFields = fields
const specSchema = z.strictObject(fields)
export type DeploymentSpecInput = z.input<typeof specSchema>
type HealthCheck = NonNullable<DeploymentSpecInput['healthCheck']>
/** Null counts as missing. */
export type HealthCheckInput = { [Field in keyof HealthCheck]?: HealthCheck[Field] | null }
export type ParsedDeploymentSpec = z.output<typeof specSchema>

export function checkPortVariable(
  spec: Pick<ParsedDeploymentSpec, 'portVariable' | 'environ' | 'secretEnviron'>,
  context: z.RefinementCtx,
): void {
  for (const field of ['environ', 'secretEnviron'] as const) {
    const entries = spec[field]
    const index = Array.isArray(entries) ? entries.findIndex((entry) => entry?.name === spec.portVariable) : -1
    if (index === -1) continue
    const message = 'is the portVariable: the agent sets it'
    context.addIssue({ code: 'custom', path: [field, index, 'name'], message })
  }
}

/** Reports all faults at once. */
export const deploymentSpecSchema = specSchema
  .superRefine(checkPortVariable, { when: besideOtherFaults })
  .superRefine(checkSecrets, { when: besideOtherFaults })
  .superRefine(checkGpus, { when: besideOtherFaults })

/** After this many missed checks, the last result no longer counts. */
const STALE_CHECKS = 3

export function defaultStaleAfterMs({ interval, timeout }: { interval: number; timeout: number }): number {
  return ms(STALE_CHECKS * (interval + timeout))
}

export function specOf(
  { healthCheck: check, startTimeout, evictAfter, drain, ...rest }: ParsedDeploymentSpec,
  secretEnviron: SealedVariable[],
): DeploymentSpec {
  return {
    resourceGroup: rest.resourceGroup,
    image: rest.image ?? null,
    command: rest.command,
    environ: rest.environ,
    secretEnviron,
    ...foldGpus(rest.resourceSlots, rest.gpus),
    priority: rest.priority,
    labels: rest.labels,
    agentLabels: rest.agentLabels,
    mounts: rest.mounts,
    portVariable: rest.portVariable,
    healthPath: check.path,
    healthIntervalMs: ms(check.interval),
    healthTimeoutMs: ms(check.timeout),
    healthyThreshold: check.healthyThreshold,
    unhealthyThreshold: check.unhealthyThreshold,
    initialDelayMs: ms(check.initialDelay),
    staleAfterMs: check.staleAfter === undefined ? defaultStaleAfterMs(check) : ms(check.staleAfter),
    startTimeoutMs: ms(startTimeout),
    evictAfterMs: ms(evictAfter),
    drainMs: ms(drain),
  }
}

function ms(seconds: number): number {
  return Math.round(seconds * 1000)
}

/**
 * Checks that the resource group accepts INFERENCE sessions, because routes are such sessions.
 * @throws RepriseError RESOURCE_GROUP_NOT_FOUND, VALIDATION_FAILED
 */
export async function assertServes(db: Queryable, resourceGroup: string): Promise<void> {
  const types = (await readGroupScopes(db, [resourceGroup])).get(resourceGroup)
  if (!types) throw new RepriseError('RESOURCE_GROUP_NOT_FOUND', `no resource group ${resourceGroup}`)
  const message = refuseType(resourceGroup, types, 'INFERENCE')
  if (message !== undefined) refuseInput([{ path: 'resourceGroup', message }])
}

/**
 * Checks that the group's agents, alive or not, offer the volumes to the deployment's project. Sessions may wait for an
 * agent to come, but a deployment has to serve now. Volumes of other projects are treated like missing ones.
 * @throws RepriseError VALIDATION_FAILED
 */
export async function assertHasVolumes(
  db: Queryable,
  projectId: string,
  { resourceGroup, mounts: wanted }: Pick<DeploymentSpec, 'resourceGroup' | 'mounts'>,
): Promise<void> {
  if (wanted.length === 0) return
  const { project, agents } = await readGroupVolumes(db, projectId, resourceGroup)
  const need = { project, mounts: wanted }
  if (agents.some(({ volumes }) => offersAll(volumes, need))) return
  const message = missingVolumes(agents, need, `no agent of resource group ${resourceGroup}`)
  refuseInput([{ path: 'mounts', message }])
}
