import { DEPENDENTS_LISTED_MAX } from '../../../domain/limits.ts'
import { builder } from '../../builder.ts'
import { loadExistingSession, loadSession, loadSessions } from '../../loaders/load-session.ts'
import { ChainNode } from '../chain/chain.type.ts'
import { SessionNode } from './session.types.ts'

/** Fields that lead from an attempt to the others of its chain. */
builder.prismaObjectFields(SessionNode, (t) => ({
  chain: t.field({
    type: ChainNode,
    description: 'The chain as a whole: its state, its epochs, what changed between attempts.',
    select: { chainId: true },
    resolve: async ({ chainId }, _args, { loaders }) => {
      const chain = await loaders.chains.load(chainId)
      if (!chain) throw new Error(`no chain ${chainId}`)
      return chain
    },
  }),
  parentSession: t.field({
    type: SessionNode,
    nullable: true,
    description: 'The attempt before this one.',
    select: { parentSessionId: true },
    resolve: ({ parentSessionId }, _args, context, info) =>
      parentSessionId === null ? null : loadSession({ context, info, by: 'id', value: parentSessionId }),
  }),
  childSession: t.field({
    type: SessionNode,
    nullable: true,
    description: 'The attempt after this one.',
    resolve: ({ id }, _args, context, info) => loadSession({ context, info, by: 'parentSessionId', value: id }),
  }),
  rootSession: t.field({
    type: SessionNode,
    description: 'The first attempt of the chain.',
    select: { chainId: true },
    resolve: ({ chainId }, _args, context, info) => loadExistingSession({ context, info, by: 'id', value: chainId }),
  }),
  dependsOn: t.field({
    type: [SessionNode],
    description: 'The first attempts of the chains that must succeed before it starts; `chain` says how each stands.',
    select: { dependsOn: { select: { chainId: true }, orderBy: { chainId: 'asc' } } },
    resolve: async ({ dependsOn }, _args, context, info) => {
      const values = dependsOn.map(({ chainId }) => chainId)
      const found = await Promise.all(values.map((value) => loadSession({ context, info, by: 'id', value })))
      return found.filter((session) => session !== null)
    },
  }),
  dependents: t.field({
    type: [SessionNode],
    description: `The sessions that start only once this chain has succeeded: their first attempts, oldest first, at most ${DEPENDENTS_LISTED_MAX}; \`sessions(filter: {dependsOn})\` has all.`,
    select: { chainId: true },
    resolve: async ({ chainId }, _args, context, info) => {
      const rows = await context.loaders.dependents.load(chainId)
      const found = await Promise.all(rows.map(({ id }) => loadSession({ context, info, by: 'id', value: id })))
      return found.filter((session) => session !== null)
    },
  }),
  retryChain: t.field({
    type: [SessionNode],
    description: 'All attempts of the chain, oldest to newest, this one among them.',
    select: { chainId: true },
    resolve: ({ chainId }, _args, context, info) => loadSessions({ context, info, by: 'chainId', value: chainId }),
  }),
}))
