import { listDeployments } from '../../../services/deployment/read-deployments.ts'
import { builder } from '../../builder.ts'
import { pageComplexity } from '../../paging.ts'
import { DeploymentNode } from './deployment.types.ts'
import {
  CreateDeploymentInput,
  DeploymentFilter,
  DeploymentOrder,
  deploymentOrder,
  DestroyDeploymentInput,
  ScaleDeploymentInput,
  UpdateDeploymentInput,
} from './deployment.inputs.ts'
import {
  type CreateDeploymentInput as Create,
  createDeployment,
} from '../../../services/deployment/create-deployment.ts'
import { destroyDeployment } from '../../../services/deployment/destroy-deployment.ts'
import { scaleDeployment } from '../../../services/deployment/scale-deployment.ts'
import {
  type UpdateDeploymentInput as Update,
  updateDeployment,
} from '../../../services/deployment/update-deployment.ts'
import {
  asResult,
  ConflictError,
  ForbiddenError,
  InvalidStateError,
  NotFoundError,
  QuotaExceededError,
  typeOf,
  ValidationError,
} from '../error.types.ts'
import { DEPLOYMENT_EVENT_TYPES, type DeploymentOutboxEvent } from '../../../domain/events.ts'
import { eventStream } from '../../execution/authorized-events.ts'
import { DeploymentEventObject, DeploymentEventTypeEnum, deploymentWireName } from './deployment-event.types.ts'

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
        filter: t.arg({ type: DeploymentFilter, description: 'Which deployments.' }),
        orderBy: t.arg({ type: DeploymentOrder, description: 'In which order.' }),
      },
      complexity: pageComplexity,
      resolve: (_root, { filter, orderBy, ...page }, { services: { prisma }, viewer }) =>
        listDeployments({ prisma, viewer }, { filter: filter ?? {}, order: deploymentOrder(orderBy), page }),
    },
    { name: 'DeploymentConnection', description: 'A page of deployments.' },
    { name: 'DeploymentEdge', description: 'One deployment and its place.' },
  ),
)

interface CreatedShape extends DeploymentPayload<'CreateDeploymentPayload'> {
  created: boolean
}

const CreateDeploymentPayload = deploymentPayload<CreatedShape>(
  'CreateDeploymentPayload',
  'A deployment that exists now.',
)
builder.objectField(CreateDeploymentPayload, 'created', (t) =>
  t.exposeBoolean('created', {
    description: 'False if the `creationId` was known: the deployment already existed.',
  }),
)

const CreateDeploymentResult = builder.unionType('CreateDeploymentResult', {
  description: 'A deployment, or an error that the caller can correct.',
  types: [CreateDeploymentPayload, ValidationError, NotFoundError, ConflictError, QuotaExceededError, ForbiddenError],
  resolveType: typeOf,
})

builder.mutationField('createDeployment', (t) =>
  t.field({
    type: CreateDeploymentResult,
    description:
      'Creates a deployment. Idempotent with a `creationId`: the same id with the same input returns the same deployment, and with another input CREATION_ID_REUSED.',
    args: { input: t.arg({ type: CreateDeploymentInput, required: true, description: 'What to serve, and how.' }) },
    resolve: (_root, { input }, context) =>
      asResult(async () => ({
        __typename: 'CreateDeploymentPayload' as const,
        ...(await createDeployment(context, input as Create)),
      })),
  }),
)

/** Errors of mutations that change an existing deployment. */
const CHANGE_ERRORS = [ValidationError, NotFoundError, ForbiddenError, InvalidStateError]

const ScaleDeploymentResult = builder.unionType('ScaleDeploymentResult', {
  description: 'The deployment, or an error that the caller can correct.',
  types: [
    deploymentPayload<DeploymentPayload<'ScaleDeploymentPayload'>>('ScaleDeploymentPayload', 'The scaled deployment.'),
    ...CHANGE_ERRORS,
  ],
  resolveType: typeOf,
})

builder.mutationField('scaleDeployment', (t) =>
  t.field({
    type: ScaleDeploymentResult,
    description: 'Sets the desired number of replicas; 0 keeps the deployment without any.',
    args: { input: t.arg({ type: ScaleDeploymentInput, required: true, description: 'Which, and how many.' }) },
    resolve: (_root, { input }, context) =>
      asResult(async () => ({
        __typename: 'ScaleDeploymentPayload' as const,
        ...(await scaleDeployment(context, input)),
      })),
  }),
)

const UpdateDeploymentResult = builder.unionType('UpdateDeploymentResult', {
  description: 'The deployment, or an error that the caller can correct.',
  types: [
    deploymentPayload<DeploymentPayload<'UpdateDeploymentPayload'>>(
      'UpdateDeploymentPayload',
      'The deployment, with a new revision if anything differs.',
    ),
    ...CHANGE_ERRORS,
  ],
  resolveType: typeOf,
})

builder.mutationField('updateDeployment', (t) =>
  t.field({
    type: UpdateDeploymentResult,
    description:
      'Adds a revision and replaces the routes one after the other, never with fewer healthy ones than `minHealthy`.',
    args: { input: t.arg({ type: UpdateDeploymentInput, required: true, description: 'Which, and what to change.' }) },
    resolve: (_root, { input }, context) =>
      asResult(async () => ({
        __typename: 'UpdateDeploymentPayload' as const,
        ...(await updateDeployment(context, input as Update)),
      })),
  }),
)

const DestroyDeploymentResult = builder.unionType('DestroyDeploymentResult', {
  description: 'The deployment, or an error that the caller can correct.',
  types: [
    deploymentPayload<DeploymentPayload<'DestroyDeploymentPayload'>>(
      'DestroyDeploymentPayload',
      'A deployment that is being ended.',
    ),
    ...CHANGE_ERRORS,
  ],
  resolveType: typeOf,
})

builder.mutationField('destroyDeployment', (t) =>
  t.field({
    type: DestroyDeploymentResult,
    description: 'Ends a deployment with all its routes. Its name is free again when it is gone.',
    args: { input: t.arg({ type: DestroyDeploymentInput, required: true, description: 'Which, and why.' }) },
    resolve: (_root, { input }, context) =>
      asResult(async () => ({
        __typename: 'DestroyDeploymentPayload' as const,
        ...(await destroyDeployment(context, input)),
      })),
  }),
)

interface DeploymentPayload<Name extends string = string> {
  __typename: Name
  deploymentId: string
}

/** A payload whose deployment is read after the commit. */
function deploymentPayload<Shape extends DeploymentPayload>(name: Shape['__typename'], description: string) {
  return builder.objectRef<Shape>(name).implement({
    description,
    fields: (t) => ({
      deployment: t.field({
        type: DeploymentNode,
        description: 'The deployment, as it is now.',
        resolve: async ({ deploymentId }: DeploymentPayload, _args, { loaders }) => {
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
  }),
})

builder.subscriptionField('deploymentEvents', (t) =>
  t.field({
    type: DeploymentEventObject,
    description:
      "Events of deployments and their routes. With the cursor of the client's last event as `after`, everything since then comes first, and nothing is missed.",
    args: {
      filter: t.arg({ type: DeploymentEventFilter, description: 'Which events.' }),
      after: t.arg.string({ description: "Cursor of the client's last event." }),
    },
    subscribe: (_root, { filter, after }, context) =>
      eventStream<DeploymentOutboxEvent>(context, {
        filter: filter ?? {},
        types: new Set(filter?.types?.map(deploymentWireName) ?? DEPLOYMENT_EVENT_TYPES),
        after,
      }),
    resolve: (event) => event,
  }),
)
