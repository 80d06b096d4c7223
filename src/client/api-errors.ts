import { RepriseClientError } from './errors.ts'

/** One thing that is wrong with an input. */
export interface Issue {
  /** Dotted, from the input's root: `environ.0.name`. */
  path: string
  message: string
}

interface Details {
  issues?: readonly Issue[]
  requestId?: string
  /** What the server answered beside the error. */
  data?: unknown
}

/** The server answered, and this is what it says. `code` is of the table in the documentation of errors. */
export class ApiError extends RepriseClientError {
  /** All faults of an input, where that is what it is about. */
  readonly issues: readonly Issue[]
  /** Whether the same request may succeed later without change. */
  readonly retryable: boolean = false
  readonly data: unknown

  constructor(code: string, message: string, { issues = [], requestId, data }: Details = {}) {
    super(code, message, { requestId })
    this.issues = issues
    this.data = data
  }
}

/** The input is wrong; `issues` tells where. */
export class ValidationError extends ApiError {}
/** There is no such thing, or it is not yours. */
export class NotFoundError extends ApiError {}
/** It stands in the way of something that exists. */
export class ConflictError extends ApiError {}
/** The token does not allow it, or there is none that is in force (`UNAUTHENTICATED`). */
export class ForbiddenError extends ApiError {}
/** What it is about is not in a state that allows it. */
export class InvalidStateError extends ApiError {}
/** A limit on what may exist at once is reached. */
export class QuotaExceededError extends ApiError {
  override readonly retryable = true
}
/** The server met a fault; its log has more under `requestId`. */
export class InternalError extends ApiError {
  override readonly retryable = true
}
/** The server is there, and its database is not. */
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

/** An error as GraphQL has it in `errors`. */
export interface GraphQLFault {
  message: string
  extensions?: { code?: string; requestId?: string; issues?: readonly Issue[] }
}

/** The first says what it is; the messages of all are told. */
export function errorOfFaults(faults: readonly GraphQLFault[], data?: unknown): ApiError {
  const { code = 'GRAPHQL_ERROR', requestId, issues } = faults[0]?.extensions ?? {}
  const message = faults.map((fault) => fault.message).join('; ')
  return new (typeOfCode(code))(code, message, { issues, requestId, data })
}

export function typeOfCode(code: string): typeof ApiError {
  return BY_CODE[code] ?? (code.endsWith('_NOT_FOUND') ? NotFoundError : ApiError)
}
