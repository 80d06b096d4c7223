import { RETRY_WAITS_MAX } from '../../../domain/limits.ts'
import type { HoldingSwitch } from '../../../domain/retry/admit.ts'
import { showStoredPolicy } from '../../../domain/retry/policy/stored-policy.ts'
import {
  holdReasonText,
  readHoldingSwitch,
  retryState,
  type StoredDecision,
} from '../../../domain/retry/retry-state.ts'
import type { SessionType } from '../../../domain/session/lifecycle.ts'
import { projectScope } from '../../../services/access/tenants.ts'
import { builder } from '../../builder.ts'
import { isUuid, NO_UUID } from '../../ids.ts'
import { loadExistingSession, loadSession } from '../../loaders/load-session.ts'
import { SessionNode } from '../session/session.types.ts'
import { RetryPolicyType, shownPolicy } from './retry-policy.types.ts'
import { FailureCauseEnum, HoldReasonEnum, RetryPhaseEnum, RetryScopeEnum } from './retry.enums.ts'

const HoldingSwitchType = builder.objectRef<HoldingSwitch>('HoldingSwitch').implement({
  description: 'The switch or rate limit that holds a retry, as it was when the retry was last checked.',
  fields: (t) => ({
    scope: t.expose('scope', { type: RetryScopeEnum, description: 'Kind of its scope.' }),
    name: t.exposeString('name', {
      nullable: true,
      description: 'Name of the domain or project; null for the cluster.',
    }),
    by: t.exposeString('by', {
      nullable: true,
      description: 'Who set it: the name of the token; null if its value returned automatically.',
    }),
    reason: t.exposeString('reason', {
      nullable: true,
      description: 'The reason that this person gave; null if none.',
    }),
    since: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'When that person set it.',
      resolve: ({ since }) => moment(since),
    }),
    until: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'When it automatically returns to its earlier value; null if it is permanent.',
      resolve: ({ until }) => moment(until),
    }),
  }),
})

const RetryHoldType = builder.prismaObject('RetryWait', {
  name: 'RetryHold',
  description: 'A span of time in which a due retry was held.',
  fields: (t) => ({
    holdReason: t.expose('reason', { type: HoldReasonEnum, description: 'The reason.' }),
    reason: t.string({
      description:
        'The reason, in words, with the scope of the switch or quota, and who set the switch, why, and until when.',
      select: { reason: true, scope: true, heldBy: true },
      resolve: holdReasonText,
    }),
    heldBy: t.field({
      type: HoldingSwitchType,
      nullable: true,
      description: 'The switch or rate limit that held it; null if none did.',
      select: { heldBy: true },
      resolve: ({ heldBy }) => readHoldingSwitch(heldBy),
    }),
    from: t.expose('fromAt', { type: 'DateTime', description: 'When it began.' }),
    to: t.expose('toAt', { type: 'DateTime', nullable: true, description: 'When it ended; null while it lasts.' }),
  }),
})

