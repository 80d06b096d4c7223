/** Base class of all errors thrown by this client. The reason of an aborted signal is thrown unchanged. */
export class RepriseClientError extends Error {
  /** For programs. The server's own code if the server responded. */
  readonly code: string
  /** Id under which the server's log has the details, if the server sent one. */
  readonly requestId: string | undefined

  constructor(code: string, message: string, options: { requestId?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = new.target.name
    this.code = code
    this.requestId = options.requestId
  }
}

/** Options, environment or profile are invalid. */
export class ClientConfigurationError extends RepriseClientError {
  constructor(message: string) {
    super('CLIENT_CONFIGURATION', message)
  }
}

/** The client was closed. */
export class ClientClosedError extends RepriseClientError {
  constructor() {
    super('CLIENT_CLOSED', 'The client was closed.')
  }
}

/** A temporary failure, after which the network layer repeats the whole operation. */
export class RetryableError extends RepriseClientError {}

/** No response arrived, or only part of it. */
export class ConnectionError extends RetryableError {
  /** Whether the server may have started to process the request. */
  readonly mayHaveBeenSent: boolean

  constructor(code: string, message: string, options: { mayHaveBeenSent: boolean; cause?: unknown }) {
    super(code, message, options)
    this.mayHaveBeenSent = options.mayHaveBeenSent
  }
}

/** Nothing is listening, the name is unknown, there is no route, or connecting took too long. */
export class ConnectError extends ConnectionError {
  constructor(code: 'CONNECT_FAILED' | 'CONNECT_TIMEOUT', message: string, cause?: unknown) {
    super(code, message, { mayHaveBeenSent: false, cause })
  }
}

/** The server was silent for longer than the read timeout. */
export class ReadTimeoutError extends ConnectionError {
  constructor(message: string, cause?: unknown) {
    super('READ_TIMEOUT', message, { mayHaveBeenSent: true, cause })
  }
}

/** The connection broke before the response was complete. */
export class ConnectionLostError extends ConnectionError {
  constructor(code: 'CONNECTION_LOST' | 'BODY_CUT_OFF', message: string, cause?: unknown) {
    super(code, message, { mayHaveBeenSent: true, cause })
  }
}

/** A response that is not GraphQL, from a proxy or a failing server. */
export class HttpStatusError extends RepriseClientError {
  readonly status: number
  /** Seconds requested by a Retry-After header. */
  readonly retryAfterSeconds: number | undefined

  constructor(status: number, message: string, options: { retryAfterSeconds?: number; requestId?: string } = {}) {
    super(`HTTP_${status}`, message, options)
    this.status = status
    this.retryAfterSeconds = options.retryAfterSeconds
  }
}
