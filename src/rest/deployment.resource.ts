import { z } from '@hono/zod-openapi'
import { rolloutBounds } from '../domain/deployment/plan-replicas.ts'
import { DEPLOYMENT_STATUSES, ROUTE_STATUSES } from '../domain/deployment/lifecycle.ts'
import { secretNames } from '../domain/session/kernel-environment.ts'
import type { DescribedDeployment } from '../services/deployment/read-deployments.ts'
import {
  environ,
  labels,
  mounts,
  requiredGpus,
  secretEnviron,
  slots,
  time,
  toLabels,
  toMounts,
  toRequiredGpus,
  toSlots,
  toTime,
} from './fields.ts'
import { createDeploymentSchema } from '../services/deployment/create-deployment.ts'
import { deploymentSpecSchema } from '../services/deployment/deployment-fields.ts'
import { scaleSchema } from '../services/deployment/change-deployment.ts'
import { component, inputSchema, type JsonSchema } from './openapi.ts'

export const DeploymentResource = z
  .object({
    id: z.uuid(),
    creation_id: z.string(),
    name: z.string(),
    project: z.string(),
    status: z.enum(DEPLOYMENT_STATUSES),
    status_reason: z
      .string()
      .nullable()
      .openapi({ description: 'Why it is not ready, in words; null if it is ready.' }),
    replicas: z.int().openapi({ description: 'Desired number of healthy routes.' }),
    min_healthy: z.int(),
    max_surge: z.int(),
    healthy_replicas: z.int(),
    route_counts: z
      .array(z.object({ status: z.enum(ROUTE_STATUSES), count: z.int() }))
      .openapi({ description: 'Number of its routes by status.' }),
    revision: z
      .int()
      .openapi({ description: 'The number of the current revision. The following fields are its specification.' }),
    resource_group: z.string(),
    image: z.string().nullable(),
    command: z.array(z.string()),
    environ: environ(),
    secret_environ: secretEnviron(),
    resource_slots: slots(),
    required_gpus: requiredGpus(),
    priority: z.int(),
    labels: labels(),
    agent_labels: labels(),
    mounts: mounts(),
    port_variable: z.string(),
    health_check: z.object({
      path: z.string(),
      interval: z.number(),
      timeout: z.number(),
      healthy_threshold: z.int(),
      unhealthy_threshold: z.int(),
      initial_delay: z.number(),
      stale_after: z.number(),
    }),
    start_timeout: z.number(),
    evict_after: z.number(),
    drain: z.number(),
    failures: z.int().openapi({
      description: 'Number of consecutive routes that failed, without one in between that stayed healthy.',
    }),
    next_route_at: time()
      .nullable()
      .openapi({ description: 'After such failures: no new route is started before this time.' }),
    created_at: time(),
    status_changed_at: time(),
    destroyed_at: time().nullable(),
  })
  .openapi('Deployment', {
    description: 'A service with a fixed number of healthy replicas. Durations are in seconds.',
  })

export function toDeployment(deployment: DescribedDeployment): z.infer<typeof DeploymentResource> {
  const { revision, routeCounts } = deployment
  return {
    id: deployment.id,
    creation_id: deployment.creationId,
    name: deployment.name,
    project: deployment.projectName,
    status: deployment.status,
    status_reason: deployment.statusReason,
    replicas: deployment.replicas,
    min_healthy: rolloutBounds(deployment).minHealthy,
    max_surge: rolloutBounds(deployment).maxSurge,
    healthy_replicas: routeCounts.find(({ status }) => status === 'HEALTHY')?.count ?? 0,
    route_counts: routeCounts.map(({ status, count }) => ({ status, count })),
    revision: revision.revision,
    resource_group: revision.resourceGroup,
    image: revision.image,
    command: revision.command,
    environ: revision.environ,
    secret_environ: secretNames(revision.secretEnviron),
    resource_slots: toSlots(revision.resourceSlots),
    required_gpus: toRequiredGpus(revision.gpuNeed),
    priority: revision.priority,
    labels: toLabels(revision.labels),
    agent_labels: toLabels(revision.agentLabels),
    mounts: toMounts(revision.mounts),
    port_variable: revision.portVariable,
    health_check: {
      path: revision.healthPath,
      interval: revision.healthIntervalMs / 1000,
      timeout: revision.healthTimeoutMs / 1000,
      healthy_threshold: revision.healthyThreshold,
      unhealthy_threshold: revision.unhealthyThreshold,
      initial_delay: revision.initialDelayMs / 1000,
      stale_after: revision.staleAfterMs / 1000,
    },
    start_timeout: revision.startTimeoutMs / 1000,
    evict_after: revision.evictAfterMs / 1000,
    drain: revision.drainMs / 1000,
    failures: deployment.failures,
    next_route_at: toTime(deployment.nextRouteAt),
    created_at: deployment.createdAt.toISOString(),
    status_changed_at: deployment.statusChangedAt.toISOString(),
    destroyed_at: toTime(deployment.destroyedAt),
  }
}

export const DEPLOYMENT_INPUT = component('DeploymentInput', {
  ...inputSchema(createDeploymentSchema),
  description: 'The input of `createDeployment`, with names in snake_case. Durations are in seconds.',
})

export const DEPLOYMENT_CHANGE = component('DeploymentChange', changeSchema())

export const DEPLOYMENT_SCALE = component('DeploymentScale', {
  ...inputSchema(scaleSchema),
  description: 'Missing fields stay as they are. For `min_healthy` and `max_surge`, null means the default.',
})

/** Returns the schema of a change, where all fields are optional. */
function changeSchema(): JsonSchema {
  const { required: _, ...change } = inputSchema(deploymentSpecSchema)
  change.properties!['image'] = { anyOf: [change.properties!['image']!, { type: 'null' }] }
  return {
    ...change,
    description: 'Missing fields stay as they are. For `image`, null means none; in `gpus`, null removes a condition.',
  }
}
