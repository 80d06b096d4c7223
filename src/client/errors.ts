/** Everything that this client throws by itself, but for the reason of an aborted signal, which is thrown as it is. */
export class RepriseClientError extends Error {
  /** For programs. The server's own code where the server answered. */
  readonly code: string
  /** Under which the server's log has more, where the server gave one. */
  readonly requestId: string | undefined

  constructor(code: string, message: string, options: { requestId?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = new.target.name
    this.code = code
    this.requestId = options.requestId
  }
}

/** Options, environment or profile are wrong. */
export class ClientConfigurationError extends RepriseClientError {
  constructor(message: string) {
    super('CLIENT_CONFIGURATION', message)
  }
}

/** Its client was closed. */
export class ClientClosedError extends RepriseClientError {
  constructor() {
    super('CLIENT_CLOSED', 'The client was closed.')
  }
}

/** The same may work a moment later: the network layer tries the whole operation again on these. */
export class RetryableError extends RepriseClientError {}

/** No answer came, or not all of it. */
export class ConnectionError extends RetryableError {
  /** Whether the server may have begun to act on the request. */
  readonly mayHaveBeenSent: boolean

  constructor(code: string, message: string, options: { mayHaveBeenSent: boolean; cause?: unknown }) {
    super(code, message, options)
    this.mayHaveBeenSent = options.mayHaveBeenSent
  }
}

/** Nothing listens there, the name is not known, there is no way, or the connection was not made in time. */
export class ConnectError extends ConnectionError {
  constructor(code: 'CONNECT_FAILED' | 'CONNECT_TIMEOUT', message: string, cause?: unknown) {
    super(code, message, { mayHaveBeenSent: false, cause })
  }
}

/** The server was silent for longer than the read time-out. */
export class ReadTimeoutError extends ConnectionError {
  constructor(message: string, cause?: unknown) {
    super('READ_TIMEOUT', message, { mayHaveBeenSent: true, cause })
  }
}

/** The connection broke before the answer was whole. */
export class ConnectionLostError extends ConnectionError {
  constructor(code: 'CONNECTION_LOST' | 'BODY_CUT_OFF', message: string, cause?: unknown) {
    super(code, message, { mayHaveBeenSent: true, cause })
  }
}

/** An answer that is no GraphQL, of a proxy or of a server in trouble. */
export class HttpStatusError extends RepriseClientError {
  readonly status: number
  /** What the server asked for with Retry-After. */
  readonly retryAfterSeconds: number | undefined

  constructor(status: number, message: string, options: { retryAfterSeconds?: number; requestId?: string } = {}) {
    super(`HTTP_${status}`, message, options)
    this.status = status
    this.retryAfterSeconds = options.retryAfterSeconds
  }
}
