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
import { builder } from '../../builder.ts'
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
import {
  CreateDeploymentInput,
  DestroyDeploymentInput,
  ScaleDeploymentInput,
  UpdateDeploymentInput,
} from './deployment.inputs.ts'
import { DeploymentNode } from './deployment.type.ts'

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
