import {
  ConnectionLostError,
  errorOfFaults,
  type GraphQLFault,
  HttpStatusError,
  type Issue,
  typeOfCode,
} from '../errors.ts'
import type { Operation, Outcome } from './send-operation.ts'
import type { HttpAnswer } from './transport.ts'
import { parseRetryAfter } from './retry-schedule.ts'

type Asked = Pick<Operation, 'name' | 'repeatable' | 'signal' | 'onProgress'> & { text: string; variables: object }

export function graphqlOperation({ text, variables, ...operation }: Asked): Operation {
  return {
    ...operation,
    path: 'graphql',
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/graphql-response+json, application/json',
    },
    body: JSON.stringify({ query: text, variables }),
    read: readGraphqlAnswer,
  }
}

interface GraphqlBody {
  data?: unknown
  errors?: GraphQLFault[]
}

/** Reads a GraphQL response. @throws ConnectionLostError if the response is truncated */
function readGraphqlAnswer(answer: HttpAnswer): Outcome {
  const body = parseJsonAnswer<GraphqlBody>(answer)
  if (body?.errors?.length) return { error: errorOfFaults(body.errors, body.data) }
  if (body && 'data' in body && answer.status < 300) return { data: body.data }
  return { error: unexpectedAnswer(answer) }
}

export type RestRequest = Pick<Operation, 'name' | 'path' | 'method' | 'body'> & { headers: Record<string, string> }

/** Creates an operation from a REST request that may safely reach the server twice. */
export function restOperation(operation: RestRequest & Pick<Operation, 'signal' | 'onProgress'>): Operation {
  return {
    ...operation,
    headers: { accept: 'application/json', ...operation.headers },
    repeatable: true,
    read: readRestAnswer,
  }
}

/** Creates an operation that reads a file. Its bytes go to the sink; a further try continues after them. */
export function fileOperation(
  file: Pick<Operation, 'name' | 'path' | 'headers' | 'sink' | 'signal' | 'onProgress'>,
): Operation {
  const read = (answer: HttpAnswer) =>
    answer.status === 200 || answer.status === 206 ? { data: null } : readRestAnswer(answer)
  return { ...file, method: 'GET', body: null, repeatable: true, read }
}

/** A problem document of the REST API. */
interface Problem {
  code: string
  detail: string
  issues?: readonly Issue[]
  request_id?: string
}

/** Reads a REST response. @throws ConnectionLostError if the response is truncated */
function readRestAnswer(answer: HttpAnswer): Outcome {
  const body = parseJsonAnswer<Problem | object>(answer)
  if (body && answer.status < 300) return { data: body }
  if (!body || !('code' in body) || !('detail' in body)) return { error: unexpectedAnswer(answer) }
  const { code, detail, issues, request_id: requestId } = body
  return { error: new (typeOfCode(code))(code, detail, { issues, requestId }) }
}

/** Parses a response; null if it is not JSON. @throws ConnectionLostError if the response is truncated */
function parseJsonAnswer<Body extends object>({ status, contentType, text }: HttpAnswer): Body | null {
  if (!/\bjson\b/.test(contentType)) return null
  try {
    const body: unknown = JSON.parse(text)
    return typeof body === 'object' ? (body as Body | null) : null
  } catch (error) {
    if (status >= 300) return null
    throw new ConnectionLostError('BODY_CUT_OFF', 'The response is not complete JSON', error)
  }
}

/** Creates the error for a response of a proxy, or of a server that is not Reprise. */
function unexpectedAnswer(answer: HttpAnswer): HttpStatusError {
  const { status, contentType, text } = answer
  const retryAfterSeconds = parseRetryAfter(answer.retryAfter, Date.now())
  const said = contentType.startsWith('text/plain') ? `: ${text.trim().slice(0, 200)}` : ''
  const requestId = answer.requestId ?? undefined
  return new HttpStatusError(status, `The server responded with ${status}${said}`, { retryAfterSeconds, requestId })
}
