import { cancelRetry } from '../../../services/retry/cancel-retry.ts'
import { retryNow } from '../../../services/retry/retry-now.ts'
import { updateRetry } from '../../../services/retry/update-retry.ts'
import { builder } from '../../builder.ts'
import { asResult, ForbiddenError, InvalidStateError, NotFoundError, typeOf, ValidationError } from '../error.types.ts'
import { RetryPolicyInput } from './retry-policy.types.ts'
import { sessionPayload, type SessionPayload } from '../session/session.operations.ts'

const CancelRetryInput = builder.inputType('CancelRetryInput', {
  description: 'Which retry to cancel.',
  fields: (t) => ({
    sessionId: t.field({ type: 'UUID', required: true, description: 'The session that failed.' }),
  }),
})

const RetryNowInput = builder.inputType('RetryNowInput', {
  description: 'The retry to make due now.',
  fields: (t) => ({
    sessionId: t.field({ type: 'UUID', required: true, description: 'The session that failed.' }),
  }),
})

const UpdateRetryInput = builder.inputType('UpdateRetryInput', {
  description: 'The policy of a retry that waits, changed.',
  fields: (t) => ({
    sessionId: t.field({ type: 'UUID', required: true, description: 'The session that failed.' }),
    policy: t.field({
      type: RetryPolicyInput,
      required: true,
      description: "Its fields replace those of the session's policy; missing fields stay as they are.",
    }),
  }),
})

const UpdateRetryPayload = sessionPayload<SessionPayload<'UpdateRetryPayload'>>(
  'UpdateRetryPayload',
  'The session whose retry was decided anew.',
)

const UpdateRetryResult = builder.unionType('UpdateRetryResult', {
  description: 'The session, or an error that the caller can correct.',
  types: [UpdateRetryPayload, ValidationError, NotFoundError, ForbiddenError, InvalidStateError],
  resolveType: typeOf,
})

const CancelRetryPayload = sessionPayload<SessionPayload<'CancelRetryPayload'>>(
  'CancelRetryPayload',
  'The session whose retry was cancelled.',
)

const RetryNowPayload = sessionPayload<SessionPayload<'RetryNowPayload'>>(
  'RetryNowPayload',
  'The session whose retry is due now.',
)

const CancelRetryResult = builder.unionType('CancelRetryResult', {
  description: 'The session, or an error that the caller can correct.',
  types: [CancelRetryPayload, NotFoundError, ForbiddenError, InvalidStateError],
  resolveType: typeOf,
})

const RetryNowResult = builder.unionType('RetryNowResult', {
  description: 'The session, or an error that the caller can correct.',
  types: [RetryNowPayload, NotFoundError, ForbiddenError, InvalidStateError],
  resolveType: typeOf,
})

builder.mutationField('cancelRetry', (t) =>
  t.field({
    type: CancelRetryResult,
    description: 'Cancels a scheduled or held retry. The chain ends with the failed session.',
    args: { input: t.arg({ type: CancelRetryInput, required: true, description: 'Which.' }) },
    resolve: (_root, { input }, context) =>
      asResult(async () => ({ __typename: 'CancelRetryPayload' as const, ...(await cancelRetry(context, input)) })),
  }),
)

builder.mutationField('retryNow', (t) =>
  t.field({
    type: RetryNowResult,
    description: 'Makes a scheduled or held retry due now.',
    args: { input: t.arg({ type: RetryNowInput, required: true, description: 'Which.' }) },
    resolve: (_root, { input }, context) =>
      asResult(async () => ({ __typename: 'RetryNowPayload' as const, ...(await retryNow(context, input)) })),
  }),
)

builder.mutationField('updateRetry', (t) =>
  t.field({
    type: UpdateRetryResult,
    description:
      'Changes the policy of a chain whose retry is scheduled or held, and decides about that retry anew, from now on. The retry, and those after it, follow the new policy; the new decision may also be that there is none.',
    args: { input: t.arg({ type: UpdateRetryInput, required: true, description: 'Which, and what to change.' }) },
    resolve: (_root, { input }, context) =>
      asResult(async () => ({ __typename: 'UpdateRetryPayload' as const, ...(await updateRetry(context, input)) })),
  }),
)
