import { NO_SYNC_POINTS } from '../../../observability/sync-points.ts'
import { abortResubmission } from '../../../services/resubmission/abort-resubmission.ts'
import { showResubmission, type ShownResubmission } from '../../../services/resubmission/read-resubmission.ts'
import { resubmitSessions } from '../../../services/resubmission/resubmit-sessions.ts'
import { builder } from '../../builder.ts'
import { loadExistingSessions } from '../../session-reads/load-session.ts'
import { stillThere } from '../../session-reads/still-there.ts'
import {
  ConflictError,
  ForbiddenError,
  InvalidStateError,
  NotFoundError,
  ValidationError,
} from '../error/error.type.ts'
import { asResult, typeOf } from '../error/result.ts'
import { SessionNode } from '../session/session.type.ts'
import { AbortResubmissionInput, ResubmitSessionsInput } from './resubmission.inputs.ts'
import { ResubmissionNode } from './resubmission.type.ts'

const RefusedSession = builder.objectRef<ShownResubmission['refused'][number]>('RefusedSession').implement({
  description: 'A session that was not resubmitted.',
  fields: (t) => ({
    sessionId: t.expose('sessionId', { type: 'UUID', description: 'As it was named.' }),
    code: t.exposeString('code', { description: 'Why, for programs.' }),
    message: t.exposeString('message', { description: 'Why, for people.' }),
  }),
})

type Shape = ShownResubmission & { __typename: 'ResubmitSessionsPayload' }

const ResubmitSessionsPayload = builder.objectRef<Shape>('ResubmitSessionsPayload').implement({
  description: 'A resubmission, and what it has done so far.',
  fields: (t) => ({
    resubmission: t.prismaField({
      type: ResubmissionNode,
      description: 'The resubmission. While it is RUNNING, follow it with `resubmissionProgress`.',
      resolve: (query, { resubmissionId }, _args, { services }) =>
        stillThere(
          services.prisma.resubmission.findUnique({ ...query, where: { id: resubmissionId } }),
          'RESUBMISSION_NOT_FOUND',
        ),
    }),
    sessions: t.field({
      type: [SessionNode],
      description: 'The new attempts, the first 500; `resubmission.items` has all.',
      resolve: ({ childSessionIds }, _args, context, info) => loadExistingSessions({ context, info }, childSessionIds),
    }),
    refused: t.field({
      type: [RefusedSession],
      description: 'The first 500 refusals. The other sessions went through.',
      resolve: ({ refused }) => refused,
    }),
  }),
})

const ResubmitSessionsResult = builder.unionType('ResubmitSessionsResult', {
  description: 'The resubmission, or an error that the caller can correct.',
  types: [ResubmitSessionsPayload, ValidationError, ConflictError, ForbiddenError],
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
        const { resubmissionId } = await resubmitSessions({ ...context, prisma, sync: NO_SYNC_POINTS }, input)
        return { __typename: 'ResubmitSessionsPayload' as const, ...(await showResubmission(context, resubmissionId)) }
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
