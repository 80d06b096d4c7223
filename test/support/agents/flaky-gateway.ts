import type { Gateway, SyncRequest } from '../../../src/domain/agent/protocol.ts'

/** An agent's connection to a gateway, which a test can cut, and on which it can alter the agent's reports. */
export interface FlakyGateway extends Gateway {
  /** Calls in progress end without a response, new ones are refused. */
  cut(): void
  heal(): void
  /** Alters reports to the server; null ends that. */
  alter(tell: ((request: SyncRequest) => SyncRequest) | null): void
}

export function flakyGateway(server: Gateway): FlakyGateway {
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
    fetchCode: (request, signal) => pass(signal, (connection) => server.fetchCode(request, connection)),
    offerCheckpoint: (request, signal) => pass(signal, (connection) => server.offerCheckpoint(request, connection)),
    sendCheckpoint: (request, chunks, signal) =>
      pass(signal, (connection) => server.sendCheckpoint(request, chunks, connection)),
    fetchCheckpoint: (request, signal) => pass(signal, (connection) => server.fetchCheckpoint(request, connection)),
    reportOutputs: (request, signal) => pass(signal, (connection) => server.reportOutputs(request, connection)),
    listInputs: (request, signal) => pass(signal, (connection) => server.listInputs(request, connection)),
    haveBlobs: (request, signal) => pass(signal, (connection) => server.haveBlobs(request, connection)),
    sendParts: (request, body, signal) => pass(signal, (connection) => server.sendParts(request, body, connection)),
    fetchBlob: (request, signal) => pass(signal, (connection) => server.fetchBlob(request, connection)),
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
