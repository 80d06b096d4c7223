/** All errors that callers can get. docs/errors.md documents the table; a test compares the two. */
export const ERRORS = {
  VALIDATION_FAILED: { type: 'ValidationError', httpStatus: 422, retryable: false },
  SESSION_NOT_FOUND: { type: 'NotFoundError', httpStatus: 404, retryable: false },
  PROJECT_NOT_FOUND: { type: 'NotFoundError', httpStatus: 404, retryable: false },
  DOMAIN_NOT_FOUND: { type: 'NotFoundError', httpStatus: 404, retryable: false },
  USER_NOT_FOUND: { type: 'NotFoundError', httpStatus: 404, retryable: false },
  RESOURCE_GROUP_NOT_FOUND: { type: 'NotFoundError', httpStatus: 404, retryable: false },
  KERNEL_NOT_FOUND: { type: 'NotFoundError', httpStatus: 404, retryable: false },
  AGENT_NOT_FOUND: { type: 'NotFoundError', httpStatus: 404, retryable: false },
  WEBHOOK_NOT_FOUND: { type: 'NotFoundError', httpStatus: 404, retryable: false },
  WEBHOOK_DELIVERY_NOT_FOUND: { type: 'NotFoundError', httpStatus: 404, retryable: false },
  DEPLOYMENT_NOT_FOUND: { type: 'NotFoundError', httpStatus: 404, retryable: false },
  SCHEDULE_NOT_FOUND: { type: 'NotFoundError', httpStatus: 404, retryable: false },
  CODE_NOT_FOUND: { type: 'NotFoundError', httpStatus: 404, retryable: false },
  OUTPUTS_NOT_FOUND: { type: 'NotFoundError', httpStatus: 404, retryable: false },
  GROUP_NOT_FOUND: { type: 'NotFoundError', httpStatus: 404, retryable: false },
  FAILURE_GROUP_NOT_FOUND: { type: 'NotFoundError', httpStatus: 404, retryable: false },
  ADVICE_NOT_FOUND: { type: 'NotFoundError', httpStatus: 404, retryable: false },
  GROUP_CLOSED: { type: 'InvalidStateError', httpStatus: 409, retryable: false },
  OUTPUTS_IN_PLACE: { type: 'InvalidStateError', httpStatus: 409, retryable: false },
  DEPENDENCY_NOT_FOUND: { type: 'NotFoundError', httpStatus: 404, retryable: false },
  CREATION_ID_REUSED: { type: 'ConflictError', httpStatus: 409, retryable: false },
  NAME_TAKEN: { type: 'ConflictError', httpStatus: 409, retryable: false },
  QUOTA_EXCEEDED: { type: 'QuotaExceededError', httpStatus: 429, retryable: true },
  TOO_MANY_REQUESTS: { type: 'QuotaExceededError', httpStatus: 429, retryable: true },
  TOO_MANY_SUBSCRIPTIONS: { type: 'QuotaExceededError', httpStatus: 429, retryable: true },
  FORBIDDEN: { type: 'ForbiddenError', httpStatus: 403, retryable: false },
  DOCUMENT_NOT_TRUSTED: { type: 'ForbiddenError', httpStatus: 403, retryable: false },
  NO_SUCH_PATH: { type: 'NotFoundError', httpStatus: 404, retryable: false },
  MALFORMED_REQUEST: { type: 'RequestError', httpStatus: 400, retryable: false },
  METHOD_NOT_ALLOWED: { type: 'RequestError', httpStatus: 405, retryable: false },
  REQUEST_TOO_LARGE: { type: 'RequestError', httpStatus: 413, retryable: false },
  UNSUPPORTED_MEDIA_TYPE: { type: 'RequestError', httpStatus: 415, retryable: false },
  UNAUTHENTICATED: { type: 'ForbiddenError', httpStatus: 401, retryable: false },
  TOKEN_NOT_FOUND: { type: 'NotFoundError', httpStatus: 404, retryable: false },
  CURSOR_EXPIRED: { type: 'InvalidStateError', httpStatus: 409, retryable: false },
  SESSION_ALREADY_FINISHED: { type: 'InvalidStateError', httpStatus: 409, retryable: false },
  DEPLOYMENT_DESTROYED: { type: 'InvalidStateError', httpStatus: 409, retryable: false },
  ISOLATION_REQUIRED: { type: 'InvalidStateError', httpStatus: 409, retryable: false },
  NO_PENDING_RETRY: { type: 'InvalidStateError', httpStatus: 409, retryable: false },
  RESOURCE_GROUP_IN_USE: { type: 'InvalidStateError', httpStatus: 409, retryable: true },
  GPU_NOT_FOUND: { type: 'NotFoundError', httpStatus: 404, retryable: false },
  AGENT_IN_USE: { type: 'InvalidStateError', httpStatus: 409, retryable: true },
  RESUBMISSION_NOT_FOUND: { type: 'NotFoundError', httpStatus: 404, retryable: false },
  RESUBMISSION_FINISHED: { type: 'InvalidStateError', httpStatus: 409, retryable: false },
  CLIENT_KEY_REUSED: { type: 'ConflictError', httpStatus: 409, retryable: false },
  SESSION_NOT_BATCH: { type: 'InvalidStateError', httpStatus: 409, retryable: false },
  SESSION_NOT_FINISHED: { type: 'InvalidStateError', httpStatus: 409, retryable: true },
  SESSION_SUCCEEDED: { type: 'InvalidStateError', httpStatus: 409, retryable: false },
  DEPENDENCY_FAILED: { type: 'InvalidStateError', httpStatus: 409, retryable: false },
  SESSION_HAS_CHILD: { type: 'InvalidStateError', httpStatus: 409, retryable: false },
  SESSION_MAY_BE_ALIVE: { type: 'InvalidStateError', httpStatus: 409, retryable: true },
  SESSION_NAMED_TWICE: { type: 'ValidationError', httpStatus: 422, retryable: false },
  CHAIN_UNREADABLE: { type: 'InvalidStateError', httpStatus: 409, retryable: false },
  WEBHOOK_DISABLED: { type: 'InvalidStateError', httpStatus: 409, retryable: false },
  SESSION_NOT_RUNNING: { type: 'InvalidStateError', httpStatus: 409, retryable: true },
  CHANNEL_NOT_OPENED: { type: 'InvalidStateError', httpStatus: 409, retryable: true },
  CHANNEL_LOST: { type: 'InvalidStateError', httpStatus: 409, retryable: true },
  CHANNEL_UNSUPPORTED: { type: 'InvalidStateError', httpStatus: 409, retryable: false },
  PORT_NOT_SERVED: { type: 'InvalidStateError', httpStatus: 409, retryable: true },
  TOO_MANY_CHANNELS: { type: 'QuotaExceededError', httpStatus: 429, retryable: true },
  AGENT_SUPERSEDED: { type: 'InvalidStateError', httpStatus: 409, retryable: false },
  AGENT_UNKNOWN: { type: 'NotFoundError', httpStatus: 404, retryable: true },
  REQUEST_TIMEOUT: { type: 'RequestError', httpStatus: 408, retryable: true },
  SERVER_STARTING: { type: 'RequestError', httpStatus: 503, retryable: true },
  SERVER_STOPPING: { type: 'RequestError', httpStatus: 503, retryable: true },
  SERVER_DISK_FULL: { type: 'RequestError', httpStatus: 507, retryable: true },
  STORAGE_UNAVAILABLE: { type: 'RequestError', httpStatus: 503, retryable: true },
  DATABASE_UNAVAILABLE: { type: 'RequestError', httpStatus: 503, retryable: true },
} as const satisfies Record<string, ErrorRow>

