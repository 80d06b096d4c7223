import { ERROR_CODES, type ErrorCode } from './error-codes.generated.ts'

/** Base class of all errors thrown by this client. The reason of an aborted signal is thrown unchanged. */
export class RepriseClientError extends Error {
  /** The server's own code if the server responded, otherwise one of the client's. */
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

/** No connection was made: nothing listens, the name is unknown, there is no route, or it took too long. */
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

/** One problem with an input. */
export interface Issue {
  /** Path from the input's root, with dots: `environ.0.name`. */
  path: string
  message: string
}

/** The object that is in the way of a request. */
export interface Existing {
  /** Its type in GraphQL. */
  __typename: string
  /** Global id: `node` reads it. */
  id: string
}

interface Details {
  issues?: readonly Issue[]
  existing?: Existing | null
  childSessionId?: string | null
  requestId?: string
  data?: unknown
  faults?: readonly GraphQLFault[]
}

/** An error reported by the server. `code` is one of the codes in docs/errors.md. */
export class ApiError extends RepriseClientError {
  /** The default for codes that are not in the server's table. */
  protected static readonly retryable: boolean = false
  /** All problems with the input, for a ValidationError. */
  readonly issues: readonly Issue[]
  /** For a ConflictError, the object that exists already: it has the creation id, the client key or the name. */
  readonly existing: Existing | null
  /** For an InvalidStateError, the next attempt of the session, if it is in the way. */
  readonly childSessionId: string | null
  /** Whether the same request may succeed later, unchanged. */
  readonly retryable: boolean
  /** The part of the data that the server returned with the error. */
  readonly data: unknown
  /** All `errors` of the response, each with its path if only a part of the data is missing. */
  readonly faults: readonly GraphQLFault[]

  constructor(code: string, message: string, details: Details = {}) {
    const { issues = [], existing = null, childSessionId = null, requestId, data, faults = [] } = details
    super(code, message, { requestId })
    this.issues = issues
    this.existing = existing
    this.childSessionId = childSessionId
    this.retryable = rowOf(code)?.retryable ?? new.target.retryable
    this.data = data
    this.faults = faults
  }
}

/** The input is invalid; `issues` lists the problems. */
export class ValidationError extends ApiError {}
/** The object does not exist, or you may not see it. */
export class NotFoundError extends ApiError {}
/** The request conflicts with existing data. */
export class ConflictError extends ApiError {}
/** The token does not allow it, or there is no valid token (`UNAUTHENTICATED`). */
export class ForbiddenError extends ApiError {}
/** The object's state does not allow it. */
export class InvalidStateError extends ApiError {}
/** A limit on the number of objects is reached. */
export class QuotaExceededError extends ApiError {
  protected static override readonly retryable: boolean = true
}
/** The request was refused before its contents were read. */
export class RequestError extends ApiError {}
/** An internal error of the server; its log has the details under `requestId`. */
export class InternalError extends ApiError {
  protected static override readonly retryable: boolean = true
}
/** The server responds, but is starting, stopping or without its database. */
export class UnavailableError extends InternalError {}

/** Error classes, keyed by the names of the server's error types, which are also the members of result unions. */
const BY_TYPE: Readonly<Record<ErrorType, typeof ApiError>> = {
  ValidationError,
  NotFoundError,
  ConflictError,
  ForbiddenError,
  InvalidStateError,
  QuotaExceededError,
  RequestError,
}

type ErrorType = (typeof ERROR_CODES)[ErrorCode]['type']

/** A member of a result union that is an error. */
export interface Failure {
  __typename: string
  code: string
  message: string
  issues?: readonly Issue[]
  existing?: Existing | null
  childSession?: { sessionId: string } | null
}

export function isFailure(member: object): member is Failure {
  return 'code' in member && 'message' in member && '__typename' in member
}

export function errorOfFailure(failure: Failure): ApiError {
  const { __typename, code, message, issues, existing, childSession } = failure
  const Type = Object.hasOwn(BY_TYPE, __typename) ? BY_TYPE[__typename as ErrorType] : ApiError
  return new Type(code, message, { issues, existing, childSessionId: childSession?.sessionId })
}

/** An entry of `errors` in a GraphQL response. */
export interface GraphQLFault {
  message: string
  /** The path of the field that is missing because of it. */
  path?: readonly (string | number)[]
  extensions?: { code?: string; requestId?: string; issues?: readonly Issue[] }
}

/** Creates one error from all faults. The first fault decides the class; the message has the messages of all. */
export function errorOfFaults(faults: readonly GraphQLFault[], data?: unknown): ApiError {
  const { code = 'GRAPHQL_ERROR', requestId, issues } = faults[0]?.extensions ?? {}
  const message = faults.map((fault) => fault.message).join('; ')
  return new (typeOfCode(code))(code, message, { issues, requestId, data, faults })
}

export function typeOfCode(code: string): typeof ApiError {
  const row = rowOf(code)
  if (row && row.httpStatus >= 500) return UnavailableError
  if (row) return BY_TYPE[row.type]
  if (code === 'INTERNAL') return InternalError
  // A newer server has codes that this client does not know.
  return code.endsWith('_NOT_FOUND') ? NotFoundError : ApiError
}

function rowOf(code: string): (typeof ERROR_CODES)[ErrorCode] | undefined {
  return Object.hasOwn(ERROR_CODES, code) ? ERROR_CODES[code as ErrorCode] : undefined
}
