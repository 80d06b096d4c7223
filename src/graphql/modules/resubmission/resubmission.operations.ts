import type { InputObjectRef } from '@pothos/core'
import { followResubmission } from '../../../events/follow-resubmission.ts'
import { NO_SYNC_POINTS } from '../../../observability/sync-points.ts'
import { projectScope } from '../../../services/access/tenants.ts'
import { keysetPage, NEWEST_FIRST } from '../../../services/paging.ts'
import {
  abortResubmission,
  assertResubmissionVisible,
  readCancelledDependents,
  showResubmission,
} from '../../../services/resubmission/resubmissions.ts'
import {
  actOnSessions,
  resubmitSessionGroup,
  resubmitSessions,
} from '../../../services/resubmission/resubmit-sessions.ts'
import { builder } from '../../builder.ts'
import type { GraphQLContext } from '../../context.ts'
import { authorizedEvents } from '../../execution/authorized-events.ts'
import { stillThere } from '../../loaders/load-session.ts'
import { edgeQuery, pageComplexity } from '../../paging.ts'
import { ConflictError, ForbiddenError, InvalidStateError, NotFoundError, ValidationError } from '../error.types.ts'
import { mutation } from '../mutation.ts'
import { SessionGroupType } from '../session/session-group.types.ts'
import { BulkActionNode } from './bulk-action.types.ts'
import {
  AbortBulkActionInput,
  BulkActionFilter,
  bulkActionWhere,
  CancelRetriesInput,
  ResubmitSessionGroupInput,
  ResubmitSessionsInput,
  RetryNowManyInput,
  selectionOf,
  TerminateSessionsInput,
} from './resubmission.inputs.ts'
import { DryRunType, payloadType, showBulk } from './resubmission.types.ts'

builder.queryField('bulkAction', (t) =>
  t.prismaField({
    type: BulkActionNode,
    nullable: true,
    description: 'The record of one action on many sessions; null if there is none that you may see.',
    args: { id: t.arg({ type: 'UUID', required: true, description: 'Its `bulkActionId`.' }) },
    resolve: (query, _root, { id }, { services, viewer }) =>
      services.prisma.resubmission.findFirst({ ...query, where: { id, ...projectScope(viewer) } }),
  }),
)

builder.queryField('bulkActions', (t) =>
  t.connection(
    {
      type: BulkActionNode,
      description: 'Actions on many sessions, such as resubmissions and terminations, newest first.',
      args: { filter: t.arg({ type: BulkActionFilter, description: 'Only actions that match.' }) },
      complexity: pageComplexity,
      resolve: (_root, { filter, ...args }, context, info) => {
        const { prisma } = context.services
        const own = { ...projectScope(context.viewer), ...(filter && bulkActionWhere(filter)) }
        const query = edgeQuery({ context, info, typeName: 'BulkAction', order: NEWEST_FIRST })
        return keysetPage({
          args,
          order: NEWEST_FIRST,
          find: ({ where, ...page }) =>
            prisma.resubmission.findMany({ ...query, ...page, where: { AND: [own, where] } }),
          count: () => prisma.resubmission.count({ where: own }),
        })
      },
    },
    { name: 'BulkActionConnection', description: 'A page of actions on many sessions.' },
    { name: 'BulkActionEdge', description: 'One action on many sessions with its cursor.' },
  ),
)

export const ResubmitSessionsPayload = payloadType(
  'ResubmitSessionsPayload',
  'A resubmission, and its results so far.',
  'The new attempts',
)
const ResubmitSessionGroupPayload = payloadType<{ groupId: string }>(
  'ResubmitSessionGroupPayload',
  'A resubmission of members of a group, and its results so far.',
  'The new attempts',
)
for (const payload of [ResubmitSessionsPayload, ResubmitSessionGroupPayload])
  builder.objectField(payload, 'cancelledDependents', (t) =>
    t.int({
      description:
        'Sessions that stay cancelled because one of these chains had failed; `includeDependents` of `resubmitSessions` resubmits them.',
      resolve: ({ resubmissionId }, _args, context) => readCancelledDependents(context, resubmissionId),
    }),
  )

mutation({
  name: 'resubmitSessions',
  description:
    'Gives chains whose newest session failed a new budget: a new attempt in a new epoch, with retryCount 0. A session terminated by a person may be resubmitted too. The new attempt replaces a waiting retry. Up to 500 sessions are done when this returns; the others are done in the background.',
  input: ResubmitSessionsInput,
  inputDescription: 'The sessions, and the changes.',
  payload: ResubmitSessionsPayload,
  otherPayloads: [DryRunType],
  errors: [ValidationError, ConflictError, ForbiddenError],
  result: 'The resubmission, the result of the dry run',
  readsClientKey: true,
  run: async (context, input) => {
    const { prisma } = context.services
    const answer = await resubmitSessions({ ...context, prisma, sync: NO_SYNC_POINTS }, selectionOf(input))
    return showBulk(context, answer)
  },
})

builder.objectField(ResubmitSessionGroupPayload, 'group', (t) =>
  t.field({
    type: SessionGroupType,
    description: 'The group, as it is now.',
    resolve: ({ groupId }, _args, { loaders }) => loaders.groups.load(groupId) as never,
  }),
)

