import { ID_PREFIX_WORDS } from '../../../services/input/input-fields.ts'
import { NEWEST_FIRST, type OrderColumn } from '../../../services/paging.ts'
import { builder } from '../../builder.ts'
import { DateTimeFilter, OrderDirection, StringFilter } from '../filters.inputs.ts'
import { EnvVarInput, LabelInput, MountInput, ResourceSlotInput } from '../session/values.types.ts'
import { DeploymentStatusEnum } from './deployment.types.ts'

const MIN_HEALTHY =
  'Minimum number of healthy replicas during an update. Null: three quarters of the replicas, rounded up.'
const MAX_SURGE = 'Maximum number of extra replicas during an update. Null: a quarter of the replicas, rounded up.'
const STALE_AFTER = 'Seconds for which the result of a check counts. Null: three times the sum of interval and timeout.'

const HealthCheckInput = builder.inputType('HealthCheckInput', {
  description: 'Health check of a route: an HTTP GET request, which succeeds with a status of 200 to 299.',
  fields: (t) => ({
    path: t.string({ defaultValue: '/', description: 'The path to request.' }),
    interval: t.float({ defaultValue: 5, description: 'Seconds between two checks, at least 0.1.' }),
    timeout: t.float({ defaultValue: 2, description: 'Timeout of a check in seconds, at least 0.05.' }),
    healthyThreshold: t.int({ defaultValue: 1, description: 'Consecutive successes that make it healthy.' }),
    unhealthyThreshold: t.int({ defaultValue: 3, description: 'Consecutive failures that make it unhealthy.' }),
    initialDelay: t.float({ defaultValue: 0, description: 'Seconds from the start of user code to the first check.' }),
    staleAfter: t.float({ description: STALE_AFTER }),
  }),
})

export const CreateDeploymentInput = builder.inputType('CreateDeploymentInput', {
  description: 'The program to serve, the number of replicas, and the health check. Durations are in seconds.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'Lower-case letters, digits and -, unique in the project.' }),
    project: t.string({ defaultValue: 'default', description: 'Name of the project.' }),
    resourceGroup: t.string({ defaultValue: 'default', description: 'Name of the resource group for its routes.' }),
    image: t.string({
      description:
        'Container image of its program; for agents without containers, a preset of environment and interpreter.',
    }),
    command: t.stringList({ required: true, description: 'The program and its arguments.' }),
    environ: t.field({
      type: [EnvVarInput],
      description: 'Its environment, in addition to the variables set by Reprise.',
    }),
    secretEnviron: t.field({
      type: [EnvVarInput],
      description: 'Variables whose values are encrypted, handed to kernels that start, and read by nobody else.',
    }),
    resourceSlots: t.field({ type: [ResourceSlotInput], description: 'Resources of each route.' }),
    labels: t.field({ type: [LabelInput], description: 'Labels of your choice.' }),
    agentLabels: t.field({ type: [LabelInput], description: 'An agent must have all of these labels to run a route.' }),
    mounts: t.field({
      type: [MountInput],
      description: 'Volumes for its routes. An agent of the resource group must have all of them for its project.',
    }),
    priority: t.int({ defaultValue: 10, description: '0 to 100; the higher goes first.' }),
    replicas: t.int({ defaultValue: 1, description: 'Desired number of healthy routes.' }),
    minHealthy: t.int({ description: MIN_HEALTHY }),
    maxSurge: t.int({ description: MAX_SURGE }),
    portVariable: t.string({
      defaultValue: 'PORT',
      description: 'The environment variable that gives the program its port.',
    }),
    healthCheck: t.field({ type: HealthCheckInput, description: 'How the health of its routes is checked.' }),
    startTimeout: t.float({
      defaultValue: 300,
      description:
        'Time limit from the creation of a route to its first successful check, after which it has failed to start.',
    }),
    evictAfter: t.float({
      defaultValue: 10,
      description: 'How long an unhealthy route may take to recover before it is replaced.',
    }),
    drain: t.float({
      defaultValue: 2,
      description: 'Time between removing a route from service discovery and stopping its program.',
    }),
    creationId: t.string({ description: 'Idempotency key chosen by the client, unique in the project.' }),
  }),
})

export const ScaleDeploymentInput = builder.inputType('ScaleDeploymentInput', {
  description: 'The desired number of replicas. Missing fields stay as they are.',
  fields: (t) => ({
    deploymentId: t.field({ type: 'UUID', required: true, description: 'Which.' }),
    replicas: t.int({ description: 'Desired number of healthy routes.' }),
    minHealthy: t.int({ description: MIN_HEALTHY }),
    maxSurge: t.int({ description: MAX_SURGE }),
  }),
})

