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
import { SessionActionEnum, SessionNode } from '../session/session.types.ts'

const ResubmissionStateEnum = builder.enumType('ResubmissionState', {
  description: 'State of a resubmission.',
  values: {
    RUNNING: { description: 'Not finished; the server continues by itself.' },
    COMPLETED: { description: 'Everything is done or refused.' },
    ABORTED: { description: 'A person aborted it; what was done before stays.' },
  } as const,
})

const ResubmissionItemStatusEnum = builder.enumType('ResubmissionItemStatus', {
  description: 'Outcome for one session.',
  values: {
    PENDING: { description: 'Not done yet; never done if the resubmission was aborted.' },
    DONE: { description: 'It is done; a session that was resubmitted has a child.' },
    REFUSED: { description: 'It was refused; `code` and `message` say why.' },
  } as const satisfies Record<ResubmissionItemStatus, { description: string }>,
})

const RefusalGroupType = builder.objectRef<RefusalGroup>('RefusalGroup').implement({
  description: 'Sessions that an action is refused to for one reason.',
  fields: (t) => ({
    code: t.exposeString('code', { description: 'The reason, for programs.' }),
    count: t.exposeInt('count', { description: 'How many.' }),
    message: t.exposeString('message', { description: 'What the first of them was told, for people.' }),
  }),
})

/** Length of the resubmission's id, with which the name of a list begins. */
const UUID_LENGTH = 36

const ResubmissionItem = builder.objectRef<ResubmissionItemRow>('ResubmissionItem').implement({
  description: 'One session of a resubmission, or of another action on many.',
  fields: (t) => ({
    id: t.id(
      stableId('ResubmissionItem', ({ list, position }: ResubmissionItemRow) => [list.slice(0, UUID_LENGTH), position]),
    ),
    position: t.exposeInt('position', { description: 'Its place in the resubmission, from 0.' }),
    sessionId: t.expose('sessionId', { type: 'UUID', description: 'As it was named: there may be no such session.' }),
    session: t.field({
      type: SessionNode,
      nullable: true,
      description: 'The session, where you may see it.',
      resolve: ({ sessionId }, _args, context, info) => loadSession({ context, info, by: 'id', value: sessionId }),
    }),
    status: t.expose('status', { type: ResubmissionItemStatusEnum, description: 'Its state.' }),
    childSessionId: t.expose('childSessionId', {
      type: 'UUID',
      nullable: true,
      description: 'The new attempt, of a resubmission.',
    }),
    childSession: t.field({
      type: SessionNode,
      nullable: true,
      description: 'The new attempt, as it is now.',
      resolve: ({ childSessionId }, _args, context, info) =>
        childSessionId === null ? null : loadSession({ context, info, by: 'id', value: childSessionId }),
    }),
    code: t.exposeString('code', { nullable: true, description: 'Why it was refused, for programs.' }),
    message: t.exposeString('message', { nullable: true, description: 'Why it was refused, for people.' }),
  }),
})

const ResubmissionItemConnection = builder.connectionObject(
  { type: ResubmissionItem, name: 'ResubmissionItemConnection', description: 'A page of sessions to be resubmitted.' },
  { name: 'ResubmissionItemEdge', description: 'One of them and its place.' },
)

