import { CombinedError, makeErrorResult, makeResult, type Operation, type OperationResult } from '@urql/core'
import { ApiError, type GraphQLFault, RepriseClientError } from '../../client/connection/create-connection.ts'

/** An error, in words for people. */
export interface Problem {
  message: string
  code: string | null
  requestId: string | null
  /** What is wrong with an input, and where: `policy.retryDelay`. */
  issues: readonly { path: string; message: string }[]
}

export function problemOf(error: unknown): Problem {
  const cause = causeOf(error)
  if (cause instanceof RepriseClientError) {
    const issues = cause instanceof ApiError ? cause.issues : []
    return { message: cause.message, code: cause.code, requestId: cause.requestId ?? null, issues }
  }
  // What is missing of an answer of which the rest is there: as the server wrote it.
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
 * Of an answer of which a part is missing: what there is, with what is missing and where. If nothing but the moment of
 * the answer is there, and of all other errors, the error alone.
 */
export function resultOfError(operation: Operation, error: unknown): OperationResult {
  if (error instanceof ApiError && hasSome(error.data)) {
    return makeResult(operation, { data: error.data, errors: [...error.faults], hasNext: false })
  }
  return makeErrorResult(operation, error instanceof Error ? error : new Error(String(error)))
}

/** Fields that every page reads, and none is about. */
const BESIDES: ReadonlySet<string> = new Set(['__typename', 'now', 'eventCursor'])

function hasSome(data: unknown): data is Record<string, unknown> {
  return (
    typeof data === 'object' &&
    data !== null &&
    Object.entries(data).some(([name, value]) => value !== null && !BESIDES.has(name))
  )
}

export interface Faults {
  /** By names of fields. */
  fields: Readonly<Record<string, string>>
  /** Faults that belong to no field. */
  rest: string | null
}

export const NO_FAULTS: Faults = { fields: {}, rest: null }

/**
 * What a server says about an input, at the fields that it is about. `fields` are paths of the input: of an issue at
 * `slots.0.amount` the longest of them that it begins with. `codes` says which field an error without a place is about.
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

/** A value that has not even the type is refused before the input is read, and the place is in the sentence. */
function issuesOf(message: string, issues: Problem['issues']): Problem['issues'] {
  if (issues.length > 0) return issues
  const [, path, words] = /at "input\.(.+?)"; (.+)$/.exec(message) ?? []
  return path === undefined ? [] : [{ path, message: words! }]
}
