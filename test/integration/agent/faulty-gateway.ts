import type { Gateway, RegisterRequest, SyncRequest } from '../../../src/domain/agent/protocol.ts'

export type Request = RegisterRequest | SyncRequest

export interface Held {
  /** With the first request that is held. */
  reached: Promise<SyncRequest>
  open(): void
}

/** The way from an agent to the real gateway, on which calls can be refused and held up, and answers lost. */
export interface FaultyGateway extends Gateway {
  /** The answered requests. */
  readonly registrations: RegisterRequest[]
  /** The requests that reached the server, in order. */
  readonly syncs: SyncRequest[]
  readonly refusals: number
  readonly lost: number
  /** Syncs that the agent hung up before they were answered, because it had something to report. */
  readonly interrupted: number
  /** Calls of an agent that waits for their answers, at once. */
  readonly underWayMax: number
  /** Selects the calls whose request never arrives, and those whose answer is lost. */
  lose: (request: Request) => 'request' | 'answer' | null
  /** The server is away: calls under way end without an answer, others are refused. */
  cut(): void
  heal(): void
  /** Keeps the first such request from the server, even when its agent has hung up since. */
  hold(which: (request: SyncRequest) => boolean): Held
  /** When nothing is with the server any more. */
  idle(): Promise<void>
}

export function faultyGateway(server: Gateway): FaultyGateway {
  const registrations: RegisterRequest[] = []
  const syncs: SyncRequest[] = []
  const atServer = new Set<Promise<unknown>>()
  const counts = { refusals: 0, lost: 0, interrupted: 0, underWay: 0, underWayMax: 0 }
  let outage = new AbortController()
  let holding: {
    which: (request: SyncRequest) => boolean
    arrive(request: SyncRequest): void
    opened: Promise<void>
  } | null = null

  async function pass<T>(request: Request, signal: AbortSignal, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (outage.signal.aborted) {
      counts.refusals++
      throw new Error('the server is away')
    }
    const loses = gateway.lose(request)
    if (loses !== null) counts.lost++
    if (loses === 'request') throw new Error('the request is lost')
    const connection = AbortSignal.any([signal, outage.signal])
    const answering = call(connection)
    atServer.add(answering)
    const answer = await answering.finally(() => atServer.delete(answering))
    if (connection.aborted) throw connection.reason
    if (loses === 'answer') throw new Error('the answer is lost')
    return answer
  }

  async function holdUp(request: SyncRequest): Promise<void> {
    if (!holding?.which(request)) return
    const { arrive, opened } = holding
    holding = null
    arrive(request)
    await opened
  }

  async function counted<T>(signal: AbortSignal, call: Promise<T>): Promise<T> {
    counts.underWayMax = Math.max(counts.underWayMax, ++counts.underWay)
    let isOver = false
    const over = () => {
      if (!isOver) counts.underWay--
      isOver = true
    }
    signal.addEventListener('abort', () => {
      if (!isOver) counts.interrupted++
      over()
    })
    return call.finally(over)
  }

  const gateway: FaultyGateway = {
    registrations,
    syncs,
    get refusals() {
      return counts.refusals
    },
    get lost() {
      return counts.lost
    },
    get interrupted() {
      return counts.interrupted
    },
    get underWayMax() {
      return counts.underWayMax
    },
    lose: () => null,
    cut() {
      outage.abort(new Error('the server went away'))
    },
    heal() {
      if (outage.signal.aborted) outage = new AbortController()
    },
    hold(which) {
      const arrival = Promise.withResolvers<SyncRequest>()
      const opening = Promise.withResolvers<void>()
      holding = { which, arrive: arrival.resolve, opened: opening.promise }
      return { reached: arrival.promise, open: opening.resolve }
    },
    async idle() {
      while (atServer.size > 0) await Promise.allSettled(atServer)
    },
    fetchCode: (request, signal) => server.fetchCode(request, signal),
    offerCheckpoint: (request, signal) => server.offerCheckpoint(request, signal),
    sendCheckpoint: (request, chunks, signal) => server.sendCheckpoint(request, chunks, signal),
    fetchCheckpoint: (request, signal) => server.fetchCheckpoint(request, signal),
    reportOutputs: (request, signal) => server.reportOutputs(request, signal),
    listInputs: (request, signal) => server.listInputs(request, signal),
    haveBlobs: (request, signal) => server.haveBlobs(request, signal),
    sendParts: (request, body, signal) => server.sendParts(request, body, signal),
    fetchBlob: (request, signal) => server.fetchBlob(request, signal),
    async register(request, signal) {
      const answer = await pass(request, signal, (connection) => server.register(request, connection))
      registrations.push(request)
      return answer
    },
    async sync(request, signal) {
      return counted(
        signal,
        holdUp(request).then(() =>
          pass(request, signal, (connection) => {
            syncs.push(request)
            return server.sync(request, connection)
          }),
        ),
      )
    },
  }
  return gateway
}
