import { projectScope } from '../../../services/access/tenants.ts'
import {
  itemList,
  readItemsAt,
  type ResubmissionItemRow,
  type ResubmissionItemStatus,
} from '../../../services/resubmission/resubmissions.ts'
import type { RefusalGroup } from '../../../services/resubmission/try-out.ts'
import { shownOverrides } from '../../../services/session/session-fields.ts'
import { builder } from '../../builder.ts'
import type { GraphQLContext } from '../../context.ts'
import { inOrderOf, isUuid, NO_UUID, nodeKey, numberedKey } from '../../ids.ts'
import { loadSession } from '../../loaders/load-session.ts'
import { forwardArguments, serialPage } from '../../paging.ts'
import { ErrorCodeEnum } from '../error-codes.ts'
import { SessionActionEnum, SessionNode } from '../session/session.types.ts'

/**
 * The records of actions on many sessions. Most of the server still calls all of them resubmissions, the first of these
 * actions.
 */

export const BulkActionStateEnum = builder.enumType('BulkActionState', {
  description: 'State of an action on many sessions.',
  values: {
    RUNNING: { description: 'Not finished; the server continues it in the background.' },
    COMPLETED: { description: 'Each session is done or refused.' },
    ABORTED: { description: 'A person aborted it; results from before stay.' },
  } as const,
})

const BulkActionItemStatusEnum = builder.enumType('BulkActionItemStatus', {
  description: 'Outcome of an action for one session.',
  values: {
    PENDING: { description: 'Not done yet; never done if the action was aborted.' },
    DONE: { description: 'Done; a session that was resubmitted has a child.' },
    REFUSED: { description: 'Refused; `code` and `message` give the reason.' },
  } as const satisfies Record<ResubmissionItemStatus, { description: string }>,
})

export const RefusalGroupType = builder.objectRef<RefusalGroup>('RefusalGroup').implement({
  description: 'Number of sessions for which an action was refused for one reason.',
  fields: (t) => ({
    code: t.expose('code', { type: ErrorCodeEnum, description: 'The reason, for programs.' }),
    count: t.exposeInt('count', { description: 'Number of sessions.' }),
    message: t.exposeString('message', { description: 'The message for the first of these sessions.' }),
  }),
})

/** Length of the record's id, which is the first part of the name of a list. */
const UUID_LENGTH = 36

const itemKey = ({ list, position }: ResubmissionItemRow) => nodeKey([list.slice(0, UUID_LENGTH), position])

/** Declares the type of one session of an action, without its status. */
export function itemType(name: string) {
  return builder.node(builder.objectRef<ResubmissionItemRow>(name), {
    description: 'One session of an action on many.',
    id: { resolve: itemKey },
    loadMany: async (ids, context) => {
      const places = ids.flatMap((id) => numberedKey(id) ?? [])
      const found = await readItemsAt(
        context,
        places.map(({ of, number }) => ({ resubmissionId: of, position: number })),
      )
      return inOrderOf(ids, found, itemKey)
    },
    fields: (t) => ({
      position: t.exposeInt('position', { description: 'Its position in the action, from 0.' }),
      sessionId: t.expose('sessionId', {
        type: 'UUID',
        description: 'The id as requested: the session may not exist.',
      }),
      session: t.field({
        type: SessionNode,
        nullable: true,
        description: 'The session; null if it does not exist or you may not see it.',
        resolve: ({ sessionId }, _args, context, info) => loadSession({ context, info, by: 'id', value: sessionId }),
      }),
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
}

const BulkActionItem = itemType('BulkActionItem')
builder.objectField(BulkActionItem, 'status', (t) =>
  t.expose('status', { type: BulkActionItemStatusEnum, description: 'The outcome so far.' }),
)

const BulkActionItemConnection = builder.connectionObject(
  { type: BulkActionItem, name: 'BulkActionItemConnection', description: 'A page of the sessions of an action.' },
  { name: 'BulkActionItemEdge', description: 'One session of an action with its cursor.' },
)

/** Declares a node for the record of an action on many sessions, with the fields that both its names have. */
export function recordNode(name: { variant?: string }, description: string) {
  return builder.prismaNode('Resubmission', {
    ...name,
    description,
    id: { field: 'id' },
    nullable: true,
    findUnique: (id, { viewer }) => ({ id: isUuid(id) ? id : NO_UUID, ...projectScope(viewer) }),
    select: { id: true },
    fields: (t) => ({
      clientKey: t.exposeString('clientKey', { description: 'The idempotency key, unique in the project.' }),
      action: t.expose('action', { type: SessionActionEnum, description: 'The action on each session.' }),
      actor: t.exposeString('actor', { description: 'Who requested it: the name of the token.' }),
      createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was requested.' }),
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
    }),
  })
}

export const ITEMS_WORDS = 'Its sessions, in the order of the request, or by id if a filter selected them.'

/** Reads a page of the sessions of a record. */
export function itemPage(
  { loaders }: GraphQLContext,
  id: string,
  { status, ...args }: { status?: ResubmissionItemStatus | null; first?: number | null; after?: string | null },
) {
  const list = itemList(id, status ?? null)
  const count = () => loaders.resubmissionItemCount.load(list)
  return serialPage({ id: list, args, loader: loaders.resubmissionItems, count })
}

export const BulkActionNode = recordNode(
  { variant: 'BulkAction' },
  'The record of an action on many sessions: who requested it, when, the changes, and the outcome.',
)

builder.prismaObjectFields(BulkActionNode, (t) => ({
  bulkActionId: t.expose('id', { type: 'UUID', description: 'Its id.' }),
  filter: t.field({
    type: 'JSON',
    nullable: true,
    description: 'The filter that selected the sessions; null if the request listed their ids.',
    select: { filter: true },
    resolve: ({ filter }): unknown => filter,
  }),
  overrides: t.field({
    type: 'JSON',
    description:
      'The overrides; `{}` means none. For a termination, `force` and `reason`. For a VIEWER, without values of environment variables.',
    select: { overrides: true },
    resolve: ({ overrides }, _args, { viewer }): unknown => shownOverrides(viewer, overrides as object),
  }),
  state: t.expose('state', { type: BulkActionStateEnum, description: 'Its state.' }),
  items: t.field({
    type: BulkActionItemConnection,
    description: ITEMS_WORDS,
    args: {
      ...forwardArguments(t),
      status: t.arg({ type: BulkActionItemStatusEnum, description: 'Only sessions with this outcome.' }),
    },
    complexity: ({ first }) => ({ field: 1, multiplier: first ?? 20 }),
    select: { id: true },
    resolve: ({ id }, args, context) => itemPage(context, id, args),
  }),
}))
