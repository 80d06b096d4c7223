import { DEPLOYMENT_EVENT_TYPES, type DeploymentOutboxEvent } from '../../../domain/events.ts'
import {
  type CreateDeploymentInput as Create,
  createDeployment,
} from '../../../services/deployment/create-deployment.ts'
import {
  destroyDeployment,
  scaleDeployment,
  type UpdateDeploymentInput as Update,
  updateDeployment,
} from '../../../services/deployment/change-deployment.ts'
import { listDeployments } from '../../../services/deployment/read-deployments.ts'
import { builder } from '../../builder.ts'
import { eventPage, eventPageWords } from '../../event-page.ts'
import { eventStream } from '../../execution/authorized-events.ts'
import { SEARCH_COST } from '../../limits/limits.ts'
import { pageComplexity } from '../../paging.ts'
import {
  ConflictError,
  ForbiddenError,
  InvalidStateError,
  NotFoundError,
  QuotaExceededError,
  ValidationError,
} from '../error.types.ts'
import { LabelFilter } from '../filters.inputs.ts'
import { mutation } from '../mutation.ts'
import { DeploymentEventObject, DeploymentEventTypeEnum, deploymentWireName } from './deployment-event.types.ts'
import {
  CreateDeploymentInput,
  DeploymentFilter,
  DeploymentOrder,
  deploymentOrder,
  DestroyDeploymentInput,
  ScaleDeploymentInput,
  UpdateDeploymentInput,
} from './deployment.inputs.ts'
import { DeploymentNode } from './deployment.types.ts'

builder.queryField('deployment', (t) =>
  t.field({
    type: DeploymentNode,
    nullable: true,
    description: 'One deployment; null if there is none that you may see.',
    args: { id: t.arg({ type: 'UUID', required: true, description: 'Its `deploymentId`.' }) },
    resolve: (_root, { id }, { loaders }) => loaders.deployments.load(id),
  }),
)

builder.queryField('deployments', (t) =>
  t.connection(
    {
      type: DeploymentNode,
      description: 'Deployments, including destroyed ones; newest first by default.',
      args: {
        filter: t.arg({ type: DeploymentFilter, description: 'Only deployments that match.' }),
        orderBy: t.arg({ type: DeploymentOrder, description: 'Order of the list.' }),
      },
      complexity: pageComplexity,
      resolve: (_root, { filter, orderBy, ...page }, { services: { prisma }, viewer }) =>
        listDeployments({ prisma, viewer }, { filter: filter ?? {}, order: deploymentOrder(orderBy), page }),
    },
    { name: 'DeploymentConnection', description: 'A page of deployments.' },
    { name: 'DeploymentEdge', description: 'One deployment with its cursor.' },
  ),
)

const CreateDeploymentPayload = deploymentPayload<{ created: boolean }>(
  'CreateDeploymentPayload',
  'The deployment that was created or already existed.',
)
builder.objectField(CreateDeploymentPayload, 'created', (t) =>
  t.exposeBoolean('created', {
    description: 'False if a deployment with this `creationId` already existed.',
  }),
)

mutation({
  name: 'createDeployment',
  description:
    'Creates a deployment. Idempotent with a `creationId`: the same id with the same input returns the same deployment, and with another input CREATION_ID_REUSED.',
  input: CreateDeploymentInput,
  inputDescription: 'Specification of the deployment.',
  payload: CreateDeploymentPayload,
  errors: [ValidationError, NotFoundError, ConflictError, QuotaExceededError, ForbiddenError],
  result: 'A deployment',
  run: (context, input) => createDeployment(context, input as Create),
})

/** Errors of mutations that change an existing deployment. */
const CHANGE_ERRORS = [ValidationError, NotFoundError, ForbiddenError, InvalidStateError]

mutation({
  name: 'scaleDeployment',
  description: 'Sets the desired number of replicas; 0 keeps the deployment without any.',
  input: ScaleDeploymentInput,
  inputDescription: 'The deployment, and its number of replicas.',
  payload: deploymentPayload('ScaleDeploymentPayload', 'The scaled deployment.'),
  errors: CHANGE_ERRORS,
  result: 'The deployment',
  repeatable: true,
  run: scaleDeployment,
})

