/** What the address says about the list of chains. */
export interface ChainsSearch {
  state?: string
}

export function readChainsSearch({ state }: Record<string, unknown>): ChainsSearch {
  return typeof state === 'string' ? { state } : {}
}
