/** What became of a chain, told by its newest attempt and that attempt's decision; the migrations derive it. */
export const CHAIN_STATES = ['LIVE', 'WAITING_RETRY', 'HELD', 'SUCCEEDED', 'FAILED', 'CANCELLED'] as const
export type ChainState = (typeof CHAIN_STATES)[number]
