import { SESSION_ACTIONS } from '../../../domain/session/session-spec.ts'
import { projectScope } from '../../../services/access/tenants.ts'
import {
  itemList,
  type ResubmissionItemRow,
  type ResubmissionItemStatus,
  type ShownResubmission,
  showResubmission,
} from '../../../services/resubmission/resubmissions.ts'
import type { BulkAnswer } from '../../../services/resubmission/resubmit-sessions.ts'
import type { ActionVerdict } from '../../../services/resubmission/act-on-batch.ts'
import type { DryRun, RefusalGroup } from '../../../services/resubmission/try-out.ts'
import { shownOverrides } from '../../../services/session/session-fields.ts'
import { builder } from '../../builder.ts'
import type { GraphQLContext } from '../../context.ts'
import { isUuid, NO_UUID, stableId } from '../../ids.ts'
import { loadExistingSessions, loadSession, stillThere } from '../../loaders/load-session.ts'
import { forwardArguments, serialPage } from '../../paging.ts'
import { ChainNode } from '../chain/chain.types.ts'
import { ErrorCodeEnum } from '../error-codes.ts'
import { SessionActionEnum, SessionNode } from '../session/session.types.ts'

const ResubmissionStateEnum = builder.enumType('ResubmissionState', {
  description: 'State of a resubmission.',
  values: {
    RUNNING: { description: 'Not finished; the server continues it in the background.' },
    COMPLETED: { description: 'Each session is done or refused.' },
    ABORTED: { description: 'A person aborted it; results from before stay.' },
  } as const,
})

const ResubmissionItemStatusEnum = builder.enumType('ResubmissionItemStatus', {
  description: 'Outcome of an action for one session.',
  values: {
    PENDING: { description: 'Not done yet; never done if the resubmission was aborted.' },
    DONE: { description: 'Done; a session that was resubmitted has a child.' },
    REFUSED: { description: 'Refused; `code` and `message` give the reason.' },
  } as const satisfies Record<ResubmissionItemStatus, { description: string }>,
})

const RefusalGroupType = builder.objectRef<RefusalGroup>('RefusalGroup').implement({
  description: 'Number of sessions for which an action was refused for one reason.',
  fields: (t) => ({
    code: t.expose('code', { type: ErrorCodeEnum, description: 'The reason, for programs.' }),
    count: t.exposeInt('count', { description: 'Number of sessions.' }),
    message: t.exposeString('message', { description: 'The message for the first of these sessions.' }),
  }),
})

/** Length of the resubmission's id, which is the first part of the name of a list. */
const UUID_LENGTH = 36

const ResubmissionItem = builder.objectRef<ResubmissionItemRow>('ResubmissionItem').implement({
  description: 'One session of a resubmission, or of another action on many.',
  fields: (t) => ({
    id: t.id(
      stableId('ResubmissionItem', ({ list, position }: ResubmissionItemRow) => [list.slice(0, UUID_LENGTH), position]),
    ),
    position: t.exposeInt('position', { description: 'Its position in the resubmission, from 0.' }),
    sessionId: t.expose('sessionId', { type: 'UUID', description: 'The id as requested: the session may not exist.' }),
    session: t.field({
      type: SessionNode,
      nullable: true,
      description: 'The session; null if it does not exist or you may not see it.',
      resolve: ({ sessionId }, _args, context, info) => loadSession({ context, info, by: 'id', value: sessionId }),
    }),
    status: t.expose('status', { type: ResubmissionItemStatusEnum, description: 'The outcome so far.' }),
    childSessionId: t.expose('childSessionId', {
      type: 'UUID',
      nullable: true,
      description: 'Id of the new attempt, if the action is a resubmission.',
    }),
    childSession: t.field({
      type: SessionNode,
      nullable: true,
      description: 'The new attempt, if the action is a resubmission.',
      resolve: ({ childSessionId }, _args, context, info) =>
        childSessionId === null ? null : loadSession({ context, info, by: 'id', value: childSessionId }),
    }),
    code: t.expose('code', { type: ErrorCodeEnum, nullable: true, description: 'Error code, if it was refused.' }),
    message: t.exposeString('message', { nullable: true, description: 'Reason, for people, if it was refused.' }),
  }),
})

