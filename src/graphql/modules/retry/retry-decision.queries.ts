import { COUNTED_ROWS_MAX } from '../../../domain/limits.ts'
import type { Prisma } from '../../../generated/prisma/client.ts'
import { withoutNulls } from '../../../services/input/without-nulls.ts'
import { builder } from '../../builder.ts'
import { edgeQuery, pageComplexity } from '../../paging.ts'
import type { OrderColumn } from '../../../services/paging/keyset-cursor.ts'
import { keysetPage } from '../../../services/paging/keyset.ts'
import { projectScope } from '../../../services/access/tenant-scope.ts'
import { DateTimeFilter } from '../filters.inputs.ts'
import { FailureCauseEnum, HoldReasonEnum, RetryPhaseEnum } from './retry.enums.ts'
import { RetryDecisionNode } from './retry-decision.type.ts'

const RetryDecisionFilter = builder.inputType('RetryDecisionFilter', {
  description: 'All given conditions must match.',
  fields: (t) => ({
    phase: t.field({ type: [RetryPhaseEnum], description: 'In one of these phases.' }),
    cause: t.field({ type: [FailureCauseEnum], description: 'Failed for one of these causes.' }),
    holdReason: t.field({ type: [HoldReasonEnum], description: 'Held for one of these reasons.' }),
    project: t.string({ description: 'In the project of this name.' }),
    chainId: t.field({ type: 'UUID', description: 'In this chain.' }),
    sessionId: t.field({ type: 'UUID', description: 'Of this session.' }),
    decidedAt: t.field({ type: DateTimeFilter, description: 'By when it was decided.' }),
    dueAt: t.field({ type: DateTimeFilter, description: 'By when the retry is due.' }),
  }),
})

/** The order of retry_decisions_decided_at_session_id_idx, read backwards. */
const NEWEST_FIRST: OrderColumn[] = [
  { column: 'decidedAt', direction: 'desc', type: 'date' },
  { column: 'sessionId', direction: 'desc', type: 'uuid' },
]

/** The order of retry_decisions_due. */
const EARLIEST_DUE_FIRST: OrderColumn[] = [
  { column: 'dueAt', direction: 'asc', type: 'date' },
  { column: 'sessionId', direction: 'asc', type: 'uuid' },
]

const RetryDecisionOrder = builder.enumType('RetryDecisionOrder', {
  description: 'In which order retry decisions are listed.',
  values: {
    DECIDED_AT: { description: 'The newest first.' },
    DUE_AT: { description: 'The retry queue: those that are scheduled or held, the earliest due first.' },
  } as const,
})

const QUEUED: Prisma.RetryDecisionWhereInput = { phase: { in: ['SCHEDULED', 'HELD'] }, dueAt: { not: null } }

function decisionWhere(filter: typeof RetryDecisionFilter.$inferInput): Prisma.RetryDecisionWhereInput {
  const { phase, cause, holdReason, project, chainId, sessionId, decidedAt, dueAt } = filter
  return {
    ...(phase && { phase: { in: phase } }),
    ...(cause && { cause: { in: cause } }),
    ...(holdReason && { holdReason: { in: holdReason } }),
    ...(project != null && { session: { project: { name: project } } }),
    ...(chainId != null && { chainId }),
    ...(sessionId != null && { sessionId }),
    ...(decidedAt && { decidedAt: withoutNulls(decidedAt) }),
    ...(dueAt && { dueAt: withoutNulls(dueAt) }),
  }
}

builder.queryField('retryDecisions', (t) =>
  t.connection(
    {
      type: RetryDecisionNode,
      description: 'Retry decisions about finished sessions, newest first by default.',
      args: {
        filter: t.arg({ type: RetryDecisionFilter, description: 'Which decisions.' }),
        orderBy: t.arg({ type: RetryDecisionOrder, description: 'In which order.' }),
      },
      complexity: pageComplexity,
      resolve: (_root, { filter, orderBy, ...args }, context, info) => {
        const { prisma } = context.services
        const queue = orderBy === 'DUE_AT'
        const order = queue ? EARLIEST_DUE_FIRST : NEWEST_FIRST
        const wanted = {
          AND: [projectScope(context.viewer), filter ? decisionWhere(filter) : {}, queue ? QUEUED : {}],
        }
        const query = edgeQuery({ context, info, typeName: 'RetryDecision', order })
        return keysetPage({
          args,
          order,
          find: ({ where, ...page }) =>
            prisma.retryDecision.findMany({ ...query, ...page, where: { AND: [wanted, where] } }),
          count: () => prisma.retryDecision.count({ where: wanted, take: COUNTED_ROWS_MAX + 1 }),
          countMax: COUNTED_ROWS_MAX,
        })
      },
    },
    { name: 'RetryDecisionConnection', description: 'A page of retry decisions.' },
    { name: 'RetryDecisionEdge', description: 'One decision and its place.' },
  ),
)
