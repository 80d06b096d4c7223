import { useCSRFPrevention } from '@graphql-yoga/plugin-csrf-prevention'
import { type DocumentNode, GraphQLError, type GraphQLSchema } from 'graphql'
import type { ServerOptions } from 'graphql-ws'
import {
  createYoga,
  type GraphQLParams,
  type Plugin,
  type YogaInitialContext,
  type YogaServerInstance,
} from 'graphql-yoga'
import { currentSpan } from '../observability/trace.ts'
import { fillContext, type GraphQLContext, type GraphQLServices, type ServerContext } from './context.ts'
import { useErrorPresentation } from './error-presentation.ts'
import { useEventsTogether } from './execution/events-together.ts'
import { useAdmission, useConsistentReads } from './execution/execute-operations.ts'
import { useDocumentLimits } from './limits/document-limits.ts'
import { useOperationCost } from './limits/operation-cost.ts'
import { useRequestBounds } from './limits/request-bounds.ts'
import { schema } from './schema.ts'
import { useAuthentication } from './transport/authentication.ts'
import { type TrustedDocuments, useTrustedDocuments } from './transport/trusted-documents.ts'
import { addressOf, type Identity, requestIdOf, unreadable } from './transport/whole-request.ts'

const NOT_ACCEPTABLE =
  'The response to this operation is not available in a media type that the request accepts. Queries and mutations respond with application/graphql-response+json or application/json, subscriptions with text/event-stream; or use a WebSocket with graphql-transport-ws.'

export const GRAPHQL_PATH = '/graphql'

export type GraphQLServer = YogaServerInstance<ServerContext, GraphQLContext>

/** What executes one operation: the type of `getEnveloped`'s values, for which Yoga only has `any`. */
export interface Executable {
  schema: GraphQLSchema
  parse: (query: string) => DocumentNode
  validate: (schema: GraphQLSchema, document: DocumentNode) => readonly GraphQLError[]
  contextFactory: () => Promise<GraphQLContext> | GraphQLContext
  execute: NonNullable<ServerOptions['execute']>
  subscribe: NonNullable<ServerOptions['subscribe']>
}

/** Creates the server that executes operations of all transports; by itself it serves HTTP and server-sent events. */
export function createGraphQLServer(options: {
  services: GraphQLServices
  /** Whether introspection is allowed without a token. */
  introspectionForStrangers: boolean
  /** If given, only these documents are executed. */
  trustedDocuments?: TrustedDocuments | undefined
}): GraphQLServer {
  const { services, introspectionForStrangers, trustedDocuments } = options
  const { authenticate, log } = services
  const identities = new WeakMap<Request, Identity>()
  return createYoga<ServerContext, GraphQLContext>({
    schema,
    graphqlEndpoint: GRAPHQL_PATH,
    plugins: [
      useContext(services, identities),
      useAuthentication({ authenticate, identities, introspectionForStrangers, log }),
      ...(trustedDocuments ? [useTrustedDocuments(trustedDocuments)] : []),
      useReadableParameters(),
      useDocumentLimits(),
      useRequestBounds(),
      useOperationCost(),
      // A JSON body makes browsers send a preflight request, which fails for other origins. All other requests need one
      // of these headers, which has the same effect.
      useCSRFPrevention({ requestHeaders: ['authorization', 'x-graphql-yoga-csrf'] }),
      useConsistentReads(),
      useEventsTogether(),
      useAdmission(services.admission),
      useErrorPresentation(),
      useAcceptableAnswers(),
    ],
    maskedErrors: false,
    logging: false,
    cors: false,
    landingPage: false,
    multipart: false,
    extraParamNames: ['documentId'],
    // Bodies have already been read, within their limit.
    maxRequestBodySize: false,
    // The HTTP server serves the page of GraphiQL itself.
    graphiql: false,
  })
}

function useContext(services: GraphQLServices, identities: WeakMap<Request, Identity>): Plugin<GraphQLContext> {
  return {
    onContextBuilding({ context }) {
      const { requester, request, params } = context as unknown as ServerContext & YogaInitialContext
      if (params.operationName) currentSpan()?.note({ 'graphql.operation.name': params.operationName })
      if (requester) return fillContext(context, services, requester)
      const requestId = requestIdOf(request, context)
      const address = addressOf(request, context)
      fillContext(context, services, {
        ...identities.get(request)!,
        requestId,
        address,
        connection: request,
        left: request.signal,
      })
    },
  }
}

/**
 * Responds with 406 if the request accepts no supported media type, or only `multipart/mixed`. No operation here needs
 * parts, and Yoga's multipart responses break RFC 9112, 6.2: they have both `Transfer-Encoding` and `Content-Length`.
 */
function useAcceptableAnswers(): Plugin {
  return {
    onResultProcess({ acceptableMediaTypes, resultProcessor, setResultProcessor }) {
      const chosen = acceptableMediaTypes.length > 0 ? resultProcessor : undefined
      if (chosen && !isMultipart(chosen)) return
      const text = JSON.stringify({ errors: [{ message: NOT_ACCEPTABLE, extensions: { code: 'NOT_ACCEPTABLE' } }] })
      const headers = { 'content-type': 'application/json; charset=utf-8' }
      setResultProcessor(
        (_result, fetchAPI) => new fetchAPI.Response(text, { status: 406, headers }),
        'application/json',
      )
    },
  }
}

function isMultipart({ name }: { name: string }): boolean {
  return name === 'processMultipartResult'
}

/** Reports variables or extensions in a URL or a form that are not JSON as a fault of the client, not of the server. */
function useReadableParameters(): Plugin {
  return {
    onRequestParse({ requestParser, setRequestParser }) {
      if (!requestParser) return
      setRequestParser((request) => {
        try {
          const parsed = requestParser(request)
          return parsed instanceof Promise ? (parsed.catch(refuse) as Promise<GraphQLParams>) : parsed
        } catch (error) {
          return refuse(error)
        }
      })
    },
  }
}

function refuse(error: unknown): never {
  throw error instanceof GraphQLError ? error : unreadable('The variables or extensions are not JSON.')
}
