import { builder } from '../../builder.ts'
import { edgeQuery, pageComplexity } from '../../paging.ts'
import { ID_PREFIX_WORDS, idsBeginningWith } from '../../../services/input/id-prefix.ts'
import { keysetPage } from '../../../services/paging/keyset.ts'
import { NEWEST_FIRST } from '../../../services/paging/orders.ts'
import { projectScope } from '../../../services/access/tenant-scope.ts'
import { SessionActionEnum } from '../session/session.types.ts'
import { DryRunType, payloadType, ResubmissionNode, showBulk } from './resubmission.types.ts'
import { NO_SYNC_POINTS } from '../../../observability/sync-points.ts'
import { abortResubmission } from '../../../services/resubmission/abort-resubmission.ts'
import { assertResubmissionVisible, readCancelledDependents } from '../../../services/resubmission/read-resubmission.ts'
import { actOnSessions, resubmitSessions } from '../../../services/resubmission/resubmit-sessions.ts'
import { stillThere } from '../../loaders/load-session.ts'
import {
  asResult,
  ConflictError,
  ForbiddenError,
  InvalidStateError,
  NotFoundError,
  typeOf,
  ValidationError,
} from '../error.types.ts'
import {
  AbortResubmissionInput,
  CancelRetriesInput,
  ResubmitSessionsInput,
  RetryNowManyInput,
  selectionOf,
  TerminateSessionsInput,
} from './resubmission.inputs.ts'
import type { GraphQLContext } from '../../context.ts'
import { followResubmission } from '../../../events/follow-resubmission.ts'
import { authorizedEvents } from '../../execution/authorized-events.ts'

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
        action: t.arg({ type: [SessionActionEnum], description: 'Only these actions.' }),
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
    { name: 'ResubmissionEdge', description: 'One resubmission and its place.' },
  ),
)

const ResubmitSessionsPayload = payloadType(
  'ResubmitSessionsPayload',
  'A resubmission, and what it has done so far.',
  'The new attempts',
)
builder.objectField(ResubmitSessionsPayload, 'cancelledDependents', (t) =>
  t.int({
    description:
      'Sessions that stay cancelled because one of these chains had failed; `includeDependents` brings them back.',
    resolve: ({ resubmissionId }, _args, context) => readCancelledDependents(context, resubmissionId),
  }),
)

const ResubmitSessionsResult = builder.unionType('ResubmitSessionsResult', {
  description: 'The resubmission, what it would do, or an error that the caller can correct.',
  types: [ResubmitSessionsPayload, DryRunType, ValidationError, ConflictError, ForbiddenError],
  resolveType: typeOf,
})

builder.mutationField('resubmitSessions', (t) =>
  t.field({
    type: ResubmitSessionsResult,
    description:
      'Gives chains whose newest session failed a new budget: a new attempt in a new epoch, with retryCount 0. A session terminated by a person may be resubmitted too. A waiting retry is superseded. Up to 500 sessions are done when this returns; more continue in the background.',
    args: { input: t.arg({ type: ResubmitSessionsInput, required: true, description: 'Which, and what is changed.' }) },
    resolve: (_root, { input }, context) =>
      asResult(async () => {
        const { prisma } = context.services
        const answer = await resubmitSessions({ ...context, prisma, sync: NO_SYNC_POINTS }, selectionOf(input))
        return showBulk(context, 'ResubmitSessionsPayload', answer)
      }),
  }),
)

interface AbortedShape {
  __typename: 'AbortResubmissionPayload'
  resubmissionId: string
}

const AbortResubmissionPayload = builder.objectRef<AbortedShape>('AbortResubmissionPayload').implement({
  description: 'A resubmission that was aborted.',
  fields: (t) => ({
    resubmission: t.prismaField({
      type: ResubmissionNode,
      description: 'The resubmission, as it is now.',
      resolve: (query, { resubmissionId }, _args, { services }) =>
        stillThere(
          services.prisma.resubmission.findUnique({ ...query, where: { id: resubmissionId } }),
          'RESUBMISSION_NOT_FOUND',
        ),
    }),
  }),
})

const AbortResubmissionResult = builder.unionType('AbortResubmissionResult', {
  description: 'The resubmission, or an error that the caller can correct.',
  types: [AbortResubmissionPayload, NotFoundError, ForbiddenError, InvalidStateError],
  resolveType: typeOf,
})

