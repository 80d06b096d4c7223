import { createClient, type Client } from 'graphql-ws'

export interface ClientOptions {
  /** Of the server: `http://127.0.0.1:4000`. */
  url: string
  token: string
}

/** Errors that the server answered with instead of data. */
export class GraphQLRequestError extends Error {
  readonly errors: readonly { message: string; extensions?: { code?: string } }[]

  constructor(errors: GraphQLRequestError['errors']) {
    super(errors.map(({ message }) => message).join('; '))
    this.name = 'GraphQLRequestError'
    this.errors = errors
  }
}

export interface GraphQLClient {
  /** @throws GraphQLRequestError, TypeError where the server cannot be reached */
  request<Data>(query: string, variables?: Record<string, unknown>): Promise<Data>
  /** One subscription on one connection; throws when that breaks. */
  subscribe<Data>(query: string, variables?: Record<string, unknown>): AsyncIterableIterator<Data>
  close(): Promise<void>
}

export function createGraphQLClient({ url, token }: ClientOptions): GraphQLClient {
  const endpoint = new URL('/graphql', url)
  let socket: Client | undefined

  function connect(): Client {
    const address = new URL(endpoint)
    address.protocol = address.protocol.replace('http', 'ws')
    return createClient({
      url: address.href,
      connectionParams: { authorization: `Bearer ${token}` },
      retryAttempts: 0,
      keepAlive: 10_000,
    })
  }

  return {
    async request<Data>(query: string, variables: Record<string, unknown> = {}) {
      const response = await fetch(endpoint, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/graphql-response+json, application/json',
          authorization: `Bearer ${token}`,
        },
        body: JSON.stringify({ query, variables }),
      })
      const body = (await response.json()) as { data?: Data; errors?: GraphQLRequestError['errors'] }
      if (body.errors) throw new GraphQLRequestError(body.errors)
      return body.data as Data
    },
    async *subscribe<Data>(query: string, variables: Record<string, unknown> = {}) {
      socket ??= connect()
      for await (const { data, errors } of socket.iterate<Data>({ query, variables })) {
        if (errors) throw new GraphQLRequestError(errors)
        yield data as Data
      }
    },
    async close() {
      await socket?.dispose()
    },
  }
}
