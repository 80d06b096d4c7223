import type { SyncRequest } from '../domain/agent/protocol.ts'
import { SYNC_LINES_MAX } from '../domain/limits.ts'

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
  underWay: number
  tail: Promise<unknown>
}

/**
 * Creates turns. At most `linesMax` agents have a line; beyond that, the agent that has been silent for the longest
 * time, with nothing in progress, loses its line. If a late sync is processed because of that, the database refuses it:
 * it stores the sequence number of the last sync that changed anything.
 */
export function createSyncTurns(linesMax = SYNC_LINES_MAX): SyncTurns & { readonly size: number } {
  /** Lines in the order of their last sync. */
  const lines = new Map<string, Line>()

  function lineOf({ agentId, instanceId }: SyncRequest): Line {
    const known = lines.get(agentId)
    const line =
      known?.instanceId === instanceId
        ? known
        : { instanceId, newest: 0, underWay: 0, tail: known?.tail ?? Promise.resolve() }
    lines.delete(agentId)
    lines.set(agentId, line)
    discardOldest()
    return line
  }

  function discardOldest(): void {
    if (lines.size <= linesMax) return
    for (const [agentId, { underWay }] of lines) {
      if (underWay > 0) continue
      lines.delete(agentId)
      if (lines.size <= linesMax) return
    }
  }

  return {
    get size() {
      return lines.size
    },
    async take(request, exchange) {
      const line = lineOf(request)
      if (request.sequence < line.newest) return undefined
      line.newest = request.sequence
      line.underWay++
      const turn = line.tail.then(() => (request.sequence === line.newest ? exchange() : undefined))
      line.tail = turn.catch(() => {}).finally(() => line.underWay--)
      return turn
    },
  }
}
