import { showStoredPolicy } from '../../../domain/retry/policy/stored-policy.ts'
import { builder } from '../../builder.ts'
import { SessionNode } from '../session/session.types.ts'
import { RetryPolicyType, shownPolicy } from './retry-policy.types.ts'
import { retryState, type StoredDecision } from '../../../domain/retry/retry-state.ts'
import type { SessionType } from '../../../domain/session/statuses.ts'
import { loadSession } from '../../loaders/load-session.ts'
import { RetryPhaseEnum } from './retry.enums.ts'

const stateOf = (source: StateSource) => retryState(source, source.decision)

const RetryStateType = builder.objectRef<StateSource>('RetryState').implement({
  description: 'Where a session stands in its retries, for display.',
  fields: (t) => ({
    phase: t.field({ type: RetryPhaseEnum, description: 'In one word.', resolve: (source) => stateOf(source).phase }),
    attempt: t.int({
      description: '1-based within the present budget: `retryCount` + 1.',
      resolve: (source) => stateOf(source).attempt,
    }),
    maxAttempts: t.int({
      description: 'How many the budget allows: `maxRetries` + 1.',
      resolve: (source) => stateOf(source).maxAttempts,
    }),
    label: t.string({ description: '`attempt 2 of 4`', resolve: (source) => stateOf(source).label }),
    reason: t.string({
      nullable: true,
      description: 'Explanation of the phase, in words.',
      resolve: (source) => stateOf(source).reason,
    }),
    scheduledAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'When the retry is or was due.',
      resolve: (source) => stateOf(source).scheduledAt,
    }),
    delaySeconds: t.float({
      nullable: true,
      description: 'How long it waits from the decision on.',
      resolve: (source) => stateOf(source).delaySeconds,
    }),
    childSession: t.field({
      type: SessionNode,
      nullable: true,
      description: 'The retry itself, once it is dispatched.',
      resolve: ({ decision }, _args, context, info) =>
        decision?.childSessionId ? loadSession({ context, info, by: 'id', value: decision.childSessionId }) : null,
    }),
  }),
})

/** Retry fields of a session. */
builder.prismaObjectFields(SessionNode, (t) => ({
  retryPolicy: t.field({
    type: RetryPolicyType,
    description: 'How it is retried, as resolved at creation: later changes of defaults do not affect it.',
    select: { retryPolicy: true, retryPolicySources: true },
    resolve: ({ retryPolicy, retryPolicySources }) => shownPolicy(showStoredPolicy(retryPolicy, retryPolicySources)),
  }),
  retryState: t.field({
    type: RetryStateType,
    description: 'The state of its retry.',
    select: {
      sessionType: true,
      retryCount: true,
      maxRetries: true,
      decision: {
        select: {
          sessionId: true,
          phase: true,
          explanation: true,
          holdReason: true,
          delayMs: true,
          dueAt: true,
          childSessionId: true,
        },
      },
    },
    resolve: (session) => session,
  }),
  retryDecision: t.relation('decision', {
    nullable: true,
    description: 'What was decided when it ended, and why. Only batch sessions have one.',
  }),
}))

/** Source of a retry state; each field derives its own part. */
interface StateSource {
  sessionType: SessionType
  retryCount: number
  maxRetries: number
  decision: (StoredDecision & { childSessionId: string | null }) | null
}
