import { type Client, type ClientOptions, createClient, type ExecutionResult, type Sink } from 'graphql-ws/client'
import type { Endpoint, Endpoints } from '../transport/endpoints.ts'
import type { Credentials } from '../transport/transport.ts'
import type { Timeouts } from '../settings.ts'

/** The platform's class of WebSockets. */
export type WebSocketClass = new (url: string, protocols?: string | string[]) => object

/**
 * One connection for all subscriptions. It is made for the first one and closed after the last. It never reconnects by
 * itself.
 */
export interface EventSocket {
  /** Starts a subscription. @returns a function that ends it */
  subscribe(operation: { query: string; variables: Record<string, unknown> }, sink: Sink<ExecutionResult>): () => void
  close(): void
}

const PING_INTERVAL_MS = 10_000
/** Whether a close is not the server's fault: it is our own close, or one caused by the client's behaviour or token. */
const BLAMELESS = (code: number) => code === 1000 || (code >= 4400 && code < 4499)

export function createEventSocket(options: {
  webSocket: () => WebSocketClass | Promise<WebSocketClass>
  endpoints: Endpoints
  timeouts: Timeouts
  credentials: Credentials
}): EventSocket {
  const { endpoints, credentials } = options
  const { connectSeconds, readSeconds } = options.timeouts
  const pongWithinMs = (readSeconds ?? 0) * 1000
  let current: Endpoint | undefined
  let connected = false
  let open = 0
  let deadline: ReturnType<typeof setTimeout> | undefined

  function expectWithin(ms: number): void {
    clearTimeout(deadline)
    if (ms > 0) deadline = setTimeout(() => client?.terminate(), ms)
  }

  function blame(): void {
    if (current && open > 0) endpoints.failed(current)
    current = undefined
  }

  let client: Client | undefined
  let making: Promise<Client> | undefined

  const make = async (): Promise<Client> => {
    const webSocketImpl = await options.webSocket()
    client = createClient({ ...settings, webSocketImpl })
    return client
  }

  const settings: Omit<ClientOptions, 'webSocketImpl'> = {
    url: () => {
      current = endpoints.choose()!
      expectWithin((connectSeconds ?? 0) * 1000)
      return subscriptionUrl(current.url)
    },
    connectionParams: () => credentials.parameters(),
    retryAttempts: 0,
    keepAlive: PING_INTERVAL_MS,
    on: {
      opened: () => expectWithin(pongWithinMs),
      connected: () => {
        clearTimeout(deadline)
        connected = true
        if (current) endpoints.answered(current)
      },
      ping: (received) => void (received || expectWithin(pongWithinMs)),
      pong: (received) => void (received && clearTimeout(deadline)),
      error: () => blame(),
      closed: (event) => {
        clearTimeout(deadline)
        connected = false
        if (!BLAMELESS((event as { code: number }).code)) blame()
      },
    },
  }

  return {
    subscribe(operation, sink) {
      let ended = false
      let unsubscribe: (() => void) | undefined
      open++
      const begin = (made: Client) => {
        if (!ended) unsubscribe = made.subscribe(operation, sink)
      }
      if (client) begin(client)
      else (making ??= make()).then(begin).catch((error: unknown) => sink.error(error))
      return () => {
        if (ended) return
        ended = true
        open--
        unsubscribe?.()
        // The connection is no longer needed.
        if (open === 0 && !connected) client?.terminate()
      }
    },
    close() {
      clearTimeout(deadline)
      // `dispose` rejects if the connection is terminated while it is being made.
      Promise.resolve(client?.dispose()).catch(() => {})
      if (!connected) client?.terminate()
    },
  }
}

function subscriptionUrl(base: URL): string {
  const url = new URL('graphql', base)
  url.protocol = url.protocol.replace('http', 'ws')
  return url.href
}
