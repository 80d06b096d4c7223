/**
 * The state of a chain, which SQL functions of the migrations derive from its newest attempt and that attempt's
 * decision.
 */
export const CHAIN_STATES = ['LIVE', 'WAITING_RETRY', 'HELD', 'SUCCEEDED', 'FAILED', 'CANCELLED'] as const
export type ChainState = (typeof CHAIN_STATES)[number]
