import { projectScope } from '../../../services/access/tenants.ts'
import { ID_PREFIX_WORDS, idsBeginningWith } from '../../../services/input/input-fields.ts'
import { keysetPage, NEWEST_FIRST } from '../../../services/paging.ts'
import { abortResubmission, type ResubmissionItemStatus } from '../../../services/resubmission/resubmissions.ts'
import { shownOverrides } from '../../../services/session/session-fields.ts'
import { builder } from '../../builder.ts'
import { stillThere } from '../../loaders/load-session.ts'
import { edgeQuery, forwardArguments, pageComplexity } from '../../paging.ts'
import { ForbiddenError, InvalidStateError, NotFoundError } from '../error.types.ts'
import { ChangeBatchType } from '../event.types.ts'
import { mutation } from '../mutation.ts'
import { SessionActionEnum } from '../session/session.types.ts'
import { itemPage, ITEMS_WORDS, itemType, recordNode } from './bulk-action.types.ts'
import {
  CancelRetriesPayload,
  progressOf,
  ResubmitSessionsPayload,
  RetryNowManyPayload,
  TerminateSessionsPayload,
} from './resubmission.operations.ts'

/** Deprecated: the records of actions on many sessions under their former name, resubmissions. */

const ResubmissionStateEnum = builder.enumType('ResubmissionState', {
  description: 'The former name of BulkActionState.',
  values: {
    RUNNING: { description: 'Not finished; the server continues it in the background.' },
    COMPLETED: { description: 'Each session is done or refused.' },
    ABORTED: { description: 'A person aborted it; results from before stay.' },
  } as const,
})

const ResubmissionItemStatusEnum = builder.enumType('ResubmissionItemStatus', {
  description: 'The former name of BulkActionItemStatus.',
  values: {
    PENDING: { description: 'Not done yet; never done if the resubmission was aborted.' },
    DONE: { description: 'Done; a session that was resubmitted has a child.' },
    REFUSED: { description: 'Refused; `code` and `message` give the reason.' },
  } as const satisfies Record<ResubmissionItemStatus, { description: string }>,
})

const ResubmissionItem = itemType('ResubmissionItem')
builder.objectField(ResubmissionItem, 'status', (t) =>
  t.expose('status', { type: ResubmissionItemStatusEnum, description: 'The outcome so far.' }),
)

const ResubmissionItemConnection = builder.connectionObject(
  { type: ResubmissionItem, name: 'ResubmissionItemConnection', description: 'A page of the sessions of an action.' },
  { name: 'ResubmissionItemEdge', description: 'One session of an action with its cursor.' },
)

const ResubmissionNode = recordNode({}, 'The former name of BulkAction.')

builder.prismaObjectFields(ResubmissionNode, (t) => ({
  resubmissionId: t.expose('id', { type: 'UUID', description: 'Its id.' }),
  filter: t.string({
    nullable: true,
    description: 'The filter that selected the sessions, as JSON in a text; null if the request listed their ids.',
    select: { filter: true },
    resolve: ({ filter }) => (filter === null ? null : JSON.stringify(filter)),
  }),
  overrides: t.string({
    description:
      'The overrides, as JSON in a text; `{}` means none. For a termination, `force` and `reason`. For a VIEWER, without values of environment variables.',
    select: { overrides: true },
    resolve: ({ overrides }, _args, { viewer }) => JSON.stringify(shownOverrides(viewer, overrides as object)),
  }),
  state: t.expose('state', { type: ResubmissionStateEnum, description: 'Its state.' }),
  items: t.field({
    type: ResubmissionItemConnection,
    description: ITEMS_WORDS,
    args: {
      ...forwardArguments(t),
      status: t.arg({ type: ResubmissionItemStatusEnum, description: 'Only sessions with this outcome.' }),
    },
    complexity: ({ first }) => ({ field: 1, multiplier: first ?? 20 }),
    select: { id: true },
    resolve: ({ id }, args, context) => itemPage(context, id, args),
  }),
}))