export const RetryDecisionNode = builder.prismaNode('RetryDecision', {
  description:
    'The decision whether to retry a batch session after its end. Every finished batch session has exactly one.',
  id: { field: 'sessionId' },
  nullable: true,
  findUnique: (sessionId, { viewer }) => ({
    sessionId: isUuid(sessionId) ? sessionId : NO_UUID,
    ...projectScope(viewer),
  }),
  select: { sessionId: true },
  fields: (t) => ({
    sessionId: t.expose('sessionId', { type: 'UUID', description: 'Id of the session that had ended.' }),
    session: t.field({
      type: SessionNode,
      description: 'The session that had ended.',
      resolve: ({ sessionId }, _args, context, info) =>
        loadExistingSession({ context, info, by: 'id', value: sessionId }),
    }),
    chainId: t.expose('chainId', { type: 'UUID', description: 'Its chain.' }),
    phase: t.expose('phase', { type: RetryPhaseEnum, description: 'The present phase of the retry.' }),
    cause: t.expose('cause', { type: FailureCauseEnum, nullable: true, description: 'Why the session failed.' }),
    matchedRule: t.exposeInt('matchedRule', {
      nullable: true,
      description: 'Index of the rule that decided, from 0; null if none matched.',
    }),
    counted: t.exposeBoolean('counted', { description: 'Whether the retry uses up `maxRetries`.' }),
    explanation: t.exposeString('explanation', { description: 'Explanation of the decision, in words.' }),
    baseDelaySeconds: t.float({
      nullable: true,
      description: 'The delay before jitter.',
      select: { baseDelayMs: true },
      resolve: ({ baseDelayMs }) => seconds(baseDelayMs),
    }),
    jitterSeconds: t.float({
      nullable: true,
      description: 'The part added by jitter; negative if jitter shortened the base delay.',
      select: { jitterMs: true },
      resolve: ({ jitterMs }) => seconds(jitterMs),
    }),
    delaySeconds: t.float({
      nullable: true,
      description: 'The total delay: base plus jitter, up to the ceiling.',
      select: { delayMs: true },
      resolve: ({ delayMs }) => seconds(delayMs),
    }),
    dueAt: t.expose('dueAt', { type: 'DateTime', nullable: true, description: 'When the retry is or was due.' }),
    holdReason: t.expose('holdReason', {
      type: HoldReasonEnum,
      nullable: true,
      description: 'Why the retry is held; null if it is not held.',
    }),
    heldBy: t.field({
      type: HoldingSwitchType,
      nullable: true,
      description: 'The switch or rate limit that holds the retry; null if none does.',
      select: { heldBy: true },
      resolve: ({ heldBy }) => readHoldingSwitch(heldBy),
    }),
    heldSince: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'When the retry began to be held for this reason; null if it is not held.',
      select: { waits: { orderBy: { number: 'asc' } } },
      resolve: ({ waits }) => (waits.at(-1)?.toAt === null ? waits.at(-1)!.fromAt : null),
    }),
    holds: t.relation('waits', {
      type: RetryHoldType,
      description: `Spans in which the retry was held, oldest first; at most ${RETRY_WAITS_MAX}.`,
      query: { orderBy: { number: 'asc' } },
    }),
    childSession: t.field({
      type: SessionNode,
      nullable: true,
      description: 'The retry, once it is dispatched.',
      select: { childSessionId: true },
      resolve: ({ childSessionId }, _args, context, info) =>
        childSessionId === null ? null : loadSession({ context, info, by: 'id', value: childSessionId }),
    }),
    decidedAt: t.expose('decidedAt', { type: 'DateTime', description: 'When the decision was made.' }),
    dispatchedAt: t.expose('dispatchedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the child was created.',
    }),
  }),
})

function seconds(ms: number | null): number | null {
  return ms === null ? null : ms / 1000
}

const stateOf = (source: StateSource) => retryState(source, source.decision)

const RetryStateType = builder.objectRef<StateSource>('RetryState').implement({
  description: "The state of a session's retry, for display.",
  fields: (t) => ({
    phase: t.field({
      type: RetryPhaseEnum,
      description: 'The phase of the retry.',
      resolve: (source) => stateOf(source).phase,
    }),
    attempt: t.int({
      description: '1-based within the present budget: `retryCount` + 1.',
      resolve: (source) => stateOf(source).attempt,
    }),
    maxAttempts: t.int({
      description:
        'Number of attempts that the budget allows: `maxRetries` + 1, or 1 for INTERACTIVE and INFERENCE sessions, which are never retried.',
      resolve: (source) => stateOf(source).maxAttempts,
    }),
    label: t.string({
      description:
        '`attempt 2 of 4`: both numbers count within the present budget. The position in the chain is `attempt` of the session.',
      resolve: (source) => stateOf(source).label,
    }),
    reason: t.string({
      nullable: true,
      description: 'Explanation of the phase, in words; for a held retry also who holds it, why, and until when.',
      resolve: (source) => stateOf(source).reason,
    }),
    dueAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'When the retry is or was due.',
      resolve: (source) => stateOf(source).scheduledAt,
    }),
    scheduledAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'When the retry is or was due.',
      deprecationReason: 'Use `dueAt`.',
      resolve: (source) => stateOf(source).scheduledAt,
    }),
    delaySeconds: t.float({
      nullable: true,
      description: 'Its delay after the decision.',
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

/** Adds the retry fields of a session. */
builder.prismaObjectFields(SessionNode, (t) => ({
  retryPolicy: t.field({
    type: RetryPolicyType,
    description: 'Its retry policy, as resolved at creation: later changes of defaults do not affect it.',
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
          heldBy: true,
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
    description: 'The decision whether to retry it, made at its end. Only batch sessions have one.',
  }),
}))

/** The columns that a retry state is derived from. */
interface StateSource {
  sessionType: SessionType
  retryCount: number
  maxRetries: number
  decision: (StoredDecision & { childSessionId: string | null }) | null
}

function moment(text: string | null): Date | null {
  return text === null ? null : new Date(text)
}
