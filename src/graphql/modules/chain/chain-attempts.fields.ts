import type { SpecDifference } from '../../../domain/chain/spec-difference.ts'
import type { ChainChange } from '../../../services/chain/read-chains.ts'
import { builder } from '../../builder.ts'
import { loadExistingSession, loadSession } from '../../loaders/load-session.ts'
import { attemptWindow, forwardArguments, pageComplexity, serialPage } from '../../paging.ts'
import { assemblePage } from '../../../services/paging/keyset.ts'
import { serialCursor } from '../../../services/paging/serial-cursor.ts'
import { SessionNode } from '../session/session.types.ts'
import { ChainNode } from './chain.type.ts'

const SpecDifferenceType = builder.objectRef<SpecDifference>('SpecDifference').implement({
  description: "One difference between an attempt's specification and that of the attempt before.",
  fields: (t) => ({
    field: t.exposeString('field', {
      description: '`image`; with a dot for one of many: `resourceSlots.mem`, `environ.LR`, `retryPolicy.maxRetries`.',
    }),
    before: t.exposeString('before', {
      nullable: true,
      description:
        'The old value: text as it is, everything else as JSON; null for none. `[redacted]` for a VIEWER, of a variable.',
    }),
    after: t.exposeString('after', { nullable: true, description: 'The new value.' }),
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
  { name: 'ChainChangeEdge', description: 'One attempt that changed, and its place.' },
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
        const load = (value: string) => loadSession({ context, info, by: 'id', value, path: ['edges', 'node'] })
        const sessions = await Promise.all(found.map(load))
        const rows = sessions.filter((session) => session !== null)
        return assemblePage({
          args,
          rows: backward ? rows.toReversed() : rows,
          cursorOf: ({ attempt }) => serialCursor(String(attempt)),
          count: async () => attempts,
        })
      },
    },
    { name: 'ChainSessionConnection', description: 'A page of the attempts of a chain.' },
    { name: 'ChainSessionEdge', description: 'One attempt and its place.' },
  ),
  changes: t.field({
    type: ChainChangeConnection,
    description: 'What changed from one attempt to the next, oldest first. Attempts without a change are left out.',
    args: forwardArguments(t),
    complexity: pageComplexity,
    resolve: ({ chainId: id }, args, { loaders }) =>
      serialPage({ id, args, loader: loaders.chainChanges, count: () => loaders.chainChangeCount.load(id) }),
  }),
}))
