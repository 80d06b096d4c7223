import { errorOfFaults, type GraphQLFault } from '../api-errors.ts'
import { parseJsonAnswer, unexpectedAnswer } from './read-json.ts'
import type { Operation, Outcome } from './send-operation.ts'
import type { HttpAnswer } from './transport.ts'

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
    read: readAnswer,
  }
}

interface Body {
  data?: unknown
  errors?: GraphQLFault[]
}

/** @throws ConnectionLostError if the response is truncated */
function readAnswer(answer: HttpAnswer): Outcome {
  const body = parseJsonAnswer<Body>(answer)
  if (body?.errors?.length) return { error: errorOfFaults(body.errors, body.data) }
  if (body && 'data' in body && answer.status < 300) return { data: body.data }
  return { error: unexpectedAnswer(answer) }
}
