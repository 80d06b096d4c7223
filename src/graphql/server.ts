import { useCSRFPrevention } from '@graphql-yoga/plugin-csrf-prevention'
import { parse, type ParseOptions } from 'graphql'
import { createYoga, type Plugin, type YogaServerInstance } from 'graphql-yoga'
import { useAuthentication, type Identity } from './authentication.ts'
import { createContext, type GraphQLContext, type GraphQLServices, type Requester } from './context.ts'
import { useErrorPresentation } from './error-presentation.ts'
import { QUERY_TOKENS_MAX, REQUEST_BYTES_MAX } from './limits.ts'
import { newRequestId } from './request-id.ts'
import { schema } from './schema.ts'

export const GRAPHQL_PATH = '/graphql'

/** Operations come with who asks where the transport has found that out already. */
export interface ServerContext {
  requester?: Requester
}

export type GraphQLServer = YogaServerInstance<ServerContext, GraphQLContext>

/** Executes operations of all transports; by itself it serves HTTP, server-sent events and GraphiQL. */
export function createGraphQLServer(options: {
  services: GraphQLServices
  /** Whether introspection is answered without a token. */
  introspectionForStrangers: boolean
}): GraphQLServer {
  const { services, introspectionForStrangers } = options
  const { authenticate, log } = services
  const identities = new WeakMap<Request, Identity>()
  return createYoga<ServerContext, GraphQLContext>({
    schema,
    graphqlEndpoint: GRAPHQL_PATH,
    context: ({ requester, request }) =>
      createContext(services, requester ?? { ...identities.get(request)!, requestId: newRequestId() }),
    plugins: [
      useTokenLimit(),
      useAuthentication({ authenticate, identities, introspectionForStrangers, log }),
      // JSON needs a preflight, which no other origin passes; the rest needs a header that does.
      useCSRFPrevention({ requestHeaders: ['authorization', 'x-graphql-yoga-csrf'] }),
      useErrorPresentation(),
    ],
    maskedErrors: false,
    logging: false,
    cors: false,
    landingPage: false,
    multipart: false,
    maxRequestBodySize: REQUEST_BYTES_MAX,
    graphiql: {
      title: 'Reprise',
      subscriptionsProtocol: 'WS',
      headers: JSON.stringify({ authorization: 'Bearer ' }),
      defaultQuery: GREETING,
      shouldPersistHeaders: true,
    },
    // Ten megabytes of text that only people with a browser need.
    renderGraphiQL: async (page) => (await import('@graphql-yoga/render-graphiql')).renderGraphiQL(page),
  })
}

function useTokenLimit(): Plugin {
  return {
    onParse({ setParseFn }) {
      setParseFn((source: string, options?: ParseOptions) =>
        parse(source, { ...options, maxLexicalTokens: QUERY_TOKENS_MAX }),
      )
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
