import { retryState, type StoredDecision } from '../../../domain/retry/retry-state.ts'
import type { SessionType } from '../../../domain/session/statuses.ts'
import { builder } from '../../builder.ts'
import { loadSession } from '../../session-reads/load-session.ts'
import { SessionNode } from '../session/session.type.ts'
import { RetryPhaseEnum } from './retry.enums.ts'

/** Source of a retry state; each field derives its own part. */
interface StateSource {
  sessionType: SessionType
  retryCount: number
  maxRetries: number
  decision: (StoredDecision & { childSessionId: string | null }) | null
}

const stateOf = (source: StateSource) => retryState(source, source.decision)

export const RetryStateType = builder.objectRef<StateSource>('RetryState').implement({
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
