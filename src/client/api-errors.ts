import { RepriseClientError } from './errors.ts'

/** One problem with an input. */
export interface Issue {
  /** Dotted, from the input's root: `environ.0.name`. */
  path: string
  message: string
}

interface Details {
  issues?: readonly Issue[]
  requestId?: string
  /** Details of the server's error response. */
  data?: unknown
}

/** An error reported by the server. `code` is one of the README's table of errors. */
export class ApiError extends RepriseClientError {
  /** All problems with the input, for a ValidationError. */
  readonly issues: readonly Issue[]
  /** Whether the same request may succeed later, unchanged. */
  readonly retryable: boolean = false
  readonly data: unknown

  constructor(code: string, message: string, { issues = [], requestId, data }: Details = {}) {
    super(code, message, { requestId })
    this.issues = issues
    this.data = data
  }
}

/** The input is invalid; `issues` says where. */
export class ValidationError extends ApiError {}
/** There is no such object, or it is not yours. */
export class NotFoundError extends ApiError {}
/** The request conflicts with existing data. */
export class ConflictError extends ApiError {}
/** The token does not allow it, or there is no valid token (`UNAUTHENTICATED`). */
export class ForbiddenError extends ApiError {}
/** The object's state does not allow it. */
export class InvalidStateError extends ApiError {}
/** A limit on how many may exist at once is reached. */
export class QuotaExceededError extends ApiError {
  override readonly retryable = true
}
/** An internal error of the server; its log has the details under `requestId`. */
export class InternalError extends ApiError {
  override readonly retryable = true
}
/** The server responds, but is starting or has no database. */
export class UnavailableError extends InternalError {}

const BY_TYPE = {
  ValidationError,
  NotFoundError,
  ConflictError,
  ForbiddenError,
  InvalidStateError,
  QuotaExceededError,
} as const

const BY_CODE: Readonly<Record<string, typeof ApiError>> = {
  VALIDATION_FAILED: ValidationError,
  CREATION_ID_REUSED: ConflictError,
  QUOTA_EXCEEDED: QuotaExceededError,
  FORBIDDEN: ForbiddenError,
  UNAUTHENTICATED: ForbiddenError,
  SESSION_ALREADY_FINISHED: InvalidStateError,
  NO_PENDING_RETRY: InvalidStateError,
  ISOLATION_REQUIRED: InvalidStateError,
  INTERNAL: InternalError,
  DATABASE_UNAVAILABLE: UnavailableError,
}

/** A member of a result union that is an error. */
export interface Failure {
  __typename: string
  code: string
  message: string
  issues?: readonly Issue[]
}

export function isFailure(member: object): member is Failure {
  return 'code' in member && 'message' in member && '__typename' in member
}

export function errorOfFailure({ __typename, code, message, issues }: Failure): ApiError {
  const Type = __typename in BY_TYPE ? BY_TYPE[__typename as keyof typeof BY_TYPE] : ApiError
  return new Type(code, message, { issues })
}

/** An entry of `errors` in a GraphQL response. */
export interface GraphQLFault {
  message: string
  extensions?: { code?: string; requestId?: string; issues?: readonly Issue[] }
}

/** The first one decides the class; the message has those of all. */
export function errorOfFaults(faults: readonly GraphQLFault[], data?: unknown): ApiError {
  const { code = 'GRAPHQL_ERROR', requestId, issues } = faults[0]?.extensions ?? {}
  const message = faults.map((fault) => fault.message).join('; ')
  return new (typeOfCode(code))(code, message, { issues, requestId, data })
}

export function typeOfCode(code: string): typeof ApiError {
  return BY_CODE[code] ?? (code.endsWith('_NOT_FOUND') ? NotFoundError : ApiError)
}
