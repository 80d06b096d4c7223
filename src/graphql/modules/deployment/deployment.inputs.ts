import { ID_PREFIX_WORDS } from '../../../services/input/input-fields.ts'
import { NEWEST_FIRST, type OrderColumn } from '../../../services/paging.ts'
import { builder } from '../../builder.ts'
import { DateTimeFilter, LabelFilter, OrderDirection, StringFilter } from '../filters.inputs.ts'
import { GPUS_CHANGE, GpusInput } from '../session/gpus.types.ts'
import { EnvVarInput, LabelInput, MountInput, ResourceSlotInput } from '../session/values.types.ts'
import { DeploymentStatusEnum } from './deployment.types.ts'
import { keyField, repeatableFields } from '../mutation.ts'

const MIN_HEALTHY =
  'Minimum number of healthy replicas during an update. Null: three quarters of the replicas, rounded up.'
const MAX_SURGE = 'Maximum number of extra replicas during an update. Null: a quarter of the replicas, rounded up.'
const STALE_AFTER =
  'Seconds for which the result of a check is valid. Null: three times the sum of interval and timeout.'

const HealthCheckInput = builder.inputType('HealthCheckInput', {
  description: 'Health check of a route: an HTTP GET request, which succeeds with a status of 200 to 299.',
  fields: (t) => ({
    path: t.string({ defaultValue: '/', description: 'The path to request.' }),
    interval: t.float({ defaultValue: 5, description: 'Seconds between two checks, at least 0.1.' }),
    timeout: t.float({ defaultValue: 2, description: 'Timeout of a check in seconds, at least 0.05.' }),
    healthyThreshold: t.int({ defaultValue: 1, description: 'Number of consecutive successes that make it healthy.' }),
    unhealthyThreshold: t.int({
      defaultValue: 3,
      description: 'Number of consecutive failures that make it unhealthy.',
    }),
    initialDelay: t.float({ defaultValue: 0, description: 'Seconds from the start of user code to the first check.' }),
    staleAfter: t.float({ description: STALE_AFTER }),
  }),
})

export const CreateDeploymentInput = builder.inputType('CreateDeploymentInput', {
  description: 'The program to serve, the number of replicas, and the health check. Durations are in seconds.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'Lower-case letters, digits and -, unique in the project.' }),
    project: t.string({ description: 'Name of the project. Missing: the only project of the token, or `default`.' }),
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
      description:
        'Secret variables: their values are stored encrypted, are given to kernels at their start, and cannot be read otherwise.',
    }),
    resourceSlots: t.field({ type: [ResourceSlotInput], description: 'Resources of each route.' }),
    gpus: t.field({ type: GpusInput, description: 'GPUs of each route, by model or memory.' }),
    labels: t.field({ type: [LabelInput], description: 'Labels of your choice.' }),
    agentLabels: t.field({ type: [LabelInput], description: 'An agent must have all of these labels to run a route.' }),
    mounts: t.field({
      type: [MountInput],
      description:
        'Volumes that its routes mount. An agent of the resource group must have all of them for its project.',
    }),
    priority: t.int({ defaultValue: 10, description: 'Priority, 0 to 100; higher ones are scheduled first.' }),
    replicas: t.int({ defaultValue: 1, description: 'Desired number of healthy routes.' }),
    minHealthy: t.int({ description: MIN_HEALTHY }),
    maxSurge: t.int({ description: MAX_SURGE }),
    portVariable: t.string({
      defaultValue: 'PORT',
      description: "Name of the environment variable that holds the program's port.",
    }),
    healthCheck: t.field({ type: HealthCheckInput, description: 'The health check of its routes.' }),
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
  description: 'The deployment to scale. Missing fields stay as they are.',
  fields: (t) => ({
    deploymentId: t.field({ type: 'UUID', required: true, description: 'Id of the deployment.' }),
    replicas: t.int({ description: 'Desired number of healthy routes.' }),
    minHealthy: t.int({ description: MIN_HEALTHY }),
    maxSurge: t.int({ description: MAX_SURGE }),
    ...repeatableFields(t),
  }),
})

