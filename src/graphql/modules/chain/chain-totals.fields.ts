import type { ChainTotalRow } from '../../../services/read-chains.ts'
import { builder } from '../../builder.ts'
import { FailureCauseEnum } from '../retry/retry.enums.ts'
import { ChainNode } from './chain.type.ts'

const CauseCount = builder.objectRef<Pick<ChainTotalRow, 'cause' | 'attempts'>>('CauseCount').implement({
  description: 'How many attempts failed for one cause.',
  fields: (t) => ({
    cause: t.expose('cause', {
      type: FailureCauseEnum,
      nullable: true,
      description: 'The cause; null where it is not judged yet, or cannot be told.',
    }),
    count: t.int({ description: 'How many attempts.', resolve: ({ attempts }) => attempts }),
  }),
})

/** What all attempts together come to. One statement for all chains of a page. */
builder.objectFields(ChainNode, (t) => ({
  runningSeconds: t.float({
    description: 'How long user code ran in all attempts together.',
    resolve: async ({ chainId }, _args, { loaders }) => running(await loaders.chainTotals.load(chainId)),
  }),
  pendingSeconds: t.float({
    description: 'How long attempts were there before their user code ran.',
    resolve: async ({ chainId }, _args, { loaders }) => pending(await loaders.chainTotals.load(chainId)),
  }),
  betweenSeconds: t.float({
    description: 'How long there was no attempt: backoff, holds, and until a person submitted it again.',
    resolve: async ({ chainId }, _args, { loaders }) => {
      const rows = await loaders.chainTotals.load(chainId)
      return Math.max(0, total(rows) - running(rows) - pending(rows))
    },
  }),
  waitingSeconds: t.float({
    description: 'How long no user code ran: `pendingSeconds` and `betweenSeconds`.',
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
    description: 'How many attempts failed for which cause, the most frequent first.',
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
