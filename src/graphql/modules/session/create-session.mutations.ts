import { RepriseError } from '../../../domain/errors.ts'
import type { CreateSessionInput as CreateSession } from '../../../services/session/create-session-input.ts'
import { createSession, createSessions } from '../../../services/session/create-sessions.ts'
import { builder } from '../../builder.ts'
import {
  ConflictError,
  errorShape,
  ForbiddenError,
  NotFoundError,
  QuotaExceededError,
  ValidationError,
  type ErrorShape,
} from '../error/error.type.ts'
import { asResult, typeOf } from '../error/result.ts'
import { CreateSessionInput, CreateSessionsInput } from './create-session.inputs.ts'
import { sessionPayload, type SessionPayload } from './session-payload.ts'

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
