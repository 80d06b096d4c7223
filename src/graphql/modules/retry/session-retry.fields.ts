import { showStoredPolicy } from '../../../domain/retry/policy/stored-policy.ts'
import { builder } from '../../builder.ts'
import { SessionNode } from '../session/session.type.ts'
import { RetryPolicyType, shownPolicy } from './retry-policy.types.ts'
import { RetryStateType } from './retry-state.type.ts'

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