export type ErrorCode = keyof typeof ERRORS
export type ErrorType =
  | 'ValidationError'
  | 'NotFoundError'
  | 'ConflictError'
  | 'QuotaExceededError'
  | 'ForbiddenError'
  | 'InvalidStateError'
  /** A faulty request that is refused before its contents are read; GraphQL has none of these. */
  | 'RequestError'

interface ErrorRow {
  type: ErrorType
  httpStatus: number
  /** Whether the same request, unchanged, may succeed later. */
  retryable: boolean
}

export interface ValidationIssue {
  /** Dotted path from the input's root: `environ.0.name`. */
  path: string
  message: string
}

/** The object that is in the way of a request, by its type's name in GraphQL. */
export interface ObjectInTheWay {
  type: 'Session' | 'Deployment' | 'Schedule' | 'BulkAction' | 'Domain' | 'Project' | 'User' | 'ResourceGroup'
  /** A UUID; for a resource group its name. */
  id: string
}

/** An error that the caller can fix. Services throw it; any other error is an internal one. */
export class RepriseError extends Error {
  readonly code: ErrorCode
  readonly type: ErrorType
  readonly issues: readonly ValidationIssue[]
  /** With a ConflictError the object that exists already; with an InvalidStateError the session's next attempt. */
  readonly inTheWay: ObjectInTheWay | null

  constructor(
    code: ErrorCode,
    message: string,
    issues: readonly ValidationIssue[] = [],
    inTheWay: ObjectInTheWay | null = null,
  ) {
    super(message)
    this.name = ERRORS[code].type
    this.code = code
    this.type = ERRORS[code].type
    this.issues = issues
    this.inTheWay = inTheWay
  }
}

/** The message that clients get for an internal error. */
export function maskedFault(requestId: string): string {
  return `Unexpected error. The log has more under the request id ${requestId}.`
}
