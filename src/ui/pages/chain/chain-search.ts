/** What the address says about the page of a chain. */
export interface ChainSearch {
  /** The chosen one; without it the newest. */
  attempt?: number
}

export function readChainSearch({ attempt }: Record<string, unknown>): ChainSearch {
  return typeof attempt === 'number' && Number.isInteger(attempt) && attempt > 0 ? { attempt } : {}
}