const HealthCheckChange = builder.inputType('HealthCheckChange', {
  description: 'Missing fields stay as they are.',
  fields: (t) => ({
    path: t.string({ description: 'The path to request.' }),
    interval: t.float({ description: 'Seconds between two checks, at least 0.1.' }),
    timeout: t.float({ description: 'Timeout of a check in seconds, at least 0.05.' }),
    healthyThreshold: t.int({ description: 'Number of consecutive successes that make it healthy.' }),
    unhealthyThreshold: t.int({ description: 'Number of consecutive failures that make it unhealthy.' }),
    initialDelay: t.float({ description: 'Seconds from the start of user code to the first check.' }),
    staleAfter: t.float({ description: STALE_AFTER }),
  }),
})

export const UpdateDeploymentInput = builder.inputType('UpdateDeploymentInput', {
  description: 'Changes to the specification of its routes. Missing fields stay as they are.',
  fields: (t) => ({
    deploymentId: t.field({ type: 'UUID', required: true, description: 'Id of the deployment.' }),
    resourceGroup: t.string({ description: 'Name of the resource group for its routes.' }),
    image: t.string({
      description:
        'Container image of its program; for agents without containers, a preset of environment and interpreter. Null: none.',
    }),
    command: t.stringList({ description: 'The program and its arguments.' }),
    environ: t.field({
      type: [EnvVarInput],
      description: 'Its environment, in addition to the variables set by Reprise. Replaces all variables.',
    }),
    secretEnviron: t.field({
      type: [EnvVarInput],
      description: 'Its secret variables, as for `createDeployment`. Replaces all of them.',
    }),
    resourceSlots: t.field({
      type: [ResourceSlotInput],
      description: 'Resources of each route. Replaces all of them.',
    }),
    gpus: t.field({ type: GpusInput, description: GPUS_CHANGE }),
    labels: t.field({ type: [LabelInput], description: 'Labels of your choice. Replaces all of them.' }),
    agentLabels: t.field({
      type: [LabelInput],
      description: 'Labels that an agent must have to run a route. Replaces all of them.',
    }),
    mounts: t.field({
      type: [MountInput],
      description: 'Volumes that its routes mount, as for `createDeployment`. Replaces all of them.',
    }),
    priority: t.int({ description: 'Priority, 0 to 100; higher ones are scheduled first.' }),
    portVariable: t.string({
      description: "Name of the environment variable that holds the program's port.",
    }),
    healthCheck: t.field({ type: HealthCheckChange, description: 'The health check of its routes.' }),
    startTimeout: t.float({ description: 'Seconds from the creation of a route to its first successful check.' }),
    evictAfter: t.float({ description: 'How long an unhealthy route may take to recover, in seconds.' }),
    drain: t.float({
      description: 'Seconds between removing a route from service discovery and stopping its program.',
    }),
    ...repeatableFields(t),
  }),
})

export const DestroyDeploymentInput = builder.inputType('DestroyDeploymentInput', {
  description: 'The deployment to destroy.',
  fields: (t) => ({
    deploymentId: t.field({ type: 'UUID', required: true, description: 'Id of the deployment.' }),
    reason: t.string({ description: 'The reason, for people.' }),
    ...keyField(t),
  }),
})

const DeploymentOrderField = builder.enumType('DeploymentOrderField', {
  description: 'Fields that deployments can be ordered by.',
  values: {
    CREATED_AT: { description: 'When it was created.' },
    STATUS_CHANGED_AT: { description: 'When it entered its status.' },
    NAME: { description: 'Its name, compared byte by byte.' },
  } as const,
})

export const DeploymentOrder = builder.inputType('DeploymentOrder', {
  description: 'Order of deployments.',
  fields: (t) => ({
    field: t.field({ type: DeploymentOrderField, required: true, description: 'Field to order by.' }),
    direction: t.field({ type: OrderDirection, defaultValue: 'ASC', description: 'Direction.' }),
  }),
})

const COLUMNS: Record<typeof DeploymentOrderField.$inferInput, Pick<OrderColumn, 'column' | 'type'>> = {
  CREATED_AT: { column: 'createdAt', type: 'date' },
  STATUS_CHANGED_AT: { column: 'statusChangedAt', type: 'date' },
  NAME: { column: 'name', type: 'text' },
}

/** Returns the columns to order by. The id comes last, which makes the order total. */
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
    name: t.field({ type: StringFilter, description: 'Filter by name.' }),
    labels: t.field({ type: [LabelFilter], description: 'Filter by labels. All must match.' }),
    createdAt: t.field({ type: DateTimeFilter, description: 'Filter by creation time.' }),
  }),
})
