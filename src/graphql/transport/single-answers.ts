import type { IncomingMessage } from 'node:http'
import { type ExecutionArgs, type ExecutionResult, getOperationAST, GraphQLError, OperationTypeNode } from 'graphql'
import { type GraphQLParams, processRegularResult } from 'graphql-yoga'
import type { Logger } from '../../observability/log.ts'
import type { Requester } from '../context.ts'
import { presentFault } from '../error-presentation.ts'
import type { Executable, GraphQLServer } from '../server.ts'
import { type TrustedDocuments, trustedText } from './trusted-documents.ts'

/** An answer with one result. */
export interface SingleAnswer {
  status: number
  headers: Map<string, string> | Headers
  text: string
}

/** `text` is the body. Returns undefined, and has executed nothing, if the request has to be left to Yoga. */
export type AnswerSingly = (
  request: IncomingMessage,
  text: string,
  requester: Requester,
) => Promise<SingleAnswer | undefined>

/**
 * Answers queries and mutations as almost all clients send them: a JSON body and an answer in JSON. They need neither
 * requests nor responses of the Fetch API, which took a fifth of the CPU of a short query. Requests that are unusual or
 * have a fault are left to Yoga. The same request gets the same bytes from both.
 */
export function createSingleAnswers(
  server: GraphQLServer,
  { log, trustedDocuments }: { log: Logger; trustedDocuments: TrustedDocuments | undefined },
): AnswerSingly {
  const chooseMediaType = answeredMediaTypes()

  return async (request, text, requester) => {
    const { headers } = request
    const mediaType = chooseMediaType(headers.accept)
    if (mediaType === null || !JSON_BODY.test(headers['content-type'] ?? '')) return undefined
    const params = paramsIn(text)
    if (params === undefined) return undefined
    const query = trustedDocuments ? trustedText(trustedDocuments, params) : params.query
    if (typeof query !== 'string') return undefined
    const executable = server.getEnveloped({ requester, params }) as unknown as Executable
    const document = parsed(executable, query)
    if (document === undefined) return undefined
    const { operationName, variables: variableValues } = params
    const operation = getOperationAST(document, operationName)?.operation
    if (operation === undefined || operation === OperationTypeNode.SUBSCRIPTION) return undefined
    const result = await executed(executable, { document, operationName, variableValues }).catch((error: unknown) => ({
      errors: [presentFault(error, { log, requestId: requester.requestId })],
    }))
    return answerOf(server, result, mediaType)
  }
}

const JSON_BODY = /^application\/json(?: *; *charset=utf-8)?$/i
const PARAMETERS: ReadonlySet<string> = new Set(['query', 'variables', 'operationName', 'extensions', 'documentId'])

/** Returns the parameters of the body; undefined if there is anything to complain of. */
function paramsIn(text: string): GraphQLParams | undefined {
  let params: GraphQLParams
  try {
    params = JSON.parse(text) as GraphQLParams
  } catch {
    return undefined
  }
  if (!isObject(params) || Object.keys(params).some((name) => !PARAMETERS.has(name))) return undefined
  const { query, variables, operationName, extensions } = params
  const isFine =
    (query == null || typeof query === 'string') &&
    (operationName == null || typeof operationName === 'string') &&
    (variables == null || isObject(variables)) &&
    (extensions == null || isObject(extensions))
  return isFine ? params : undefined
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns the document; undefined if it is invalid. Both answers are remembered by text. */
function parsed({ schema, parse, validate }: Executable, query: string) {
  try {
    const document = parse(query)
    return validate(schema, document).length === 0 ? document : undefined
  } catch (error) {
    if (error instanceof GraphQLError) return undefined
    throw error
  }
}

async function executed(
  { schema, contextFactory, execute }: Executable,
  args: Pick<ExecutionArgs, 'document' | 'operationName' | 'variableValues'>,
): Promise<ExecutionResult> {
  return (await execute({ schema, ...args, contextValue: await contextFactory() })) as ExecutionResult
}

async function answerOf(server: GraphQLServer, result: ExecutionResult, mediaType: string): Promise<SingleAnswer> {
  if (!result.errors?.length && !result.extensions) {
    const headers = new Map([['content-type', `${mediaType}; charset=utf-8`]])
    return { status: 200, headers, text: JSON.stringify(result) }
  }
  const answer = processRegularResult(result, server.fetchAPI, mediaType)
  return { status: answer.status, headers: answer.headers, text: await answer.text() }
}

/** Longer or more `Accept` headers than usual clients send are read anew each time. */
const REMEMBERED_MAX = 32
const REMEMBERED_LENGTH_MAX = 200

/** Returns a function that chooses the media type for an `Accept` header as Yoga does; null if it is neither. */
function answeredMediaTypes(): (accept: string | undefined) => string | null {
  const remembered = new Map<string, string | null>()
  return (accept = '') => {
    const known = remembered.get(accept)
    if (known !== undefined) return known
    const chosen = mediaTypeFor(accept || '*/*')
    if (remembered.size < REMEMBERED_MAX && accept.length <= REMEMBERED_LENGTH_MAX) remembered.set(accept, chosen)
    return chosen
  }
}

const PLAIN = 'application/json'
const CHOICES: Readonly<Record<string, string>> = {
  '*/*': PLAIN,
  'application/*': PLAIN,
  '*/json': PLAIN,
  [PLAIN]: PLAIN,
  'application/graphql-response+json': 'application/graphql-response+json',
  '*/graphql-response+json': 'application/graphql-response+json',
}

function mediaTypeFor(accept: string): string | null {
  const chosen = accept
    .replaceAll(/\s/g, '')
    .toLowerCase()
    .split(',')
    .find((part) => {
      const [mediaType, ...parameters] = part.split(';')
      const charset = parameters.find((each) => each.includes('charset='))
      return Object.hasOwn(CHOICES, mediaType!) && (charset ?? 'charset=utf-8') === 'charset=utf-8'
    })
  return chosen === undefined ? null : CHOICES[chosen.split(';')[0]!]!
}