builder.queryField('resubmission', (t) =>
  t.prismaField({
    type: ResubmissionNode,
    nullable: true,
    description: 'One action on many sessions; null if there is none that you may see.',
    deprecationReason: 'Use `bulkAction`.',
    args: { id: t.arg({ type: 'UUID', required: true, description: 'Its `resubmissionId`.' }) },
    resolve: (query, _root, { id }, { services, viewer }) =>
      services.prisma.resubmission.findFirst({ ...query, where: { id, ...projectScope(viewer) } }),
  }),
)

builder.queryField('resubmissions', (t) =>
  t.connection(
    {
      type: ResubmissionNode,
      description: 'Actions on many sessions, newest first.',
      deprecationReason: 'Use `bulkActions`.',
      args: {
        action: t.arg({ type: [SessionActionEnum], description: 'Only records of these actions.' }),
        idPrefix: t.arg.string({ description: ID_PREFIX_WORDS }),
      },
      complexity: pageComplexity,
      resolve: (_root, { action, idPrefix, ...args }, context, info) => {
        const { prisma } = context.services
        const own = {
          ...projectScope(context.viewer),
          ...(action && { action: { in: action } }),
          ...(idPrefix != null && { id: idsBeginningWith(idPrefix, 'idPrefix') }),
        }
        const query = edgeQuery({ context, info, typeName: 'Resubmission', order: NEWEST_FIRST })
        return keysetPage({
          args,
          order: NEWEST_FIRST,
          find: ({ where, ...page }) =>
            prisma.resubmission.findMany({ ...query, ...page, where: { AND: [own, where] } }),
          count: () => prisma.resubmission.count({ where: own }),
        })
      },
    },
    { name: 'ResubmissionConnection', description: 'A page of actions on many sessions.' },
    { name: 'ResubmissionEdge', description: 'One action on many sessions with its cursor.' },
  ),
)

const AbortResubmissionPayload = builder.objectRef<{ resubmissionId: string }>('AbortResubmissionPayload').implement({
  description: 'An action on many sessions that was aborted.',
})

for (const payload of [
  ResubmitSessionsPayload,
  TerminateSessionsPayload,
  CancelRetriesPayload,
  RetryNowManyPayload,
  AbortResubmissionPayload,
]) {
  builder.objectField(payload, 'resubmission', (t) =>
    t.prismaField({
      type: ResubmissionNode,
      description: 'The record of the action.',
      deprecationReason: payload === AbortResubmissionPayload ? 'Use `abortBulkAction`.' : 'Use `bulkAction`.',
      resolve: (query, { resubmissionId }, _args, { services }) =>
        stillThere(
          services.prisma.resubmission.findUnique({ ...query, where: { id: resubmissionId } }),
          'RESUBMISSION_NOT_FOUND',
        ),
    }),
  )
}

const AbortResubmissionInput = builder.inputType('AbortResubmissionInput', {
  description: 'The action on many sessions to abort.',
  fields: (t) => ({
    resubmissionId: t.field({ type: 'UUID', required: true, description: 'Id of the action.' }),
  }),
})

mutation({
  name: 'abortResubmission',
  description: 'Aborts an action on many sessions. Sessions that are done stay so; the rest is not done.',
  deprecationReason: 'Use `abortBulkAction`.',
  input: AbortResubmissionInput,
  inputDescription: 'The action to abort.',
  payload: AbortResubmissionPayload,
  errors: [NotFoundError, ForbiddenError, InvalidStateError],
  result: 'The action',
  run: abortResubmission,
})

builder.subscriptionField('resubmissionProgress', (t) =>
  t.prismaField({
    type: ResubmissionNode,
    description:
      'The state of an action on many sessions, sent at once and after each change. Completes when the action has ended.',
    deprecationReason: 'Use `bulkActionProgress`.',
    args: { id: t.arg({ type: 'UUID', required: true, description: 'Its `resubmissionId`.' }) },
    subscribe: (_root, { id }, context) => progressOf(context, id),
    resolve: (query, { id }, _args, { services }) =>
      stillThere(services.prisma.resubmission.findUnique({ ...query, where: { id } }), 'RESUBMISSION_NOT_FOUND'),
  }),
)

builder.objectField(ChangeBatchType, 'resubmissionIds', (t) =>
  t.expose('resubmissionIds', {
    type: ['UUID'],
    description: 'Actions on many sessions that are new, made progress, or ended.',
    deprecationReason: 'Use `bulkActionIds`.',
  }),
)
