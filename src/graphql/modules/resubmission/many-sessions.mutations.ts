import { NO_SYNC_POINTS } from '../../../observability/sync-points.ts'
import { actOnSessions } from '../../../services/resubmission/resubmit-sessions.ts'
import { builder } from '../../builder.ts'
import type { GraphQLContext } from '../../context.ts'
import { asResult, ConflictError, ForbiddenError, typeOf, ValidationError } from '../error.types.ts'
import { DryRunType, payloadType, showBulk } from './resubmission-payload.ts'
import { CancelRetriesInput, RetryNowManyInput, selectionOf, TerminateSessionsInput } from './resubmission.inputs.ts'

type ManyInput = typeof TerminateSessionsInput.$inferInput | typeof CancelRetriesInput.$inferInput

/** What resubmissions are for one action, these are for the others: recorded, in batches, with progress and refusals. */
function act(context: GraphQLContext, action: Parameters<typeof actOnSessions>[1], input: ManyInput) {
  const { prisma } = context.services
  return actOnSessions({ ...context, prisma, sync: NO_SYNC_POINTS }, action, selectionOf(input))
}

const TerminateSessionsResult = builder.unionType('TerminateSessionsResult', {
  description: 'What has begun, what it would do, or an error that the caller can correct.',
  types: [
    payloadType(
      'TerminateSessionsPayload',
      'A termination of many sessions, and what it has done so far.',
      'The sessions that were terminated',
    ),
    DryRunType,
    ValidationError,
    ConflictError,
    ForbiddenError,
  ],
  resolveType: typeOf,
})

builder.mutationField('terminateSessions', (t) =>
  t.field({
    type: TerminateSessionsResult,
    description:
      'Does to many sessions what `terminateSession` does to one, by its rules: it also cancels the retries that they wait for. Up to 500 sessions are done when this returns; more continue in the background.',
    args: { input: t.arg({ type: TerminateSessionsInput, required: true, description: 'Which, and how.' }) },
    resolve: (_root, { input }, context) =>
      asResult(async () => showBulk(context, 'TerminateSessionsPayload', await act(context, 'TERMINATE', input))),
  }),
)

const CancelRetriesResult = builder.unionType('CancelRetriesResult', {
  description: 'What has begun, what it would do, or an error that the caller can correct.',
  types: [
    payloadType(
      'CancelRetriesPayload',
      'A cancellation of many retries, and what it has done so far.',
      'The sessions whose retries were cancelled',
    ),
    DryRunType,
    ValidationError,
    ConflictError,
    ForbiddenError,
  ],
  resolveType: typeOf,
})

builder.mutationField('cancelRetries', (t) =>
  t.field({
    type: CancelRetriesResult,
    description:
      'Does to the retries of many sessions what `cancelRetry` does to one, by its rules. Up to 500 sessions are done when this returns; more continue in the background.',
    args: { input: t.arg({ type: CancelRetriesInput, required: true, description: 'Whose.' }) },
    resolve: (_root, { input }, context) =>
      asResult(async () => showBulk(context, 'CancelRetriesPayload', await act(context, 'CANCEL_RETRY', input))),
  }),
)

const RetryNowManyResult = builder.unionType('RetryNowManyResult', {
  description: 'What has begun, what it would do, or an error that the caller can correct.',
  types: [
    payloadType(
      'RetryNowManyPayload',
      'Many retries that are made due, and what is done so far.',
      'The sessions whose retries were made due',
    ),
    DryRunType,
    ValidationError,
    ConflictError,
    ForbiddenError,
  ],
  resolveType: typeOf,
})

builder.mutationField('retryNowMany', (t) =>
  t.field({
    type: RetryNowManyResult,
    description:
      'Does to the retries of many sessions what `retryNow` does to one, by its rules. Up to 500 sessions are done when this returns; more continue in the background.',
    args: { input: t.arg({ type: RetryNowManyInput, required: true, description: 'Whose.' }) },
    resolve: (_root, { input }, context) =>
      asResult(async () => showBulk(context, 'RetryNowManyPayload', await act(context, 'RETRY_NOW', input))),
  }),
)
