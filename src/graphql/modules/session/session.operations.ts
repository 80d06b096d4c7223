import { RepriseError } from '../../../domain/errors.ts'
import { COUNTED_ROWS_MAX } from '../../../domain/limits.ts'
import type { Prisma } from '../../../generated/prisma/client.ts'
import { projectScope } from '../../../services/access/tenants.ts'
import { keysetPage } from '../../../services/paging.ts'
import type { CreateSessionInput as CreateSession } from '../../../services/session/create-session-input.ts'
import { createSession, createSessions } from '../../../services/session/create-sessions.ts'
import { createGroup } from '../../../services/session/session-groups.ts'
import { sessionWhere } from '../../../services/session/session-where.ts'
import { terminateSession } from '../../../services/session/terminate-session.ts'
import { builder } from '../../builder.ts'
import { loadExistingSession, loadSession } from '../../loaders/load-session.ts'
import { edgeQuery, pageComplexity } from '../../paging.ts'
import {
  ConflictError,
  errorShape,
  ForbiddenError,
  InvalidStateError,
  NotFoundError,
  QuotaExceededError,
  ValidationError,
} from '../error.types.ts'
import { mutation } from '../mutation.ts'
import {
  CreateSessionsInput,
  SessionFilter,
  SessionOrder,
  sessionOrder,
  TerminateSessionInput,
} from './session.inputs.ts'
import { SessionGroupType } from './session-group.types.ts'
import { CreateSessionInput } from './session-spec.types.ts'
import { SESSION_PAGE, SessionNode } from './session.types.ts'

builder.queryField('session', (t) =>
  t.field({
    type: SessionNode,
    nullable: true,
    description: 'One session; null if there is none that you may see.',
    args: { id: t.arg({ type: 'UUID', required: true, description: 'Its `sessionId`.' }) },
    resolve: (_root, { id }, context, info) => loadSession({ context, info, by: 'id', value: id }),
  }),
)

builder.queryField('sessions', (t) =>
  t.connection(
    {
      type: SessionNode,
      description: 'Sessions, newest first by default.',
      args: {
        filter: t.arg({ type: SessionFilter, description: 'Only sessions that match.' }),
        orderBy: t.arg({
          type: [SessionOrder],
          description: 'Order of the list; later entries order sessions that are equal in earlier ones.',
        }),
      },
      complexity: pageComplexity,
      resolve: (_root, { filter, orderBy, ...args }, context, info) => {
        const { prisma } = context.services
        const order = sessionOrder(orderBy)
        const wanted: Prisma.SessionWhereInput = { AND: [projectScope(context.viewer), sessionWhere(filter)] }
        const query = edgeQuery({ context, info, typeName: 'Session', order })
        return keysetPage({
          args,
          order,
          find: ({ where, ...page }) => prisma.session.findMany({ ...query, ...page, where: { AND: [wanted, where] } }),
          count: () => prisma.session.count({ where: wanted, take: COUNTED_ROWS_MAX + 1 }),
          countMax: COUNTED_ROWS_MAX,
        })
      },
    },
    { name: 'SessionConnection', description: 'A page of sessions.', interfaces: [SESSION_PAGE.page] },
    { name: 'SessionEdge', description: 'One session with its cursor.', interfaces: [SESSION_PAGE.edge] },
  ),
)

const CreateSessionPayload = sessionPayload<{ created: boolean }>(
  'CreateSessionPayload',
  'The session that was created or already existed.',
)
builder.objectField(CreateSessionPayload, 'created', (t) =>
  t.exposeBoolean('created', { description: 'False if a session with this `creationId` already existed.' }),
)

const CreateSessionResult = mutation({
  name: 'createSession',
  description:
    'Creates a session. Idempotent with a `creationId`: the same id with the same input returns the same session, and with another input CREATION_ID_REUSED.',
  input: CreateSessionInput,
  inputDescription: 'The session to create.',
  payload: CreateSessionPayload,
  errors: [ValidationError, NotFoundError, ConflictError, QuotaExceededError, ForbiddenError],
  result: 'A session',
  run: (context, input) => createSession(context, input as CreateSession),
})

const CreateSessionsPayload = builder
  .objectRef<{ results: { __typename: string }[]; groupId: string | null; created: boolean }>('CreateSessionsPayload')
  .implement({
    description: 'The outcomes for the sessions.',
    fields: (t) => ({
      results: t.expose('results', {
        type: [CreateSessionResult],
        description:
          'Outcomes in the order of the input. A failure does not affect the other sessions, unless they form a group. Empty for a group with `indexes`.',
      }),
      group: t.field({
        type: SessionGroupType,
        nullable: true,
        description: 'The group; null if none was requested.',
        resolve: ({ groupId }, _args, { loaders }) => (groupId === null ? null : loaders.groups.load(groupId)),
      }),
      created: t.exposeBoolean('created', { description: 'False if a group with this `key` already existed.' }),
    }),
  })

mutation({
  name: 'createSessions',
  description:
    'Creates up to 1000 sessions, each independently as `createSession` does, or a group with its members, all or none.',
  input: CreateSessionsInput,
  inputDescription: 'The sessions to create.',
  payload: CreateSessionsPayload,
  errors: [ValidationError, ForbiddenError, NotFoundError, ConflictError, QuotaExceededError],
  result: 'The outcome for each session',
  run: async (context, input) => {
    const { sessions, group } = input
    if (group != null) {
      const { groupId, created, sessionIds } = await createGroup(context, {
        sessions,
        group,
      })
      const shown = group.indexes == null ? sessionIds : []
      const results = shown.map((sessionId) => ({ __typename: CreateSessionPayload.name, sessionId, created }))
      return { results, groupId, created }
    }
    const results = await createSessions(context, input.sessions)
    return {
      groupId: null,
      created: true,
      results: results.map((result) =>
        result instanceof RepriseError ? errorShape(result) : { __typename: CreateSessionPayload.name, ...result },
      ),
    }
  },
})

mutation({
  name: 'terminateSession',
  description:
    'Ends the chain of a session: the attempt that is live, or the retry that it waits for. Any session of the chain names it. The chain ends as CANCELLED and is not retried until somebody resubmits it. It is a conflict only if nothing of the chain is live.',
  input: TerminateSessionInput,
  inputDescription: 'The chain, and how to end it.',
  payload: sessionPayload(
    'TerminateSessionPayload',
    'The session that ends: the newest attempt of the chain. If it had failed, its retry is cancelled.',
  ),
  errors: [ValidationError, NotFoundError, ForbiddenError, InvalidStateError],
  result: 'The session',
  readsReason: true,
  repeatable: true,
  run: terminateSession,
})

/** A payload whose session is read after the commit, with the selected columns. */
export function sessionPayload<Extra extends object = object>(name: string, description: string) {
  return builder.objectRef<{ sessionId: string } & Extra>(name).implement({
    description,
    fields: (t) => ({
      session: t.field({
        type: SessionNode,
        description: 'The session after the change.',
        resolve: ({ sessionId }: { sessionId: string }, _args, context, info) =>
          loadExistingSession({ context, info, by: 'id', value: sessionId }),
      }),
    }),
  })
}
