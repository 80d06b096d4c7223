import { useCSRFPrevention } from '@graphql-yoga/plugin-csrf-prevention'
import { createYoga, type Plugin, type YogaInitialContext, type YogaServerInstance } from 'graphql-yoga'
import { currentSpan } from '../observability/trace.ts'
import { useAcceptableAnswers } from './transport/acceptable-answers.ts'
import { useAuthentication } from './transport/authentication.ts'
import { fillContext, type GraphQLContext, type GraphQLServices, type ServerContext } from './context.ts'
import { useDocumentLimits } from './limits/document-limits.ts'
import { useErrorPresentation } from './error-presentation.ts'
import type { Identity } from './transport/identity.ts'
import { useReadableParameters } from './transport/readable-parameters.ts'
import { useRequestBounds } from './limits/request-bounds.ts'
import { withScriptPolicy } from './transport/graphiql-page.ts'
import { addressOf, requestIdOf } from './transport/request-id.ts'
import { schema } from './schema.ts'
import { useOperationCost } from './limits/operation-cost.ts'
import { useAdmission } from './limits/use-admission.ts'
import { useConsistentReads } from './use-consistent-reads.ts'
import { useEventsTogether } from './subscriptions/events-together.ts'
import { useTrustedDocuments, type TrustedDocuments } from './transport/trusted-documents.ts'

export const GRAPHQL_PATH = '/graphql'

export type GraphQLServer = YogaServerInstance<ServerContext, GraphQLContext>

/** Executes operations of all transports; by itself it serves HTTP, server-sent events and GraphiQL. */
export function createGraphQLServer(options: {
  services: GraphQLServices
  /** Whether introspection is answered without a token. */
  introspectionForStrangers: boolean
  /** If given, no other document is executed. */
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
    graphiql: {
      title: 'Reprise',
      subscriptionsProtocol: 'WS',
      headers: JSON.stringify({ authorization: 'Bearer ' }),
      defaultQuery: GREETING,
      // They hold a token.
      shouldPersistHeaders: false,
    },
    // Loaded on demand: ten megabytes of text that only browsers need.
    renderGraphiQL: async (page) =>
      withScriptPolicy((await import('@graphql-yoga/render-graphiql')).renderGraphiQL(page)),
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

const GREETING = `# Put the token of the data directory's file "admin-token" into the headers below.
{
  sessions(first: 10) {
    totalCount
    edges {
      node {
        name
        status
        retryState {
          label
          phase
          reason
        }
      }
    }
  }
}
`
