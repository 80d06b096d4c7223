import type { SpecDifference } from '../../../domain/chain/spec-difference.ts'
import type { ChainChange, ChainEpoch, ChainTotalRow } from '../../../services/chain.ts'
import { assemblePage, serialCursor } from '../../../services/paging.ts'
import { builder } from '../../builder.ts'
import { loadExistingSession, loadSessionsById } from '../../loaders/load-session.ts'
import { attemptWindow, forwardArguments, pageComplexity, serialPage } from '../../paging.ts'
import { FailureCauseEnum } from '../retry/retry.enums.ts'
import { SESSION_PAGE, SessionNode } from '../session/session.types.ts'
import { ChainNode } from './chain.types.ts'

export const SpecDifferenceType = builder.objectRef<SpecDifference>('SpecDifference').implement({
  description: "One difference between an attempt's specification and that of the attempt before.",
  fields: (t) => ({
    field: t.exposeString('field', {
      description:
        'Name of the field, such as `image`; with a dot for one entry of a field: `resourceSlots.mem`, `gpus.memory`, `environ.LR`, `retryPolicy.maxRetries`.',
    }),
    before: t.exposeString('before', {
      nullable: true,
      description:
        'The old value: text as it is, everything else as JSON; null for none. For a VIEWER, `[redacted]` if it is the value of a variable.',
    }),
    after: t.exposeString('after', { nullable: true, description: 'The new value, in the same form.' }),
  }),
})

const ChainChangeType = builder.objectRef<ChainChange>('ChainChange').implement({
  description: 'An attempt whose specification differs from that of the attempt before.',
  fields: (t) => ({
    attempt: t.int({ description: 'Its number.', resolve: ({ id }) => Number(id) }),
    session: t.field({
      type: SessionNode,
      description: 'The attempt.',
      resolve: ({ sessionId }, _args, context, info) =>
        loadExistingSession({ context, info, by: 'id', value: sessionId }),
    }),
    differences: t.expose('differences', { type: [SpecDifferenceType], description: 'The differences.' }),
  }),
})

const ChainChangeConnection = builder.connectionObject(
  { type: ChainChangeType, name: 'ChainChangeConnection', description: 'A page of changes between attempts.' },
  { name: 'ChainChangeEdge', description: 'One attempt that changed, with its cursor.' },
)

builder.objectFields(ChainNode, (t) => ({
  sessions: t.connection(
    {
      type: SessionNode,
      description: 'Its attempts, oldest to newest.',
      complexity: pageComplexity,
      resolve: async ({ chainId, attempts }, args, context, info) => {
        const { after, limit, backward } = attemptWindow(args, attempts)
        const found = await context.loaders.chainAttempts.load({ chainId, after, limit })
        const sessions = await loadSessionsById({ context, info, path: ['edges', 'node'] }, found)
        const rows = sessions.filter((session) => session !== null)
        return assemblePage({
          args,
          rows: backward ? rows.toReversed() : rows,
          cursorOf: ({ attempt }) => serialCursor(String(attempt)),
          count: async () => attempts,
        })
      },
    },
    {
      name: 'ChainSessionConnection',
      description: 'A page of the attempts of a chain.',
      interfaces: [SESSION_PAGE.page],
    },
    { name: 'ChainSessionEdge', description: 'One attempt with its cursor.', interfaces: [SESSION_PAGE.edge] },
  ),
  changes: t.field({
    type: ChainChangeConnection,
    description: 'Differences between consecutive attempts, oldest first. Attempts without a change are left out.',
    args: forwardArguments(t),
    complexity: pageComplexity,
    resolve: ({ chainId: id }, args, { loaders }) =>
      serialPage({ id, args, loader: loaders.chainChanges, count: () => loaders.chainChangeCount.load(id) }),
  }),
}))

const SpecOverride = builder.objectRef<ChainEpoch['overrides'][number]>('SpecOverride').implement({
  description: 'One field that a resubmission overrides.',
  fields: (t) => ({
    field: t.exposeString('field', {
      description:
        'Name of the field, such as `batchTimeout`; with a dot for one entry of a field: `resourceSlots.mem`, `retryPolicy.maxRetries`.',
    }),
    value: t.exposeString('value', {
      nullable: true,
      description:
        'The value: text as it is, everything else as JSON; null for none. For a VIEWER, `[redacted]` if it is the value of a variable.',
    }),
    before: t.exposeString('before', {
      nullable: true,
      description: 'The value in the attempt before, in the same form; null for none.',
    }),
  }),
})

