import type { InputFieldBuilder } from '@pothos/core'
import { createResourceGroup } from '../../../services/create-resource-group.ts'
import { deleteResourceGroup } from '../../../services/delete-resource-group.ts'
import { updateResourceGroup } from '../../../services/update-resource-group.ts'
import { builder } from '../../builder.ts'
import {
  ConflictError,
  ForbiddenError,
  InvalidStateError,
  NotFoundError,
  ValidationError,
} from '../error/error.type.ts'
import { asResult, typeOf } from '../error/result.ts'
import { SessionTypeEnum } from '../session/session.enums.ts'
import { AgentSelectorEnum, ResourceGroupType, SequencerEnum } from './resource-group.type.ts'

type Fields = InputFieldBuilder<(typeof builder)['$inferSchemaTypes'], 'InputObject'>

const options = (t: Fields) => ({
  name: t.string({ required: true, description: 'Its name.' }),
  sequencer: t.field({ type: SequencerEnum, description: 'Who goes first.' }),
  selector: t.field({ type: AgentSelectorEnum, description: 'Where it goes.' }),
  maxTries: t.int({ description: 'After so many failures of one handler a session gives up.' }),
  maxReschedules: t.int({ description: 'So often a session may go back to PENDING.' }),
  pendingTimeout: t.float({ description: 'Seconds that a session may wait; null is for ever.' }),
  prepareTimeout: t.float({ description: 'Seconds in SCHEDULED, PREPARING and PULLING; null is for ever.' }),
  createTimeout: t.float({ description: 'Seconds in PREPARED and CREATING; null is for ever.' }),
  terminateTimeout: t.float({ description: 'Seconds in TERMINATING; more than `stopGrace`.' }),
  fenceAfter: t.float({
    description:
      'Seconds after which an agent that is not answered stops its kernels by itself, at least 10. An agent goes by it from when it registers the next time.',
  }),
  stopGrace: t.float({ description: 'Seconds between the wish that a kernel ends and its being killed.' }),
  allowedSessionTypes: t.field({ type: [SessionTypeEnum], description: 'What may be created in it. Not empty.' }),
  draining: t.boolean({ description: 'True schedules nothing new in it; what runs runs on.' }),
  drainReason: t.string({ description: 'Why, for people: those that wait say it.' }),
})

const CreateInput = builder.inputType('CreateResourceGroupInput', {
  description: 'What is not given has its default.',
  fields: options,
})
const UpdateInput = builder.inputType('UpdateResourceGroupInput', {
  description: 'What is not given stays as it is.',
  fields: options,
})
const DeleteInput = builder.inputType('DeleteResourceGroupInput', {
  description: 'Which group.',
  fields: (t) => ({ name: t.string({ required: true, description: 'Its name.' }) }),
})

type Payload<Name extends string> = { __typename: Name; name: string }

function payload<Name extends string>(name: Name) {
  return builder.objectRef<Payload<Name>>(name).implement({
    description: 'What it is now.',
    fields: (t) => ({
      resourceGroup: t.prismaField({
        type: ResourceGroupType,
        description: 'What it is now.',
        resolve: (query, parent, _args, { services }) =>
          services.prisma.resourceGroup.findUniqueOrThrow({ ...query, where: { name: parent.name } }),
      }),
    }),
  })
}

const DeletePayload = builder.objectRef<Payload<'DeleteResourceGroupPayload'>>('DeleteResourceGroupPayload').implement({
  description: 'It is gone.',
  fields: (t) => ({ name: t.exposeString('name', { description: 'What it was called.' }) }),
})

const CreateResult = builder.unionType('CreateResourceGroupResult', {
  description: 'The group, or what the caller can mend.',
  types: [payload('CreateResourceGroupPayload'), ValidationError, ConflictError, ForbiddenError],
  resolveType: typeOf,
})
const UpdateResult = builder.unionType('UpdateResourceGroupResult', {
  description: 'The group, or what the caller can mend.',
  types: [payload('UpdateResourceGroupPayload'), ValidationError, NotFoundError, ForbiddenError],
  resolveType: typeOf,
})
const DeleteResult = builder.unionType('DeleteResourceGroupResult', {
  description: 'Its name, or what the caller can mend.',
  types: [DeletePayload, NotFoundError, InvalidStateError, ForbiddenError],
  resolveType: typeOf,
})

builder.mutationFields((t) => ({
  createResourceGroup: t.field({
    type: CreateResult,
    description: 'Makes a pool of agents, for administrators. Agents join it by its name.',
    args: { input: t.arg({ type: CreateInput, required: true, description: 'Its name and options.' }) },
    resolve: (_root, { input }, context) =>
      asResult(async () => ({
        __typename: 'CreateResourceGroupPayload' as const,
        ...(await createResourceGroup(context, input)),
      })),
  }),
  updateResourceGroup: t.field({
    type: UpdateResult,
    description: 'Changes options of a resource group, and drains or resumes it, for administrators.',
    args: { input: t.arg({ type: UpdateInput, required: true, description: 'Its name, and what to change.' }) },
    resolve: (_root, { input }, context) =>
      asResult(async () => ({
        __typename: 'UpdateResourceGroupPayload' as const,
        ...(await updateResourceGroup(context, input)),
      })),
  }),
  deleteResourceGroup: t.field({
    type: DeleteResult,
    description:
      'Deletes a resource group that no agent, no session that is not finished and no retry that waits belongs to, for administrators.',
    args: { input: t.arg({ type: DeleteInput, required: true, description: 'Which.' }) },
    resolve: (_root, { input }, context) =>
      asResult(async () => ({
        __typename: 'DeleteResourceGroupPayload' as const,
        ...(await deleteResourceGroup(context, input)),
      })),
  }),
}))
