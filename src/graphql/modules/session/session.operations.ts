import type { Prisma } from '../../../generated/prisma/client.ts'
import { COUNTED_ROWS_MAX } from '../../../domain/limits.ts'
import { sessionWhere } from '../../../services/session/session-where.ts'
import { builder } from '../../builder.ts'
import { edgeQuery, pageComplexity } from '../../paging.ts'
import { keysetPage } from '../../../services/paging/keyset.ts'
import { projectScope } from '../../../services/access/tenant-scope.ts'
import { loadExistingSession, loadSession } from '../../loaders/load-session.ts'
import {
  CreateSessionInput,
  CreateSessionsInput,
  SessionFilter,
  SessionOrder,
  sessionOrder,
  TerminateSessionInput,
} from './session.inputs.ts'
import { SessionNode } from './session.types.ts'
import { RepriseError } from '../../../domain/errors.ts'
import type { CreateSessionInput as CreateSession } from '../../../services/session/create-session-input.ts'
import { createSession, createSessions } from '../../../services/session/create-sessions.ts'
import {
  asResult,
  ConflictError,
  errorShape,
  type ErrorShape,
  ForbiddenError,
  InvalidStateError,
  NotFoundError,
  QuotaExceededError,
  typeOf,
  ValidationError,
} from '../error.types.ts'
import { terminateSession } from '../../../services/session/terminate-session.ts'

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
        filter: t.arg({ type: SessionFilter, description: 'Which sessions.' }),
        orderBy: t.arg({ type: [SessionOrder], description: 'Order; the first entry counts most.' }),
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
    { name: 'SessionConnection', description: 'A page of sessions.' },
    { name: 'SessionEdge', description: 'One session and its place.' },
  ),
)

interface CreatedShape extends SessionPayload<'CreateSessionPayload'> {
  created: boolean
}

const CreateSessionPayload = sessionPayload<CreatedShape>('CreateSessionPayload', 'A session that exists now.')
builder.objectField(CreateSessionPayload, 'created', (t) =>
  t.exposeBoolean('created', { description: 'False if the `creationId` was known: the session already existed.' }),
)

const ERRORS = [ValidationError, NotFoundError, ConflictError, QuotaExceededError, ForbiddenError]

const CreateSessionResult = builder.unionType('CreateSessionResult', {
  description: 'A session, or an error that the caller can correct.',
  types: [CreateSessionPayload, ...ERRORS],
  resolveType: typeOf,
})

interface CreatedManyShape {
  __typename: 'CreateSessionsPayload'
  results: (CreatedShape | ErrorShape)[]
}

const CreateSessionsPayload = builder.objectRef<CreatedManyShape>('CreateSessionsPayload').implement({
  description: 'The outcome of each.',
  fields: (t) => ({
    results: t.expose('results', {
      type: [CreateSessionResult],
      description: 'In the order of the input. A failure does not affect the others.',
    }),
  }),
})

const CreateSessionsResult = builder.unionType('CreateSessionsResult', {
  description: 'The outcome of each, or an error that the caller can correct.',
  types: [CreateSessionsPayload, ValidationError, ForbiddenError],
  resolveType: typeOf,
})

const payload = (result: { sessionId: string; created: boolean }): CreatedShape => ({
  __typename: 'CreateSessionPayload',
  ...result,
})

builder.mutationField('createSession', (t) =>
  t.field({
    type: CreateSessionResult,
    description:
      'Creates a session. Idempotent with a `creationId`: the same id with the same input returns the same session, and with another input CREATION_ID_REUSED.',
    args: { input: t.arg({ type: CreateSessionInput, required: true, description: 'What to run, and how.' }) },
    resolve: (_root, { input }, context) =>
      asResult(async () => payload(await createSession(context, input as CreateSession))),
  }),
)

builder.mutationField('createSessions', (t) =>
  t.field({
    type: CreateSessionsResult,
    description: 'Creates up to 1000 sessions, each by itself as `createSession` does.',
    args: { input: t.arg({ type: CreateSessionsInput, required: true, description: 'The sessions.' }) },
    resolve: (_root, { input }, context) =>
      asResult(async () => ({
        __typename: 'CreateSessionsPayload' as const,
        results: (await createSessions(context, input.sessions as CreateSession[])).map((result) =>
          result instanceof RepriseError ? errorShape(result) : payload(result),
        ),
      })),
  }),
)

type TerminateShape = SessionPayload<'TerminateSessionPayload'>

const TerminateSessionPayload = sessionPayload<TerminateShape>(
  'TerminateSessionPayload',
  'A session that has ended or is about to.',
)

const TerminateSessionResult = builder.unionType('TerminateSessionResult', {
  description: 'The session, or an error that the caller can correct.',
  types: [TerminateSessionPayload, ValidationError, NotFoundError, ForbiddenError, InvalidStateError],
  resolveType: typeOf,
})

builder.mutationField('terminateSession', (t) =>
  t.field({
    type: TerminateSessionResult,
    description:
      'Terminates a session, which is then not retried. If it has failed and waits for its retry, the retry is cancelled.',
    args: { input: t.arg({ type: TerminateSessionInput, required: true, description: 'Which, and how.' }) },
    resolve: (_root, { input }, context) =>
      asResult(async () => ({
        __typename: 'TerminateSessionPayload' as const,
        ...(await terminateSession(context, input)),
      })),
  }),
)

export interface SessionPayload<Name extends string = string> {
  __typename: Name
  sessionId: string
}

/** A payload whose session is read after the commit, in one read shaped by the selection. */
export function sessionPayload<Shape extends SessionPayload>(name: Shape['__typename'], description: string) {
  return builder.objectRef<Shape>(name).implement({
    description,
    fields: (t) => ({
      session: t.field({
        type: SessionNode,
        description: 'The session, as it is now.',
        resolve: (payload: SessionPayload, _args, context, info) =>
          loadExistingSession({ context, info, by: 'id', value: payload.sessionId }),
      }),
    }),
  })
}
