import { terminateSession } from '../../../services/session/terminate-session.ts'
import { builder } from '../../builder.ts'
import { ForbiddenError, InvalidStateError, NotFoundError, ValidationError } from '../error/error.type.ts'
import { asResult, typeOf } from '../error/result.ts'
import { sessionPayload, type SessionPayload } from './session-payload.ts'

const TerminateSessionInput = builder.inputType('TerminateSessionInput', {
  description: 'Which session to end, and how.',
  fields: (t) => ({
    sessionId: t.field({ type: 'UUID', required: true, description: 'Which.' }),
    force: t.boolean({ description: 'Kill its kernels at once, without the time to clean up.' }),
    reason: t.string({ description: 'Why, in your words.' }),
  }),
})

type Shape = SessionPayload<'TerminateSessionPayload'>

const TerminateSessionPayload = sessionPayload<Shape>(
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
