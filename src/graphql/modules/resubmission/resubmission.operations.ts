import type { InputObjectRef } from '@pothos/core'
import { followResubmission } from '../../../events/follow-resubmission.ts'
import { NO_SYNC_POINTS } from '../../../observability/sync-points.ts'
import { projectScope } from '../../../services/access/tenants.ts'
import { ID_PREFIX_WORDS, idsBeginningWith } from '../../../services/input/input-fields.ts'
import { keysetPage, NEWEST_FIRST } from '../../../services/paging.ts'
import {
  abortResubmission,
  assertResubmissionVisible,
  readCancelledDependents,
} from '../../../services/resubmission/resubmissions.ts'
import { actOnSessions, resubmitSessions } from '../../../services/resubmission/resubmit-sessions.ts'
import { builder } from '../../builder.ts'
import { authorizedEvents } from '../../execution/authorized-events.ts'
import { stillThere } from '../../loaders/load-session.ts'
import { edgeQuery, pageComplexity } from '../../paging.ts'
import { ConflictError, ForbiddenError, InvalidStateError, NotFoundError, ValidationError } from '../error.types.ts'
import { mutation } from '../mutation.ts'
import { SessionActionEnum } from '../session/session.types.ts'
import {
  AbortResubmissionInput,
  CancelRetriesInput,
  ResubmitSessionsInput,
  RetryNowManyInput,
  selectionOf,
  TerminateSessionsInput,
} from './resubmission.inputs.ts'
import { DryRunType, payloadType, ResubmissionNode, showBulk } from './resubmission.types.ts'

builder.queryField('resubmission', (t) =>
  t.prismaField({
    type: ResubmissionNode,
    nullable: true,
    description: 'One resubmission; null if there is none that you may see.',
    args: { id: t.arg({ type: 'UUID', required: true, description: 'Its `resubmissionId`.' }) },
    resolve: (query, _root, { id }, { services, viewer }) =>
      services.prisma.resubmission.findFirst({ ...query, where: { id, ...projectScope(viewer) } }),
  }),
)

builder.queryField('resubmissions', (t) =>
  t.connection(
    {
      type: ResubmissionNode,
      description: 'Resubmissions and other actions on many sessions, newest first.',
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
    { name: 'ResubmissionConnection', description: 'A page of resubmissions.' },
    { name: 'ResubmissionEdge', description: 'One resubmission with its cursor.' },
  ),
)

const ResubmitSessionsPayload = payloadType(
  'ResubmitSessionsPayload',
  'A resubmission, and its results so far.',
  'The new attempts',
)
builder.objectField(ResubmitSessionsPayload, 'cancelledDependents', (t) =>
  t.int({
    description:
      'Sessions that stay cancelled because one of these chains had failed; `includeDependents` resubmits them.',
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

const AbortResubmissionPayload = builder.objectRef<{ resubmissionId: string }>('AbortResubmissionPayload').implement({
  description: 'A resubmission that was aborted.',
  fields: (t) => ({
    resubmission: t.prismaField({
      type: ResubmissionNode,
      description: 'The resubmission after the change.',
      resolve: (query, { resubmissionId }, _args, { services }) =>
        stillThere(
          services.prisma.resubmission.findUnique({ ...query, where: { id: resubmissionId } }),
          'RESUBMISSION_NOT_FOUND',
        ),
    }),
  }),
})

mutation({
  name: 'abortResubmission',
  description: 'Aborts a resubmission. Sessions that were already resubmitted stay so; the rest is not resubmitted.',
  input: AbortResubmissionInput,
  inputDescription: 'The resubmission to abort.',
  payload: AbortResubmissionPayload,
  errors: [NotFoundError, ForbiddenError, InvalidStateError],
  result: 'The resubmission',
  repeatable: true,
  run: abortResubmission,
})

manyMutation({
  name: 'terminateSessions',
  action: 'TERMINATE',
  description:
    'Terminates many sessions, each by the rules of `terminateSession`: it also cancels their waiting retries. Up to 500 sessions are done when this returns; the others are done in the background.',
  input: TerminateSessionsInput,
  inputDescription: 'The sessions, and how to terminate them.',
  payload: payloadType(
    'TerminateSessionsPayload',
    'A termination of many sessions, and its results so far.',
    'The sessions that were terminated',
  ),
})

manyMutation({
  name: 'cancelRetries',
  action: 'CANCEL_RETRY',
  description:
    'Cancels the retries of many sessions, each by the rules of `cancelRetry`. Up to 500 sessions are done when this returns; the others are done in the background.',
  input: CancelRetriesInput,
  inputDescription: 'Whose.',
  payload: payloadType(
    'CancelRetriesPayload',
    'A cancellation of many retries, and its results so far.',
    'The sessions whose retries were cancelled',
  ),
})

manyMutation({
  name: 'retryNowMany',
  action: 'RETRY_NOW',
  description:
    'Makes the retries of many sessions due now, each by the rules of `retryNow`. Up to 500 sessions are done when this returns; the others are done in the background.',
  input: RetryNowManyInput,
  inputDescription: 'Whose.',
  payload: payloadType(
    'RetryNowManyPayload',
    'A request to make many retries due now, and its results so far.',
    'The sessions whose retries were made due',
  ),
})

/**
 * Declares a mutation that applies a single-session action to many sessions. The action is recorded as a resubmission.
 */
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

builder.subscriptionField('resubmissionProgress', (t) =>
  t.prismaField({
    type: ResubmissionNode,
    description:
      'The state of a resubmission, sent at once and after each change. Completes when the resubmission has ended.',
    args: { id: t.arg({ type: 'UUID', required: true, description: 'Its `resubmissionId`.' }) },
    subscribe: async (_root, { id }, context) => {
      await assertResubmissionVisible(context, id)
      const { db, wake, closing } = context.services
      const visibleProjectId = context.viewer.projectId
      return authorizedEvents(context, followResubmission({ db, wake, id, visibleProjectId, closing }))
    },
    resolve: (query, { id }, _args, { services }) =>
      stillThere(services.prisma.resubmission.findUnique({ ...query, where: { id } }), 'RESUBMISSION_NOT_FOUND'),
  }),
)