mutation({
  name: 'updateDeployment',
  description:
    'Adds a revision and replaces the routes one after the other, never with fewer healthy ones than `minHealthy`.',
  input: UpdateDeploymentInput,
  inputDescription: 'The deployment, and the changes.',
  payload: deploymentPayload('UpdateDeploymentPayload', 'The deployment, with a new revision if anything changed.'),
  errors: CHANGE_ERRORS,
  result: 'The deployment',
  repeatable: true,
  run: (context, input) => updateDeployment(context, input as Update),
})

mutation({
  name: 'destroyDeployment',
  description: 'Destroys a deployment with all its routes. Once it is destroyed, its name can be used again.',
  input: DestroyDeploymentInput,
  inputDescription: 'The deployment, and the reason.',
  payload: deploymentPayload('DestroyDeploymentPayload', 'A deployment that is being destroyed.'),
  errors: CHANGE_ERRORS,
  result: 'The deployment',
  readsReason: true,
  repeatable: true,
  run: destroyDeployment,
})

/** A payload whose deployment is read after the commit. */
function deploymentPayload<Extra extends object = object>(name: string, description: string) {
  return builder.objectRef<{ deploymentId: string } & Extra>(name).implement({
    description,
    fields: (t) => ({
      deployment: t.field({
        type: DeploymentNode,
        description: 'The deployment after the change.',
        resolve: async ({ deploymentId }: { deploymentId: string }, _args, { loaders }) => {
          // An earlier mutation of the same request may have loaded a state that is now outdated.
          const deployment = await loaders.deployments.clear(deploymentId).load(deploymentId)
          if (!deployment) throw new Error(`no deployment ${deploymentId}`)
          return deployment
        },
      }),
    }),
  })
}

const DeploymentEventFilter = builder.inputType('DeploymentEventFilter', {
  description: 'All given conditions must match.',
  fields: (t) => ({
    project: t.string({ description: 'In the project of this name.' }),
    deploymentId: t.field({ type: 'UUID', description: 'About this deployment and its routes.' }),
    types: t.field({ type: [DeploymentEventTypeEnum], description: 'With one of these values.' }),
    labels: t.field({ type: [LabelFilter], description: 'Filter by labels of the deployment. All must match.' }),
  }),
})

const deploymentEventTypes = (filter: typeof DeploymentEventFilter.$inferInput | null | undefined) =>
  new Set(filter?.types?.map(deploymentWireName) ?? DEPLOYMENT_EVENT_TYPES)

builder.queryField('deploymentEvents', (t) =>
  t.connection(
    {
      type: DeploymentEventObject,
      description: `Past events of deployments and their routes, the same as the subscription sends, oldest first. ${eventPageWords('deploymentEvents')}`,
      args: { filter: t.arg({ type: DeploymentEventFilter, description: 'Only events that match.' }) },
      // A page may read as many rows as a search does.
      complexity: (args) => ({ ...pageComplexity(args), field: SEARCH_COST }),
      resolve: (_root, { filter, ...args }, context) =>
        eventPage<DeploymentOutboxEvent>(context, { filter: filter ?? {}, types: deploymentEventTypes(filter), args }),
    },
    { name: 'DeploymentEventConnection', description: 'A page of events of deployments.' },
    { name: 'DeploymentEventEdge', description: 'One event with its cursor.' },
  ),
)

builder.subscriptionField('deploymentEvents', (t) =>
  t.field({
    type: DeploymentEventObject,
    description:
      "Events of deployments and their routes. With the cursor of the client's last event as `after`, all events since then come first, so none is missed.",
    args: {
      filter: t.arg({ type: DeploymentEventFilter, description: 'Only events that match.' }),
      after: t.arg.string({ description: 'Cursor of the last event that the client has received.' }),
    },
    subscribe: (_root, { filter, after }, context) =>
      eventStream<DeploymentOutboxEvent>(context, {
        filter: filter ?? {},
        types: deploymentEventTypes(filter),
        after,
      }),
    resolve: (event) => event,
  }),
)