const ChainEpochType = builder.objectRef<ChainEpoch>('ChainEpoch').implement({
  description:
    'An epoch: a retry budget granted to a chain. Epoch 0 begins with its creation, epoch 1 with the first resubmission, and so on.',
  fields: (t) => ({
    epoch: t.exposeInt('epoch', { description: 'Its number.' }),
    by: t.exposeString('actor', { nullable: true, description: 'Who granted it; null if that is not recorded.' }),
    at: t.expose('createdAt', { type: 'DateTime', description: 'When its first attempt was created.' }),
    attempt: t.exposeInt('attempt', { description: 'The number of its first attempt.' }),
    firstSession: t.field({
      type: SessionNode,
      description: 'Its first attempt.',
      resolve: ({ sessionId }, _args, context, info) =>
        loadExistingSession({ context, info, by: 'id', value: sessionId }),
    }),
    resubmissionId: t.expose('resubmissionId', {
      type: 'UUID',
      nullable: true,
      description: 'The resubmission that granted it; null for epoch 0.',
    }),
    overrides: t.expose('overrides', { type: [SpecOverride], description: 'The overrides of that resubmission.' }),
  }),
})

builder.objectField(ChainNode, 'epochs', (t) =>
  t.field({
    type: [ChainEpochType],
    description: 'Its epochs, oldest first: when each was granted, by whom and with which changes.',
    resolve: ({ chainId }, _args, { loaders }) => loaders.chainEpochs.load(chainId),
  }),
)

const CauseCount = builder.objectRef<Pick<ChainTotalRow, 'cause' | 'attempts'>>('CauseCount').implement({
  description: 'Number of attempts that failed for one cause.',
  fields: (t) => ({
    cause: t.expose('cause', {
      type: FailureCauseEnum,
      nullable: true,
      description: 'The cause; null if it has not been classified yet or is unknown.',
    }),
    count: t.int({ description: 'Number of attempts.', resolve: ({ attempts }) => attempts }),
  }),
})

/** Adds the totals over all attempts of a chain. One statement reads them for all chains of a page. */
builder.objectFields(ChainNode, (t) => ({
  runningSeconds: t.float({
    description: 'Total running time of user code in all attempts.',
    resolve: async ({ chainId }, _args, { loaders }) => running(await loaders.chainTotals.load(chainId)),
  }),
  pendingSeconds: t.float({
    description: 'Time that attempts spent before their user code started.',
    resolve: async ({ chainId }, _args, { loaders }) => pending(await loaders.chainTotals.load(chainId)),
  }),
  betweenSeconds: t.float({
    description: 'Time without an attempt: backoff, holds, and waiting for a resubmission.',
    resolve: async ({ chainId }, _args, { loaders }) => {
      const rows = await loaders.chainTotals.load(chainId)
      return Math.max(0, total(rows) - running(rows) - pending(rows))
    },
  }),
  waitingSeconds: t.float({
    description: 'Time in which no user code ran: `pendingSeconds` and `betweenSeconds`.',
    resolve: async ({ chainId }, _args, { loaders }) => {
      const rows = await loaders.chainTotals.load(chainId)
      return Math.max(0, total(rows) - running(rows))
    },
  }),
  successCount: t.int({
    description: 'How many attempts succeeded.',
    resolve: async ({ chainId }, _args, { loaders }) => count(await loaders.chainTotals.load(chainId), 'SUCCESS'),
  }),
  failureCount: t.int({
    description: 'How many attempts failed.',
    resolve: async ({ chainId }, _args, { loaders }) => count(await loaders.chainTotals.load(chainId), 'FAILURE'),
  }),
  failures: t.field({
    type: [CauseCount],
    description: 'Failures by cause, most frequent first.',
    resolve: async ({ chainId }, _args, { loaders }) => withResult(await loaders.chainTotals.load(chainId), 'FAILURE'),
  }),
}))

const running = (rows: readonly ChainTotalRow[]) => rows.reduce((sum, { runningSeconds }) => sum + runningSeconds, 0)
const pending = (rows: readonly ChainTotalRow[]) => rows.reduce((sum, { pendingSeconds }) => sum + pendingSeconds, 0)
const total = (rows: readonly ChainTotalRow[]) => rows.at(0)?.totalSeconds ?? 0

function withResult(rows: readonly ChainTotalRow[], wanted: ChainTotalRow['result']): ChainTotalRow[] {
  return rows.filter(({ result }) => result === wanted)
}

function count(rows: readonly ChainTotalRow[], wanted: ChainTotalRow['result']): number {
  return withResult(rows, wanted).reduce((sum, { attempts }) => sum + attempts, 0)
}