builder.mutationField('abortResubmission', (t) =>
  t.field({
    type: AbortResubmissionResult,
    description: 'Aborts a resubmission. Sessions already resubmitted stay; the rest is left undone.',
    args: { input: t.arg({ type: AbortResubmissionInput, required: true, description: 'Which.' }) },
    resolve: (_root, { input }, context) =>
      asResult(async () => ({
        __typename: 'AbortResubmissionPayload' as const,
        ...(await abortResubmission(context, input)),
      })),
  }),
)

type ManyInput = typeof TerminateSessionsInput.$inferInput | typeof CancelRetriesInput.$inferInput

/** What resubmissions are for one action, these are for the others: recorded, in batches, with progress and refusals. */
function act(context: GraphQLContext, action: Parameters<typeof actOnSessions>[1], input: ManyInput) {
  const { prisma } = context.services
  return actOnSessions({ ...context, prisma, sync: NO_SYNC_POINTS }, action, selectionOf(input))
}

const TerminateSessionsResult = builder.unionType('TerminateSessionsResult', {
  description: 'What has begun, what it would do, or an error that the caller can correct.',
  types: [
    payloadType(
      'TerminateSessionsPayload',
      'A termination of many sessions, and what it has done so far.',
      'The sessions that were terminated',
    ),
    DryRunType,
    ValidationError,
    ConflictError,
    ForbiddenError,
  ],
  resolveType: typeOf,
})

builder.mutationField('terminateSessions', (t) =>
  t.field({
    type: TerminateSessionsResult,
    description:
      'Does to many sessions what `terminateSession` does to one, by its rules: it also cancels the retries that they wait for. Up to 500 sessions are done when this returns; more continue in the background.',
    args: { input: t.arg({ type: TerminateSessionsInput, required: true, description: 'Which, and how.' }) },
    resolve: (_root, { input }, context) =>
      asResult(async () => showBulk(context, 'TerminateSessionsPayload', await act(context, 'TERMINATE', input))),
  }),
)

const CancelRetriesResult = builder.unionType('CancelRetriesResult', {
  description: 'What has begun, what it would do, or an error that the caller can correct.',
  types: [
    payloadType(
      'CancelRetriesPayload',
      'A cancellation of many retries, and what it has done so far.',
      'The sessions whose retries were cancelled',
    ),
    DryRunType,
    ValidationError,
    ConflictError,
    ForbiddenError,
  ],
  resolveType: typeOf,
})

builder.mutationField('cancelRetries', (t) =>
  t.field({
    type: CancelRetriesResult,
    description:
      'Does to the retries of many sessions what `cancelRetry` does to one, by its rules. Up to 500 sessions are done when this returns; more continue in the background.',
    args: { input: t.arg({ type: CancelRetriesInput, required: true, description: 'Whose.' }) },
    resolve: (_root, { input }, context) =>
      asResult(async () => showBulk(context, 'CancelRetriesPayload', await act(context, 'CANCEL_RETRY', input))),
  }),
)

const RetryNowManyResult = builder.unionType('RetryNowManyResult', {
  description: 'What has begun, what it would do, or an error that the caller can correct.',
  types: [
    payloadType(
      'RetryNowManyPayload',
      'Many retries that are made due, and what is done so far.',
      'The sessions whose retries were made due',
    ),
    DryRunType,
    ValidationError,
    ConflictError,
    ForbiddenError,
  ],
  resolveType: typeOf,
})

builder.mutationField('retryNowMany', (t) =>
  t.field({
    type: RetryNowManyResult,
    description:
      'Does to the retries of many sessions what `retryNow` does to one, by its rules. Up to 500 sessions are done when this returns; more continue in the background.',
    args: { input: t.arg({ type: RetryNowManyInput, required: true, description: 'Whose.' }) },
    resolve: (_root, { input }, context) =>
      asResult(async () => showBulk(context, 'RetryNowManyPayload', await act(context, 'RETRY_NOW', input))),
  }),
)

builder.subscriptionField('resubmissionProgress', (t) =>
  t.prismaField({
    type: ResubmissionNode,
    description: 'The state of a resubmission, at once and after each change, until it has ended.',
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
