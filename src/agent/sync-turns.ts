import type { SyncRequest } from '../domain/agent/protocol.ts'

/** One after the other, newest last: what an agent said before must not be booked after what it said since. */
export interface SyncTurns {
  /**
   * Runs `exchange` when those of the agent's earlier syncs are through. Undefined, without running it, where a
   * newer sync of the same instance has come meanwhile, or came before: this one was late.
   */
  take<T>(request: SyncRequest, exchange: () => Promise<T>): Promise<T | undefined>
}

interface Line {
  instanceId: string
  newest: number
  tail: Promise<unknown>
}

/** A line is a few words; an agent that is gone for good leaves it. */
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