mutation({
  name: 'resubmitSessionGroup',
  description:
    'Resubmits the members of a group that are in these states, as `resubmitSessions` does. A group that had ended runs again, in a new epoch.',
  input: ResubmitSessionGroupInput,
  inputDescription: 'The group, and the changes.',
  payload: ResubmitSessionGroupPayload,
  errors: [ValidationError, NotFoundError, ConflictError, ForbiddenError],
  result: 'The resubmission',
  readsClientKey: true,
  run: async (context, input) => {
    const { prisma } = context.services
    const answer = await resubmitSessionGroup({ ...context, prisma, sync: NO_SYNC_POINTS }, input)
    return { ...(await showResubmission(context, answer.resubmissionId)), groupId: answer.groupId }
  },
})

const AbortBulkActionPayload = builder.objectRef<{ resubmissionId: string }>('AbortBulkActionPayload').implement({
  description: 'An action on many sessions that was aborted.',
  fields: (t) => ({
    bulkAction: t.prismaField({
      type: BulkActionNode,
      description: 'The action after the change.',
      resolve: (query, { resubmissionId }, _args, { services }) =>
        stillThere(
          services.prisma.resubmission.findUnique({ ...query, where: { id: resubmissionId } }),
          'RESUBMISSION_NOT_FOUND',
        ),
    }),
  }),
})

mutation({
  name: 'abortBulkAction',
  description: 'Aborts an action on many sessions. Sessions that are done stay so; the rest is not done.',
  input: AbortBulkActionInput,
  inputDescription: 'The action to abort.',
  payload: AbortBulkActionPayload,
  errors: [NotFoundError, ForbiddenError, InvalidStateError],
  result: 'The action',
  repeatable: true,
  run: (context, { bulkActionId }) => abortResubmission(context, { resubmissionId: bulkActionId }),
})

export const TerminateSessionsPayload = payloadType(
  'TerminateSessionsPayload',
  'A termination of many sessions, and its results so far.',
  'The sessions that were terminated',
)

manyMutation({
  name: 'terminateSessions',
  action: 'TERMINATE',
  description:
    'Terminates many sessions, each by the rules of `terminateSession`: it also cancels their waiting retries. Up to 500 sessions are done when this returns; the others are done in the background.',
  input: TerminateSessionsInput,
  inputDescription: 'The sessions, and how to terminate them.',
  payload: TerminateSessionsPayload,
})

export const CancelRetriesPayload = payloadType(
  'CancelRetriesPayload',
  'A cancellation of many retries, and its results so far.',
  'The sessions whose retries were cancelled',
)

manyMutation({
  name: 'cancelRetries',
  action: 'CANCEL_RETRY',
  description:
    'Cancels the retries of many sessions, each by the rules of `cancelRetry`. Up to 500 sessions are done when this returns; the others are done in the background.',
  input: CancelRetriesInput,
  inputDescription: 'Whose.',
  payload: CancelRetriesPayload,
})

export const RetryNowManyPayload = payloadType(
  'RetryNowManyPayload',
  'A request to make many retries due now, and its results so far.',
  'The sessions whose retries were made due',
)

manyMutation({
  name: 'retryNowMany',
  action: 'RETRY_NOW',
  description:
    'Makes the retries of many sessions due now, each by the rules of `retryNow`. Up to 500 sessions are done when this returns; the others are done in the background.',
  input: RetryNowManyInput,
  inputDescription: 'Whose.',
  payload: RetryNowManyPayload,
})

/** Declares a mutation that applies a single-session action to many sessions. */
function manyMutation<Input extends ManyInput>(options: {
  name: string
  action: Parameters<typeof actOnSessions>[1]
  description: string
  input: InputObjectRef<typeof builder.$inferSchemaTypes, Input>
  inputDescription: string
  payload: ReturnType<typeof payloadType>
}) {
  const { action, ...rest } = options
  mutation({
    ...rest,
    otherPayloads: [DryRunType],
    errors: [ValidationError, ConflictError, ForbiddenError],
    result: 'The record of the action, the result of the dry run',
    readsReason: action === 'TERMINATE',
    readsClientKey: true,
    run: async (context, input) => {
      const { prisma } = context.services
      const answer = await actOnSessions({ ...context, prisma, sync: NO_SYNC_POINTS }, action, selectionOf(input))
      return showBulk(context, answer)
    },
  })
}

type ManyInput = typeof TerminateSessionsInput.$inferInput | typeof CancelRetriesInput.$inferInput

builder.subscriptionField('bulkActionProgress', (t) =>
  t.prismaField({
    type: BulkActionNode,
    description:
      'The state of an action on many sessions, sent at once and after each change. Completes when the action has ended.',
    args: { id: t.arg({ type: 'UUID', required: true, description: 'Its `bulkActionId`.' }) },
    subscribe: (_root, { id }, context) => progressOf(context, id),
    resolve: (query, { id }, _args, { services }) =>
      stillThere(services.prisma.resubmission.findUnique({ ...query, where: { id } }), 'RESUBMISSION_NOT_FOUND'),
  }),
)

/** Follows the progress of an action until it has ended. */
export async function progressOf(context: GraphQLContext, id: string) {
  await assertResubmissionVisible(context, id)
  const { db, wake, closing } = context.services
  const visibleProjectId = context.viewer.projectId
  return authorizedEvents(context, followResubmission({ db, wake, id, visibleProjectId, closing }))
}
