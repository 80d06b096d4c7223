import {
  itemList,
  type ResubmissionItemRow,
  type ResubmissionItemStatus,
} from '../../../services/resubmission/read-resubmission.ts'
import type { RefusalGroup } from '../../../services/resubmission/try-out.ts'
import { shownOverrides } from '../../../services/session/shown-environ.ts'
import { builder } from '../../builder.ts'
import { isUuid, NO_UUID, stableId } from '../../ids.ts'
import { loadSession } from '../../loaders/load-session.ts'
import { forwardArguments, serialPage } from '../../paging.ts'
import { projectScope } from '../../../services/access/tenant-scope.ts'
import { SessionActionEnum, SessionNode } from '../session/session.types.ts'

const ResubmissionStateEnum = builder.enumType('ResubmissionState', {
  description: 'State of a resubmission.',
  values: {
    RUNNING: { description: 'Not finished; the server continues by itself.' },
    COMPLETED: { description: 'Everything is done or refused.' },
    ABORTED: { description: 'A person aborted it; what was done before stays.' },
  } as const,
})

export const ResubmissionItemStatusEnum = builder.enumType('ResubmissionItemStatus', {
  description: 'Outcome for one session.',
  values: {
    PENDING: { description: 'Not done yet; never done if the resubmission was aborted.' },
    DONE: { description: 'It is done; a session that was resubmitted has a child.' },
    REFUSED: { description: 'It was refused; `code` and `message` say why.' },
  } as const satisfies Record<ResubmissionItemStatus, { description: string }>,
})

export const RefusalGroupType = builder.objectRef<RefusalGroup>('RefusalGroup').implement({
  description: 'Sessions that an action is refused to for one reason.',
  fields: (t) => ({
    code: t.exposeString('code', { description: 'The reason, for programs.' }),
    count: t.exposeInt('count', { description: 'How many.' }),
    message: t.exposeString('message', { description: 'What the first of them was told, for people.' }),
  }),
})

/** A list is named by its resubmission, and what else it is narrowed to. */
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
