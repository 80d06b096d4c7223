import { ClientConfigurationError } from '../errors.ts'

/** One server's address and its recent failures. */
export interface Endpoint {
  url: URL
  /** Number of consecutive failures. */
  failures: number
  /** Time until which the server is skipped, on the clock given to `createEndpoints`. */
  restsUntilMs: number
}

/** Shortest time for which a server that fails is skipped: 1 s, then 2 s, 4 s, …; a response resets this. */
const REST_MIN_MS = 1_000
const REST_MAX_MS = 60_000

export interface Endpoints {
  /** Whether one of the servers has the origin of this address. Only then the token may be sent there. */
  knows(url: URL): boolean
  /**
   * Chooses the first server, in the given order, that is not being skipped; if all are, the one whose pause ends
   * first. Null if all candidates are in `asked`.
   */
  choose(asked?: ReadonlySet<Endpoint>): Endpoint | null
  /** Whether any server is not being skipped. */
  anyRested(): boolean
  answered(endpoint: Endpoint): void
  failed(endpoint: Endpoint, restSeconds?: number): void
}

/** Creates the list of servers. `now` is in milliseconds and monotonic. */
export function createEndpoints(urls: readonly URL[], now: () => number): Endpoints {
  const endpoints = urls.map((url): Endpoint => ({ url, failures: 0, restsUntilMs: 0 }))
  const rested = (endpoint: Endpoint) => endpoint.restsUntilMs <= now()
  return {
    knows: (url) => urls.some(({ origin }) => origin === url.origin),
    choose(asked) {
      const left = endpoints.filter((endpoint) => !asked?.has(endpoint))
      const free = left.find(rested)
      if (free) return free
      // A server that is being skipped is tried only if no other was tried.
      if (asked && asked.size > 0) return null
      return left.toSorted((a, b) => a.restsUntilMs - b.restsUntilMs)[0] ?? null
    },
    anyRested: () => endpoints.some(rested),
    answered(endpoint) {
      endpoint.failures = 0
      endpoint.restsUntilMs = 0
    },
    failed(endpoint, restSeconds = 0) {
      const grown = Math.min(REST_MAX_MS, REST_MIN_MS * 2 ** Math.min(endpoint.failures, 30))
      endpoint.failures++
      endpoint.restsUntilMs = now() + Math.max(grown, restSeconds * 1000)
    },
  }
}

/**
 * Parses the URL of a server and adds a trailing slash, so that paths can be appended. @throws ClientConfigurationError
 */
export function serverUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new ClientConfigurationError(`${JSON.stringify(text)} is not the URL of a server, like http://127.0.0.1:4000`)
  }
  if (!url.pathname.endsWith('/')) url.pathname += '/'
  return url
}
