import type { ChainEpoch } from '../../../services/read-chains.ts'
import { builder } from '../../builder.ts'
import { loadExistingSession } from '../../load-session.ts'
import { SessionNode } from '../session/session.type.ts'
import { ChainNode } from './chain.type.ts'

const SpecOverride = builder.objectRef<ChainEpoch['overrides'][number]>('SpecOverride').implement({
  description: 'One thing that a person set when the chain was submitted again.',
  fields: (t) => ({
    field: t.exposeString('field', {
      description: '`batchTimeout`; with a dot for one of many: `resourceSlots.mem`, `retryPolicy.maxRetries`.',
    }),
    value: t.exposeString('value', {
      nullable: true,
      description: 'To what: text as it is, all else as JSON; null for nothing.',
    }),
  }),
})

const ChainEpochType = builder.objectRef<ChainEpoch>('ChainEpoch').implement({
  description: 'A budget that a person gave a chain: 0 with its creation, 1 with the first resubmission, and so on.',
  fields: (t) => ({
    epoch: t.exposeInt('epoch', { description: 'Its number.' }),
    by: t.exposeString('actor', { nullable: true, description: 'Who gave it; null where nobody remembers.' }),
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
    overrides: t.expose('overrides', { type: [SpecOverride], description: 'What was set anew with it.' }),
  }),
})

builder.objectField(ChainNode, 'epochs', (t) =>
  t.field({
    type: [ChainEpochType],
    description: 'How often, by whom and with what it was submitted, oldest first.',
    resolve: ({ chainId }, _args, { loaders }) => loaders.chainEpochs.load(chainId),
  }),
)
