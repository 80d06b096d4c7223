import { CombinedError, makeErrorResult, makeResult, type Operation, type OperationResult } from '@urql/core'
import { ApiError, type GraphQLFault, RepriseClientError } from '../../client/connection/create-connection.ts'

/** An error, in words for people. */
export interface Problem {
  message: string
  code: string | null
  requestId: string | null
  /** The faults of an input, each with its place: `policy.retryDelay`. */
  issues: readonly { path: string; message: string }[]
}

export function problemOf(error: unknown): Problem {
  const cause = causeOf(error)
  if (cause instanceof RepriseClientError) {
    const issues = cause instanceof ApiError ? cause.issues : []
    return { message: cause.message, code: cause.code, requestId: cause.requestId ?? null, issues }
  }
  // A part of the answer is missing, and the error is as the server wrote it.
  if (typeof cause === 'object' && cause !== null && 'extensions' in cause) {
    const { message, extensions } = cause as GraphQLFault
    const { code = null, requestId = null, issues = [] } = extensions ?? {}
    return { message, code, requestId, issues }
  }
  return { message: cause instanceof Error ? cause.message : String(cause), code: null, requestId: null, issues: [] }
}

export function isUnauthenticated(error: unknown): boolean {
  return problemOf(error).code === 'UNAUTHENTICATED'
}

function causeOf(error: unknown): unknown {
  return error instanceof CombinedError ? (error.networkError ?? error.graphQLErrors[0] ?? error) : error
}

/**
 * Returns a partial answer with the errors of its missing parts. If nothing but the time of the answer is there, and
 * for all other errors, returns the error alone.
 */
export function resultOfError(operation: Operation, error: unknown): OperationResult {
  if (error instanceof ApiError && hasSome(error.data)) {
    return makeResult(operation, { data: error.data, errors: [...error.faults], hasNext: false })
  }
  return makeErrorResult(operation, error instanceof Error ? error : new Error(String(error)))
}

/** Fields that every page reads; an answer with these alone has no data. */
const BESIDES: ReadonlySet<string> = new Set(['__typename', 'now', 'eventCursor'])

function hasSome(data: unknown): data is Record<string, unknown> {
  return (
    typeof data === 'object' &&
    data !== null &&
    Object.entries(data).some(([name, value]) => value !== null && !BESIDES.has(name))
  )
}

export interface Faults {
  /** The faults by field. */
  fields: Readonly<Record<string, string>>
  /** Faults that belong to no field. */
  rest: string | null
}

export const NO_FAULTS: Faults = { fields: {}, rest: null }

/**
 * Places the server's faults at the fields of a form. `fields` are paths of the input: an issue at `slots.0.amount`
 * belongs to the longest one that is a prefix of it. `codes` gives the field of an error without a place, by its
 * code.
 */
export function placeFaults(
  { message, code, issues }: Pick<Problem, 'message' | 'code' | 'issues'>,
  fields: readonly string[],
  codes: Readonly<Record<string, string>> = {},
): Faults {
  const placed: Record<string, string> = {}
  const rest: string[] = []
  const put = (field: string | undefined, words: string, path: string) => {
    if (field === undefined) rest.push(path === '' ? words : `${path}: ${words}`)
    else placed[field] = [placed[field], words].filter(Boolean).join('; ')
  }
  for (const issue of issuesOf(message, issues)) {
    const field = fields
      .filter((each) => issue.path === each || issue.path.startsWith(`${each}.`))
      .toSorted((one, other) => other.length - one.length)[0]
    put(field, issue.message, issue.path)
  }
  if (Object.keys(placed).length === 0 && rest.length === 0) {
    put(code === null ? undefined : codes[code], message, '')
  }
  return { fields: placed, rest: rest.join('; ') || null }
}

/** A value of the wrong type is refused before the input is validated; its place is part of the message. */
function issuesOf(message: string, issues: Problem['issues']): Problem['issues'] {
  if (issues.length > 0) return issues
  const [, path, words] = /at "input\.(.+?)"; (.+)$/.exec(message) ?? []
  return path === undefined ? [] : [{ path, message: words! }]
}
