import { PAGE_SIZE_DEFAULT } from '../../../domain/limits.ts'
import { findGroup, readGroupPage, readGroups } from '../../../services/session/read-groups.ts'
import { addGroupMembers, cancelSessionGroup } from '../../../services/session/session-groups.ts'
import { argumentError } from '../../../services/input/parse-input.ts'
import { builder } from '../../builder.ts'
import { forwardArguments } from '../../paging.ts'
import {
  ConflictError,
  ForbiddenError,
  InvalidStateError,
  NotFoundError,
  QuotaExceededError,
  ValidationError,
} from '../error.types.ts'
import { keyField, mutation, reasonField } from '../mutation.ts'
import { CreateSessionInput } from './session-spec.types.ts'
import { SessionGroupType } from './session-group.types.ts'

builder.queryField('sessionGroup', (t) =>
  t.field({
    type: SessionGroupType,
    nullable: true,
    description: 'One group of sessions, by its id or by its key; null if there is none that you may see.',
    args: {
      id: t.arg({ type: 'UUID', description: 'Its `groupId`.' }),
      key: t.arg.string({ description: 'Its key, in the project.' }),
      project: t.arg.string({ defaultValue: 'default', description: 'The project of the key.' }),
    },
    resolve: async (_root, { id, key, project }, context) => {
      if ((id == null) === (key == null)) throw argumentError('id', 'Give `id` or `key`.')
      if (id != null) return (await readGroups(context, [id])).get(id.toLowerCase()) ?? null
      return findGroup(context, { key: key!, project: project ?? 'default' })
    },
  }),
)

const SessionGroupFilter = builder.inputType('SessionGroupFilter', {
  description: 'All given conditions must match.',
  fields: (t) => ({
    project: t.string({ description: 'In the project of this name.' }),
    search: t.string({ description: 'Whose name or key begins with this.' }),
    ended: t.boolean({ description: 'True: only groups that have ended; false: only those that have not.' }),
  }),
})

const SessionGroupConnection = builder.connectionObject(
  { type: SessionGroupType, name: 'SessionGroupConnection', description: 'A page of groups of sessions.' },
  { name: 'SessionGroupEdge', description: 'One group with its cursor.' },
)

builder.queryField('sessionGroups', (t) =>
  t.field({
    type: SessionGroupConnection,
    description: 'Groups of sessions, newest first.',
    args: {
      filter: t.arg({ type: SessionGroupFilter, description: 'Only groups that match.' }),
      ...forwardArguments(t),
    },
    complexity: ({ first }) => ({ field: 1, multiplier: first ?? PAGE_SIZE_DEFAULT }),
    resolve: (_root, { filter, ...args }, context) => readGroupPage(context, filter ?? {}, args),
  }),
)

const AddSessionsInput = builder.inputType('AddSessionsInput', {
  description: 'Members to add to an open group.',
  fields: (t) => ({
    groupId: t.field({ type: 'UUID', required: true, description: 'Id of the group.' }),
    sessions: t.field({
      type: [CreateSessionInput],
      description: 'The sessions, at most 1000. A `creationId` lets the call be repeated.',
    }),
    indexes: t.string({
      description:
        'Indexes such as `1001-2000`. `sessions` has one for each, or one for all. Those that are taken are left out.',
    }),
    close: t.boolean({ description: 'True: these are the last ones.' }),
    ...keyField(t),
  }),
})

const AddSessionsPayload = builder.objectRef<{ groupId: string; added: number }>('AddSessionsPayload').implement({
  description: 'The group.',
  fields: (t) => ({
    added: t.exposeInt('added', { description: 'Number of members that were added.' }),
    group: t.field({
      type: SessionGroupType,
      description: 'The group, as it is now.',
      resolve: ({ groupId }, _args, { loaders }) => loaders.groups.load(groupId) as never,
    }),
  }),
})

mutation({
  name: 'addSessions',
  description: 'Adds members to an open group, all or none of them.',
  input: AddSessionsInput,
  inputDescription: 'The group and the sessions.',
  payload: AddSessionsPayload,
  errors: [ValidationError, NotFoundError, ConflictError, QuotaExceededError, InvalidStateError, ForbiddenError],
  result: 'The group',
  run: (context, input) => addGroupMembers(context, input),
})

const CancelSessionGroupInput = builder.inputType('CancelSessionGroupInput', {
  description: 'The group to cancel.',
  fields: (t) => ({
    groupId: t.field({ type: 'UUID', required: true, description: 'Id of the group.' }),
    ...reasonField(t),
    ...keyField(t),
  }),
})

const CancelSessionGroupPayload = builder.objectRef<{ groupId: string }>('CancelSessionGroupPayload').implement({
  description: 'The group.',
  fields: (t) => ({
    group: t.field({
      type: SessionGroupType,
      description: 'The group, as it is now: its members are ended in the background.',
      resolve: ({ groupId }, _args, { loaders }) => loaders.groups.load(groupId) as never,
    }),
  }),
})

mutation({
  name: 'cancelSessionGroup',
  description: 'Ends all members of a group, which then ends as CANCELLED.',
  input: CancelSessionGroupInput,
  inputDescription: 'The group.',
  payload: CancelSessionGroupPayload,
  errors: [ValidationError, NotFoundError, InvalidStateError, ForbiddenError],
  readsReason: true,
  result: 'The group',
  run: (context, input) => cancelSessionGroup(context, input),
})
