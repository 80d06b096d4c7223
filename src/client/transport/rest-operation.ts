import { typeOfCode, type Issue } from '../api-errors.ts'
import { parseJsonAnswer, unexpectedAnswer } from './read-json.ts'
import type { Operation, Outcome } from './send-operation.ts'
import type { HttpAnswer } from './transport.ts'

export type RestRequest = Pick<Operation, 'name' | 'path' | 'method' | 'headers' | 'body'>

/** A request that may reach the server twice. */
export function restOperation(operation: RestRequest & Pick<Operation, 'signal' | 'onProgress'>): Operation {
  return {
    ...operation,
    headers: { accept: 'application/json', ...operation.headers },
    repeatable: true,
    read: readAnswer,
  }
}

/** A problem document. */
interface Problem {
  code: string
  detail: string
  issues?: readonly Issue[]
  request_id?: string
}

/** @throws ConnectionLostError if the response is truncated */
function readAnswer(answer: HttpAnswer): Outcome {
  const body = parseJsonAnswer<Problem | object>(answer)
  if (body && answer.status < 300) return { data: body }
  if (!body || !('code' in body) || !('detail' in body)) return { error: unexpectedAnswer(answer) }
  const { code, detail, issues, request_id: requestId } = body
  return { error: new (typeOfCode(code))(code, detail, { issues, requestId }) }
}