export const ResubmissionNode = builder.prismaNode('Resubmission', {
  description:
    'A resubmission of failed sessions, or another action on many sessions: who asked for it, when, what was changed, and the outcome.',
  id: { field: 'id' },
  nullable: true,
  findUnique: (id, { viewer }) => ({ id: isUuid(id) ? id : NO_UUID, ...projectScope(viewer) }),
  select: { id: true },
  fields: (t) => ({
    resubmissionId: t.expose('id', { type: 'UUID', description: 'Its id.' }),
    clientKey: t.exposeString('clientKey', { description: 'The idempotency key, unique in the project.' }),
    action: t.expose('action', { type: SessionActionEnum, description: 'What is done to each session.' }),
    actor: t.exposeString('actor', { description: 'Who requested it: the name of the token.' }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was requested.' }),
    filter: t.string({
      nullable: true,
      description: 'The filter that selected the sessions, as JSON; null if they were named.',
      select: { filter: true },
      resolve: ({ filter }) => (filter === null ? null : JSON.stringify(filter)),
    }),
    overrides: t.string({
      description:
        'The overrides, as JSON; `{}` means none. Of a termination `force` and `reason`. Without values of environment variables for a VIEWER.',
      select: { overrides: true },
      resolve: ({ overrides }, _args, { viewer }) => JSON.stringify(shownOverrides(viewer, overrides as object)),
    }),
    state: t.expose('state', { type: ResubmissionStateEnum, description: 'Its status.' }),
    total: t.exposeInt('total', { description: 'Total number of sessions. Fixed when it was requested.' }),
    done: t.exposeInt('done', { description: 'To how many it has been done so far.' }),
    refusedCount: t.exposeInt('refused', { description: 'How many have been refused so far.' }),
    pending: t.int({
      description: 'How many are left: still to be done or, if it was aborted, left undone.',
      select: { total: true, done: true, refused: true },
      resolve: ({ total, done, refused }) => total - done - refused,
    }),
    refusals: t.field({
      type: [RefusalGroupType],
      description: 'Why sessions were refused so far, each reason once, the most frequent first.',
      complexity: { field: 1, multiplier: 10 },
      select: { id: true },
      resolve: ({ id }, _args, { loaders }) => loaders.resubmissionRefusals.load(id),
    }),
    finishedAt: t.expose('finishedAt', { type: 'DateTime', nullable: true, description: 'When it ended.' }),
    abortedBy: t.exposeString('abortedBy', { nullable: true, description: 'Who aborted it, if somebody did.' }),
    items: t.field({
      type: ResubmissionItemConnection,
      description: 'Its sessions, in the order in which they were named, or by id if a filter selected them.',
      args: {
        ...forwardArguments(t),
        status: t.arg({ type: ResubmissionItemStatusEnum, description: 'Only those with this outcome.' }),
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
    sessionId: t.expose('sessionId', { type: 'UUID', description: 'As it was named.' }),
    code: t.exposeString('code', { description: 'Why, for programs.' }),
    message: t.exposeString('message', { description: 'Why, for people.' }),
  }),
})

/** The payload of an action on many sessions. */
export function payloadType(name: string, description: string, sessions: string) {
  return builder.objectRef<ShownResubmission>(name).implement({
    description,
    fields: (t) => ({
      resubmission: t.prismaField({
        type: ResubmissionNode,
        description: 'The record of it. While it is RUNNING, follow it with `resubmissionProgress`.',
        resolve: (query, { resubmissionId }, _args, { services }) =>
          stillThere(
            services.prisma.resubmission.findUnique({ ...query, where: { id: resubmissionId } }),
            'RESUBMISSION_NOT_FOUND',
          ),
      }),
      sessions: t.field({
        type: [SessionNode],
        description: `${sessions}, the first 500; \`resubmission.items\` has all.`,
        resolve: ({ sessionIds }, _args, context, info) => loadExistingSessions({ context, info }, sessionIds),
      }),
      refused: t.field({
        type: [RefusedSession],
        description: 'The first 500 refusals. The other sessions went through.',
        resolve: ({ refused }) => refused,
      }),
    }),
  })
}

export const DryRunType = builder.objectRef<DryRun>('DryRun').implement({
  description: 'What an action on many sessions would do. Nothing is done.',
  fields: (t) => ({
    total: t.exposeInt('total', { description: 'Sessions that were named, or match.' }),
    count: t.exposeInt('count', {
      description: 'Of these, those that it would be done to, as they are now; the others would be refused.',
    }),
    cancelledDependents: t.exposeInt('cancelledDependents', {
      description:
        'Sessions that were cancelled because chains of these failed. They are among `total` with `includeDependents`.',
    }),
    refusals: t.field({
      type: [RefusalGroupType],
      description: 'Why the others would be refused, each reason once, the most frequent first.',
      resolve: ({ refusals }) => refusals,
    }),
    sessions: t.field({
      type: [SessionNode],
      description: 'The first 100 of them, oldest first.',
      resolve: ({ sessionIds }, _args, context, info) => loadExistingSessions({ context, info }, sessionIds),
    }),
  }),
})

/** The payload of an action on many sessions: its progress so far, or the outcome of the dry run. */
export async function showBulk(
  context: GraphQLContext,
  answer: BulkAnswer,
): Promise<ShownResubmission | (DryRun & { __typename: 'DryRun' })> {
  if ('dryRun' in answer) return { __typename: 'DryRun', ...answer.dryRun }
  return showResubmission(context, answer.resubmissionId)
}

const ActionVerdictType = builder.objectRef<ActionVerdict>('ActionVerdict').implement({
  description: 'Whether a mutation would do it now, judged by the rules of the mutation itself.',
  fields: (t) => ({
    action: t.expose('action', { type: SessionActionEnum, description: 'What.' }),
    allowed: t.boolean({
      description: 'Whether you may, and it can be done.',
      resolve: ({ reason }) => reason === null,
    }),
    reason: t.exposeString('reason', {
      nullable: true,
      description: 'The message with which the mutation would refuse; null if allowed.',
    }),
  }),
})

const complexity = { field: 5, multiplier: SESSION_ACTIONS.length }

builder.prismaObjectField(SessionNode, 'actions', (t) =>
  t.field({
    type: [ActionVerdictType],
    description: 'What you could do with it now. It may have changed when you do.',
    complexity,
    select: { id: true },
    resolve: ({ id }, _args, { loaders }) => loaders.sessionActions.load(id),
  }),
)

builder.objectField(ChainNode, 'actions', (t) =>
  t.field({
    type: [ActionVerdictType],
    description: 'What you could do with its newest attempt now. It may have changed when you do.',
    complexity,
    resolve: ({ tailId }, _args, { loaders }) => loaders.sessionActions.load(tailId),
  }),
)