const ResubmissionItemConnection = builder.connectionObject(
  { type: ResubmissionItem, name: 'ResubmissionItemConnection', description: 'A page of the sessions of an action.' },
  { name: 'ResubmissionItemEdge', description: 'One session of an action with its cursor.' },
)

export const ResubmissionNode = builder.prismaNode('Resubmission', {
  description:
    'The record of a resubmission of failed sessions, or of another action on many sessions: who requested it, when, the changes, and the outcome.',
  id: { field: 'id' },
  nullable: true,
  findUnique: (id, { viewer }) => ({ id: isUuid(id) ? id : NO_UUID, ...projectScope(viewer) }),
  select: { id: true },
  fields: (t) => ({
    resubmissionId: t.expose('id', { type: 'UUID', description: 'Its id.' }),
    clientKey: t.exposeString('clientKey', { description: 'The idempotency key, unique in the project.' }),
    action: t.expose('action', { type: SessionActionEnum, description: 'The action on each session.' }),
    actor: t.exposeString('actor', { description: 'Who requested it: the name of the token.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was requested.' }),
    filter: t.string({
      nullable: true,
      description: 'The filter that selected the sessions, as JSON; null if the request listed their ids.',
      select: { filter: true },
      resolve: ({ filter }) => (filter === null ? null : JSON.stringify(filter)),
    }),
    overrides: t.string({
      description:
        'The overrides, as JSON; `{}` means none. For a termination, `force` and `reason`. For a VIEWER, without values of environment variables.',
      select: { overrides: true },
      resolve: ({ overrides }, _args, { viewer }) => JSON.stringify(shownOverrides(viewer, overrides as object)),
    }),
    state: t.expose('state', { type: ResubmissionStateEnum, description: 'Its status.' }),
    total: t.exposeInt('total', { description: 'Total number of sessions. Fixed when it was requested.' }),
    done: t.exposeInt('done', { description: 'Number of sessions that are done so far.' }),
    refusedCount: t.exposeInt('refused', { description: 'Number of sessions that were refused so far.' }),
    pending: t.int({
      description: 'Number of sessions that are neither done nor refused. If it was aborted, they stay so.',
      select: { total: true, done: true, refused: true },
      resolve: ({ total, done, refused }) => total - done - refused,
    }),
    refusals: t.field({
      type: [RefusalGroupType],
      description: 'Reasons for refusals so far, each once, most frequent first.',
      complexity: { field: 1, multiplier: 10 },
      select: { id: true },
      resolve: ({ id }, _args, { loaders }) => loaders.resubmissionRefusals.load(id),
    }),
    finishedAt: t.expose('finishedAt', { type: 'DateTime', nullable: true, description: 'When it ended.' }),
    abortedBy: t.exposeString('abortedBy', {
      nullable: true,
      description: 'Who aborted it: the name of the token. Null if it was not aborted.',
    }),
    items: t.field({
      type: ResubmissionItemConnection,
      description: 'Its sessions, in the order of the request, or by id if a filter selected them.',
      args: {
        ...forwardArguments(t),
        status: t.arg({ type: ResubmissionItemStatusEnum, description: 'Only sessions with this outcome.' }),
      },
      complexity: ({ first }) => ({ field: 1, multiplier: first ?? 20 }),
      resolve: ({ id }, { status, ...args }, { loaders }) => {
        const list = itemList(id, status ?? null)
        const count = () => loaders.resubmissionItemCount.load(list)
        return serialPage({ id: list, args, loader: loaders.resubmissionItems, count })
      },
    }),
  }),
})

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
export function payloadType(name: string, description: string, sessions: string) {
  return builder.objectRef<ShownResubmission>(name).implement({
    description,
    fields: (t) => ({
      resubmission: t.prismaField({
        type: ResubmissionNode,
        description: 'The record of the action. While it is RUNNING, follow it with `resubmissionProgress`.',
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
