import { InvalidArgumentError } from 'commander'
import {
  ApiError,
  ClientConfigurationError,
  ConflictError,
  ConnectionError,
  ForbiddenError,
  InvalidStateError,
  NotFoundError,
  QuotaExceededError,
  RepriseClientError,
  UnavailableError,
  ValidationError,
  type FoundServer,
} from '../client/node/index.ts'
import { messageOf } from '../observability/error-message.ts'
import { exitStatus, type ExitCode } from './exit-codes.ts'

/** An error in the use of a command. The message is for its user. */
export class UsageError extends Error {}

export interface PresentedError {
  code: string
  message: string
  /** Tells the user what to do. */
  advice: string[]
  requestId?: string
  /** The object in the way: the one that exists already, or the session's next attempt. */
  existing?: ApiError['existing']
  childSessionId?: string
  status: number
}

/** Explains an error to the person at the terminal. */
export function presentError(error: unknown, server: FoundServer | undefined): PresentedError {
  const status = statusOf(error)
  const { code, message } = wordsOf(error)
  const requestId = error instanceof RepriseClientError ? error.requestId : undefined
  const { existing, childSessionId } = error instanceof ApiError ? error : {}
  return {
    code,
    message,
    advice: adviceFor(error, server),
    requestId,
    ...(existing && { existing }),
    ...(childSessionId && { childSessionId }),
    status,
  }
}

const STATUSES: readonly [new (...args: never[]) => Error, ExitCode][] = [
  [UsageError, 'USAGE'],
  [InvalidArgumentError, 'USAGE'],
  [ClientConfigurationError, 'USAGE'],
  [ValidationError, 'USAGE'],
  [NotFoundError, 'NOT_FOUND'],
  [ForbiddenError, 'DENIED'],
  [ConflictError, 'CONFLICT'],
  [InvalidStateError, 'CONFLICT'],
  [QuotaExceededError, 'CONFLICT'],
  [ConnectionError, 'UNREACHABLE'],
  [UnavailableError, 'UNREACHABLE'],
]

function statusOf(error: unknown): number {
  const found = STATUSES.find(([type]) => error instanceof type)
  return exitStatus(found?.[1] ?? 'FAILED')
}

function wordsOf(error: unknown): { code: string; message: string } {
  if (error instanceof ValidationError && error.issues.length > 0) {
    return { code: error.code, message: 'the input is invalid' }
  }
  if (error instanceof RepriseClientError) return { code: error.code, message: error.message }
  return { code: error instanceof UsageError ? 'USAGE' : 'FAILED', message: messageOf(error) }
}

function adviceFor(error: unknown, server: FoundServer | undefined): string[] {
  if (error instanceof ValidationError) {
    return error.issues.map(({ path, message }) => (path ? `${path}: ${message}` : message))
  }
  if (error instanceof ConnectionError && server) {
    return [
      `Is the server running at ${urlsOf(server)}? \`reprise serve\` starts one here; \`reprise doctor\` checks more.`,
      `The address comes from ${ORIGINS[server.source]}; use --url, REPRISE_URL or --profile for another.`,
    ]
  }
  if (error instanceof ForbiddenError && server) return tokenAdvice(error, server)
  if (error instanceof ApiError && error.retryable) return ['The same request may succeed later.']
  return []
}

const ORIGINS = {
  options: 'the command line',
  environment: 'the environment',
  profile: 'a profile',
  directory: 'the data directory (server-url)',
  local: 'the default, a server on this machine',
} as const

const TOKEN_ORIGINS = {
  options: '--token',
  environment: 'REPRISE_TOKEN',
  profile: 'a profile',
  local: 'the data directory of this machine’s server (admin-token)',
} as const

export function tokenOrigin(server: FoundServer): string {
  if (server.token === undefined || server.tokenSource === undefined) return 'no token'
  return `the token ${server.token.slice(0, 8)}… from ${TOKEN_ORIGINS[server.tokenSource]}`
}

function tokenAdvice({ code }: ForbiddenError, server: FoundServer): string[] {
  if (server.token === undefined) {
    return ['No token was found. Give one with --token or REPRISE_TOKEN, or store one with `reprise login`.']
  }
  const used = `${tokenOrigin(server)} was sent to ${urlsOf(server)}.`
  const what =
    code === 'UNAUTHENTICATED'
      ? 'It is not valid there: it is revoked, expired, or of another server.'
      : 'Its role or project does not allow this; `reprise doctor` shows them.'
  return [used[0]!.toUpperCase() + used.slice(1), what]
}

function urlsOf({ urls }: FoundServer): string {
  return urls.map(({ href }) => href.replace(/\/$/, '')).join(', ')
}
