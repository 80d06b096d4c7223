import type { ChainTotalRow } from '../../../services/chain/read-chains.ts'
import { builder } from '../../builder.ts'
import { FailureCauseEnum } from '../retry/retry.enums.ts'
import { ChainNode } from './chain.type.ts'

const CauseCount = builder.objectRef<Pick<ChainTotalRow, 'cause' | 'attempts'>>('CauseCount').implement({
  description: 'How many attempts failed for one cause.',
  fields: (t) => ({
    cause: t.expose('cause', {
      type: FailureCauseEnum,
      nullable: true,
      description: 'The cause; null if it has not been classified yet or is unknown.',
    }),
    count: t.int({ description: 'How many attempts.', resolve: ({ attempts }) => attempts }),
  }),
})

/** Totals over all attempts of a chain, read with one statement for all chains of a page. */
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
