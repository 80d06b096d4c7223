import type { Gateway, SyncRequest } from '../../src/domain/agent/protocol.ts'

/** The way from one agent to a gateway, which a test can cut, and on which what the agent says can be altered. */
export interface SwayedGateway extends Gateway {
  /** Calls under way end without an answer, others are refused. */
  cut(): void
  heal(): void
  /** What the server is told instead; the truth again with null. */
  alter(tell: ((request: SyncRequest) => SyncRequest) | null): void
}

export function swayedGateway(server: Gateway): SwayedGateway {
  let outage = new AbortController()
  let tell: ((request: SyncRequest) => SyncRequest) | null = null

  async function pass<T>(signal: AbortSignal, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (outage.signal.aborted) throw new Error('the server is away')
    const connection = AbortSignal.any([signal, outage.signal])
    const answer = await call(connection)
    if (connection.aborted) throw connection.reason
    return answer
  }

  return {
    register: (request, signal) => pass(signal, (connection) => server.register(request, connection)),
    sync: (request, signal) =>
      pass(signal, (connection) => server.sync(tell === null ? request : tell(request), connection)),
    cut: () => outage.abort(new Error('the server went away')),
    heal() {
      if (outage.signal.aborted) outage = new AbortController()
    },
    alter(how) {
      tell = how
    },
  }
}
