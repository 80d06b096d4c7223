import type { ChainEpoch } from '../../../services/chain/read-chains.ts'
import { builder } from '../../builder.ts'
import { loadExistingSession } from '../../loaders/load-session.ts'
import { SessionNode } from '../session/session.types.ts'
import { ChainNode } from './chain.type.ts'

const SpecOverride = builder.objectRef<ChainEpoch['overrides'][number]>('SpecOverride').implement({
  description: 'One override set by a resubmission.',
  fields: (t) => ({
    field: t.exposeString('field', {
      description: '`batchTimeout`; with a dot for one of many: `resourceSlots.mem`, `retryPolicy.maxRetries`.',
    }),
    value: t.exposeString('value', {
      nullable: true,
      description:
        'The value: text as it is, everything else as JSON; null for none. `[redacted]` for a VIEWER, of a variable.',
    }),
    before: t.exposeString('before', {
      nullable: true,
      description: 'What the attempt before had, in the same form; null for none.',
    }),
  }),
})

const ChainEpochType = builder.objectRef<ChainEpoch>('ChainEpoch').implement({
  description: 'A retry budget granted to a chain: 0 at its creation, 1 at the first resubmission, and so on.',
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
      description: 'The resubmission that it came with; null for epoch 0.',
    }),
    overrides: t.expose('overrides', { type: [SpecOverride], description: 'What was overridden with it.' }),
  }),
})

builder.objectField(ChainNode, 'epochs', (t) =>
  t.field({
    type: [ChainEpochType],
    description: 'Its submission and resubmissions: when, by whom and with which changes, oldest first.',
    resolve: ({ chainId }, _args, { loaders }) => loaders.chainEpochs.load(chainId),
  }),
)
