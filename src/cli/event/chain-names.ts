import type { Client } from '../../client/node/index.ts'
import { chunks } from '../job/follow-jobs.ts'
import { takeAll } from '../session/take.ts'

/** What chains are called, each asked for once. All attempts of a chain have one name. */
export interface ChainNames {
  /** Learns the names of chains that are not known yet. What goes wrong with that is no reason to show nothing. */
  learn(chainIds: readonly string[], signal: AbortSignal): Promise<void>
  /** Undefined of a chain that is gone, or is not known. */
  of(chainId: string): string | undefined
}

/** Of so many chains names are kept: whoever watches for weeks sees more. */
const KEPT_MAX = 10_000

export function chainNames(client: Client): ChainNames {
  const names = new Map<string, string>()
  return {
    async learn(chainIds, signal) {
      const unknown = [...new Set(chainIds)].filter((id) => !names.has(id))
      for (const ids of chunks(unknown)) {
        const chains = await takeAll(client.chains({ filter: { ids } }, { signal })).catch(() => [])
        for (const { chainId, name } of chains) names.set(chainId, name)
      }
      for (const oldest of names.keys()) {
        if (names.size <= KEPT_MAX) break
        names.delete(oldest)
      }
    },
    of: (chainId) => names.get(chainId),
  }
}