const HealthCheckChange = builder.inputType('HealthCheckChange', {
  description: 'Missing fields stay as they are.',
  fields: (t) => ({
    path: t.string({ description: 'The path to request.' }),
    interval: t.float({ description: 'Seconds between two checks, at least 0.1.' }),
    timeout: t.float({ description: 'Timeout of a check in seconds, at least 0.05.' }),
    healthyThreshold: t.int({ description: 'Consecutive successes that make it healthy.' }),
    unhealthyThreshold: t.int({ description: 'Consecutive failures that make it unhealthy.' }),
    initialDelay: t.float({ description: 'Seconds from the start of user code to the first check.' }),
    staleAfter: t.float({ description: STALE_AFTER }),
  }),
})

export const UpdateDeploymentInput = builder.inputType('UpdateDeploymentInput', {
  description: 'What to change in the specification of its routes. Missing fields stay as they are.',
  fields: (t) => ({
    deploymentId: t.field({ type: 'UUID', required: true, description: 'Which.' }),
    resourceGroup: t.string({ description: 'Name of the resource group for its routes.' }),
    image: t.string({
      description:
        'Container image of its program; for agents without containers, a preset of environment and interpreter. Null: none.',
    }),
    command: t.stringList({ description: 'The program and its arguments.' }),
    environ: t.field({
      type: [EnvVarInput],
      description: 'Its whole environment, apart from the variables set by Reprise.',
    }),
    secretEnviron: t.field({
      type: [EnvVarInput],
      description: 'All secret variables, as for `createDeployment`; missing: as they are.',
    }),
    resourceSlots: t.field({ type: [ResourceSlotInput], description: 'All resources of each route.' }),
    labels: t.field({ type: [LabelInput], description: 'All labels of your choice.' }),
    agentLabels: t.field({ type: [LabelInput], description: 'All labels that an agent must have to run a route.' }),
    mounts: t.field({ type: [MountInput], description: 'All volumes for its routes, as for `createDeployment`.' }),
    priority: t.int({ description: '0 to 100; the higher goes first.' }),
    portVariable: t.string({
      description: 'The environment variable that gives the program its port.',
    }),
    healthCheck: t.field({ type: HealthCheckChange, description: 'How the health of its routes is checked.' }),
    startTimeout: t.float({ description: 'Seconds from the creation of a route to its first successful check.' }),
    evictAfter: t.float({ description: 'How long an unhealthy route may take to recover, in seconds.' }),
    drain: t.float({
      description: 'Seconds between removing a route from service discovery and stopping its program.',
    }),
  }),
})

export const DestroyDeploymentInput = builder.inputType('DestroyDeploymentInput', {
  description: 'Which deployment to end.',
  fields: (t) => ({
    deploymentId: t.field({ type: 'UUID', required: true, description: 'Which.' }),
    reason: t.string({ description: 'Why, in your words.' }),
  }),
})

const DeploymentOrderField = builder.enumType('DeploymentOrderField', {
  description: 'By what deployments can be ordered.',
  values: {
    CREATED_AT: { description: 'When it was created.' },
    STATUS_CHANGED_AT: { description: 'Since when it has its status.' },
    NAME: { description: 'By name, byte by byte.' },
  } as const,
})

export const DeploymentOrder = builder.inputType('DeploymentOrder', {
  description: 'What to order deployments by.',
  fields: (t) => ({
    field: t.field({ type: DeploymentOrderField, required: true, description: 'By what.' }),
    direction: t.field({ type: OrderDirection, defaultValue: 'ASC', description: 'Which way.' }),
  }),
})

const COLUMNS: Record<typeof DeploymentOrderField.$inferInput, Pick<OrderColumn, 'column' | 'type'>> = {
  CREATED_AT: { column: 'createdAt', type: 'date' },
  STATUS_CHANGED_AT: { column: 'statusChangedAt', type: 'date' },
  NAME: { column: 'name', type: 'text' },
}

/** The columns to order by; the id comes last, which makes the order total. */
export function deploymentOrder(
  orderBy: typeof DeploymentOrder.$inferInput | null | undefined,
): readonly OrderColumn[] {
  if (!orderBy) return NEWEST_FIRST
  const direction = orderBy.direction === 'DESC' ? 'desc' : 'asc'
  return [
    { ...COLUMNS[orderBy.field], direction },
    { column: 'id', type: 'uuid', direction },
  ]
}

export const DeploymentFilter = builder.inputType('DeploymentFilter', {
  description: 'All given conditions must match.',
  fields: (t) => ({
    status: t.field({ type: [DeploymentStatusEnum], description: 'In one of these statuses.' }),
    project: t.string({ description: 'In the project of this name.' }),
    idPrefix: t.string({ description: ID_PREFIX_WORDS }),
    name: t.field({ type: StringFilter, description: 'By name.' }),
    createdAt: t.field({ type: DateTimeFilter, description: 'By when it was created.' }),
  }),
})
