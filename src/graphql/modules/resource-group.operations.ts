import type { InputFieldBuilder } from '@pothos/core'
import { encodeGlobalID } from '@pothos/plugin-relay'
import { nameWhere } from '../../services/input/input-fields.ts'
import { createResourceGroup, deleteResourceGroup, updateResourceGroup } from '../../services/resource-group.ts'
import { builder } from '../builder.ts'
import { ConflictError, ForbiddenError, InvalidStateError, NotFoundError, ValidationError } from './error.types.ts'
import { StringFilter } from './filters.inputs.ts'
import { mutation, reasonField } from './mutation.ts'
import { AgentSelectorEnum, ResourceGroupType, SequencerEnum } from './resource-group.types.ts'
import { SessionTypeEnum } from './session/session.types.ts'
import { ExecutorOptionInput } from './session/values.types.ts'

builder.queryField('resourceGroup', (t) =>
  t.prismaField({
    type: ResourceGroupType,
    nullable: true,
    description: 'One resource group; null if there is none.',
    args: { name: t.arg.string({ required: true, description: 'Its name.' }) },
    resolve: (query, _root, { name }, { services }) =>
      services.prisma.resourceGroup.findFirst({ ...query, where: { name, deletedAt: null } }),
  }),
)

const ResourceGroupFilter = builder.inputType('ResourceGroupFilter', {
  description: 'All given conditions must match.',
  fields: (t) => ({
    name: t.field({ type: StringFilter, description: 'Filter by name.' }),
    draining: t.boolean({ description: 'True: only drained groups; false: only the others.' }),
  }),
})

builder.queryField('resourceGroups', (t) =>
  t.prismaField({
    type: [ResourceGroupType],
    description: 'The resource groups, ordered by name.',
    args: { filter: t.arg({ type: ResourceGroupFilter, description: 'Only groups that match.' }) },
    resolve: (query, _root, { filter }, { services }) => {
      const { name, draining } = filter ?? {}
      const drained = draining == null ? {} : { drainedAt: draining ? { not: null } : null }
      return services.prisma.resourceGroup.findMany({
        ...query,
        where: { deletedAt: null, ...nameWhere(name), ...drained },
        orderBy: { name: 'asc' },
      })
    },
  }),
)

type Fields = InputFieldBuilder<(typeof builder)['$inferSchemaTypes'], 'InputObject'>

const options = (t: Fields) => ({
  name: t.string({ required: true, description: 'Its name.' }),
  sequencer: t.field({ type: SequencerEnum, description: 'Order in which sessions are scheduled.' }),
  selector: t.field({ type: AgentSelectorEnum, description: 'How an agent is selected.' }),
  maxTries: t.int({ description: 'Number of failures of one handler after which a session gives up.' }),
  maxReschedules: t.int({ description: 'How often a session may go back to PENDING.' }),
  pendingTimeout: t.float({ description: 'Timeout in PENDING, in seconds; null means no timeout.' }),
  prepareTimeout: t.float({
    description: 'Timeout in SCHEDULED, PREPARING and PULLING, in seconds; null means no timeout.',
  }),
  createTimeout: t.float({ description: 'Timeout in PREPARED and CREATING, in seconds; null means no timeout.' }),
  queueTimeout: t.float({
    description:
      'How long kernels may wait in the queue of Slurm, in seconds, until their session fails with SCHEDULER_TIMEOUT; null means no timeout.',
  }),
  terminateTimeout: t.float({ description: 'Timeout in TERMINATING, in seconds; more than `stopGrace`.' }),
  fenceAfter: t.float({
    description:
      'Seconds without a response after which an agent stops its kernels by itself, at least 10. An agent applies a change at its next registration.',
  }),
  stopGrace: t.float({ description: 'Grace period in seconds between asking a kernel to stop and killing it.' }),
  stopGraceMax: t.float({ description: 'Longest grace period that its sessions may ask for, in seconds.' }),
  allowedSessionTypes: t.field({
    type: [SessionTypeEnum],
    description: 'Session types accepted by the group. Not empty.',
  }),
  executorOptions: t.field({
    type: [ExecutorOptionInput],
    description:
      'Executor options of all sessions in the group. Replaces all of them; applies to kernels that are assigned later.',
  }),
  allowedExecutorOptions: t.stringList({
    description:
      'Keys of executor options that sessions may set themselves, even if the group sets them too. Replaces all of them.',
  }),
  draining: t.boolean({ description: 'True: no new session is scheduled in it; running kernels keep running.' }),
  drainReason: t.string({ description: 'Reason for draining it, for people. Waiting sessions show it.' }),
})

const CreateResourceGroupInput = builder.inputType('CreateResourceGroupInput', {
  description: 'Missing fields have their defaults.',
  fields: (t) => ({ ...options(t), ...reasonField(t) }),
})

const UpdateResourceGroupInput = builder.inputType('UpdateResourceGroupInput', {
  description: 'Missing fields stay as they are.',
  fields: (t) => ({ ...options(t), ...reasonField(t) }),
})

const DeleteResourceGroupInput = builder.inputType('DeleteResourceGroupInput', {
  description: 'The group to delete.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'Its name.' }),
    ...reasonField(t),
  }),
})

const DeleteResourceGroupPayload = builder.objectRef<{ name: string }>('DeleteResourceGroupPayload').implement({
  description: 'The group was deleted.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Its name.' }),
    deletedId: t.id({
      description: 'Its global id, for caches.',
      resolve: ({ name }) => encodeGlobalID('ResourceGroup', name),
    }),
  }),
})

mutation({
  name: 'createResourceGroup',
  description: 'Creates a resource group; for administrators. Agents join it by name.',
  input: CreateResourceGroupInput,
  inputDescription: 'Its name and options.',
  payload: resourceGroupPayload('CreateResourceGroupPayload'),
  errors: [ValidationError, ConflictError, ForbiddenError],
  result: 'The group',
  run: createResourceGroup,
})

mutation({
  name: 'updateResourceGroup',
  description: 'Changes options of a resource group, or drains or resumes it; for administrators.',
  input: UpdateResourceGroupInput,
  inputDescription: 'Its name, and the changes.',
  payload: resourceGroupPayload('UpdateResourceGroupPayload'),
  errors: [ValidationError, NotFoundError, ForbiddenError],
  result: 'The group',
  run: updateResourceGroup,
})

mutation({
  name: 'deleteResourceGroup',
  description:
    'Deletes a resource group; for administrators. It must have no agents, no unfinished sessions and no waiting retries.',
  input: DeleteResourceGroupInput,
  inputDescription: 'The group to delete.',
  payload: DeleteResourceGroupPayload,
  errors: [NotFoundError, InvalidStateError, ForbiddenError],
  result: 'The name of the deleted group',
  run: deleteResourceGroup,
})

/** A payload whose group is read after the commit, with the selected columns. */
function resourceGroupPayload(name: string) {
  return builder.objectRef<{ name: string }>(name).implement({
    description: 'The group after the change.',
    fields: (t) => ({
      resourceGroup: t.prismaField({
        type: ResourceGroupType,
        description: 'The group after the change.',
        resolve: (query, parent, _args, { services }) =>
          services.prisma.resourceGroup.findUniqueOrThrow({ ...query, where: { name: parent.name } }),
      }),
    }),
  })
}
