import { NO_SYNC_POINTS } from '../../../observability/sync-points.ts'
import { abortResubmission } from '../../../services/resubmission/abort-resubmission.ts'
import { readCancelledDependents } from '../../../services/resubmission/read-resubmission.ts'
import { resubmitSessions } from '../../../services/resubmission/resubmit-sessions.ts'
import { builder } from '../../builder.ts'
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
import { AbortResubmissionInput, ResubmitSessionsInput, selectionOf } from './resubmission.inputs.ts'
import { DryRunType, payloadType, showBulk } from './resubmission-payload.ts'
import { ResubmissionNode } from './resubmission.type.ts'

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
