import type { SyncRequest } from '../domain/agent/protocol.ts'

/** Processes the syncs of each agent one at a time and in order: older state must not overwrite newer state. */
export interface SyncTurns {
  /**
   * Runs `exchange` after the agent's earlier syncs are done. Returns undefined without running it if a newer sync of
   * the same instance has arrived.
   */
  take<T>(request: SyncRequest, exchange: () => Promise<T>): Promise<T | undefined>
}

interface Line {
  instanceId: string
  newest: number
  tail: Promise<unknown>
}

/** Entries of agents that are gone are not removed: each takes only a few words of memory. */
export function createSyncTurns(): SyncTurns {
  const lines = new Map<string, Line>()

  function lineOf({ agentId, instanceId }: SyncRequest): Line {
    const known = lines.get(agentId)
    if (known?.instanceId === instanceId) return known
    const line = { instanceId, newest: 0, tail: known?.tail ?? Promise.resolve() }
    lines.set(agentId, line)
    return line
  }

  return {
    async take(request, exchange) {
      const line = lineOf(request)
      if (request.sequence < line.newest) return undefined
      line.newest = request.sequence
      const turn = line.tail.then(() => (request.sequence === line.newest ? exchange() : undefined))
      line.tail = turn.catch(() => {})
      return turn
    },
  }
}
