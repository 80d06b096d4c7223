import { SESSION_ACTIONS } from '../../../domain/session/session-spec.ts'
import { type ShownResubmission, showResubmission } from '../../../services/resubmission/resubmissions.ts'
import type { BulkAnswer } from '../../../services/resubmission/resubmit-sessions.ts'
import type { ActionVerdict } from '../../../services/resubmission/act-on-batch.ts'
import type { DryRun } from '../../../services/resubmission/try-out.ts'
import { builder } from '../../builder.ts'
import type { GraphQLContext } from '../../context.ts'
import { loadExistingSessions, loadSession, stillThere } from '../../loaders/load-session.ts'
import { ChainNode } from '../chain/chain.types.ts'
import { ErrorCodeEnum } from '../error-codes.ts'
import { SessionActionEnum, SessionNode } from '../session/session.types.ts'
import { BulkActionNode, RefusalGroupType } from './bulk-action.types.ts'

const RefusedSession = builder.objectRef<ShownResubmission['refused'][number]>('RefusedSession').implement({
  description: 'A session that was not resubmitted.',
  fields: (t) => ({
    sessionId: t.expose('sessionId', { type: 'UUID', description: 'The id as requested.' }),
    code: t.expose('code', { type: ErrorCodeEnum, description: 'Error code.' }),
    message: t.exposeString('message', { description: 'Reason, for people.' }),
    childSession: t.field({
      type: SessionNode,
      nullable: true,
      description: 'The session in the way, with SESSION_HAS_CHILD: the next attempt of its chain.',
      resolve: ({ childSessionId }, _args, context, info) =>
        childSessionId === null ? null : loadSession({ context, info, by: 'id', value: childSessionId }),
    }),
  }),
})

/** Declares the payload of an action on many sessions. */
export function payloadType<Extra extends object = object>(name: string, description: string, sessions: string) {
  return builder.objectRef<ShownResubmission & Extra>(name).implement({
    description,
    fields: (t) => ({
      bulkAction: t.prismaField({
        type: BulkActionNode,
        description: 'The record of the action. While it is RUNNING, follow it with `bulkActionProgress`.',
        resolve: (query, { resubmissionId }, _args, { services }) =>
          stillThere(
            services.prisma.resubmission.findUnique({ ...query, where: { id: resubmissionId } }),
            'RESUBMISSION_NOT_FOUND',
          ),
      }),
      sessions: t.field({
        type: [SessionNode],
        description: `${sessions}: the first 500. \`resubmission.items\` lists all.`,
        resolve: ({ sessionIds }, _args, context, info) => loadExistingSessions({ context, info }, sessionIds),
      }),
      refused: t.field({
        type: [RefusedSession],
        description: 'The first 500 refusals. They do not affect the other sessions.',
        resolve: ({ refused }) => refused,
      }),
    }),
  })
}

export const DryRunType = builder.objectRef<DryRun>('DryRun').implement({
  description: 'The result of a dry run of an action on many sessions. Nothing was changed.',
  fields: (t) => ({
    total: t.exposeInt('total', { description: 'Number of sessions that were requested by id or match the filter.' }),
    count: t.exposeInt('count', {
      description:
        'Number of these sessions that would be changed, judged by their present state. The others would be refused.',
    }),
    cancelledDependents: t.exposeInt('cancelledDependents', {
      description:
        'Number of sessions that were cancelled because chains of these failed. `total` includes them with `includeDependents`.',
    }),
    refusals: t.field({
      type: [RefusalGroupType],
      description: 'Reasons for which the others would be refused, each once, most frequent first.',
      resolve: ({ refusals }) => refusals,
    }),
    sessions: t.field({
      type: [SessionNode],
      description: 'The first 100 sessions that would be changed, oldest first.',
      resolve: ({ sessionIds }, _args, context, info) => loadExistingSessions({ context, info }, sessionIds),
    }),
  }),
})

/** Returns the payload of an action on many sessions: its progress so far, or the outcome of the dry run. */
export async function showBulk(
  context: GraphQLContext,
  answer: BulkAnswer,
): Promise<ShownResubmission | (DryRun & { __typename: 'DryRun' })> {
  if ('dryRun' in answer) return { __typename: 'DryRun', ...answer.dryRun }
  return showResubmission(context, answer.resubmissionId)
}

const ActionVerdictType = builder.objectRef<ActionVerdict>('ActionVerdict').implement({
  description: 'Whether an action is possible now, judged by the rules of its mutation.',
  fields: (t) => ({
    action: t.expose('action', { type: SessionActionEnum, description: 'The action.' }),
    allowed: t.boolean({
      description: 'Whether you have the right to do it and it is possible.',
      resolve: ({ reason }) => reason === null,
    }),
    reason: t.exposeString('reason', {
      nullable: true,
      description: 'The error message that the mutation would return; null if allowed.',
    }),
  }),
})

const complexity = { field: 5, multiplier: SESSION_ACTIONS.length }

builder.prismaObjectField(SessionNode, 'actions', (t) =>
  t.field({
    type: [ActionVerdictType],
    description: 'Actions that you could take on it now. They may no longer be possible when you take them.',
    complexity,
    select: { id: true },
    resolve: ({ id }, _args, { loaders }) => loaders.sessionActions.load(id),
  }),
)

builder.objectField(ChainNode, 'actions', (t) =>
  t.field({
    type: [ActionVerdictType],
    description:
      'Actions that you could take on its newest attempt now. They may no longer be possible when you take them.',
    complexity,
    resolve: ({ tailId }, _args, { loaders }) => loaders.sessionActions.load(tailId),
  }),
)
