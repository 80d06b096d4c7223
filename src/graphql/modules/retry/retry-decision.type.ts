import { RETRY_WAITS_MAX } from '../../../domain/limits.ts'
import { holdWords } from '../../../domain/retry/retry-state.ts'
import { projectScope } from '../../../services/access/tenant-scope.ts'
import { builder } from '../../builder.ts'
import { loadExistingSession, loadSession } from '../../loaders/load-session.ts'
import { isUuid, NO_UUID } from '../../ids.ts'
import { SessionNode } from '../session/session.types.ts'
import { FailureCauseEnum, HoldReasonEnum, RetryPhaseEnum } from './retry.enums.ts'

const RetryHoldType = builder.prismaObject('RetryWait', {
  name: 'RetryHold',
  description: 'A time in which a retry that was due was held.',
  fields: (t) => ({
    holdReason: t.expose('reason', { type: HoldReasonEnum, description: 'Why.' }),
    reason: t.string({
      description: 'Why, in words, with the scope of the switch or quota.',
      select: { reason: true, scope: true },
      resolve: holdWords,
    }),
    from: t.expose('fromAt', { type: 'DateTime', description: 'When it began.' }),
    to: t.expose('toAt', { type: 'DateTime', nullable: true, description: 'When it ended; null while it lasts.' }),
  }),
})

export const RetryDecisionNode = builder.prismaNode('RetryDecision', {
  description: 'What was decided when a batch session ended, and why. Every finished batch session has exactly one.',
  id: { field: 'sessionId' },
  nullable: true,
  findUnique: (sessionId, { viewer }) => ({
    sessionId: isUuid(sessionId) ? sessionId : NO_UUID,
    ...projectScope(viewer),
  }),
  select: { sessionId: true },
  fields: (t) => ({
    sessionId: t.expose('sessionId', { type: 'UUID', description: 'The session that was over.' }),
    session: t.field({
      type: SessionNode,
      description: 'The session that was over.',
      resolve: ({ sessionId }, _args, context, info) =>
        loadExistingSession({ context, info, by: 'id', value: sessionId }),
    }),
    chainId: t.expose('chainId', { type: 'UUID', description: 'Its chain.' }),
    phase: t.expose('phase', { type: RetryPhaseEnum, description: 'Its present phase.' }),
    cause: t.expose('cause', { type: FailureCauseEnum, nullable: true, description: 'Why the session failed.' }),
    matchedRule: t.exposeInt('matchedRule', {
      nullable: true,
      description: 'Index of the rule that decided, from 0; null where none matched.',
    }),
    counted: t.exposeBoolean('counted', { description: 'Whether the retry uses up `maxRetries`.' }),
    explanation: t.exposeString('explanation', { description: 'How it was decided, in words.' }),
    baseDelaySeconds: t.float({
      nullable: true,
      description: 'The delay before jitter.',
      select: { baseDelayMs: true },
      resolve: ({ baseDelayMs }) => seconds(baseDelayMs),
    }),
    jitterSeconds: t.float({
      nullable: true,
      description: 'The part added by jitter; negative where FULL took from the base.',
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
      description: 'Why it is held, while it is.',
    }),
    heldSince: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'Since when it is held for this reason, while it is.',
      select: { waits: { orderBy: { number: 'asc' } } },
      resolve: ({ waits }) => (waits.at(-1)?.toAt === null ? waits.at(-1)!.fromAt : null),
    }),
    holds: t.relation('waits', {
      type: RetryHoldType,
      description: `What the retry was held by, and how long, oldest first; at most ${RETRY_WAITS_MAX}.`,
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
    decidedAt: t.expose('decidedAt', { type: 'DateTime', description: 'When it was decided.' }),
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
