import { createClient, type Client } from 'graphql-ws'
import { WebSocket } from 'ws'

export interface Stream extends AsyncIterableIterator<any> {
  /** The next `count` answers' data. */
  take(count: number): Promise<any[]>
}

/** A graphql-ws connection that never reconnects, and records how it was closed. */
export function connect(url: string, token: string | null) {
  const closed = Promise.withResolvers<{ code: number; reason: string }>()
  const client: Client = createClient({
    url: `${url.replace('http', 'ws')}/graphql`,
    webSocketImpl: WebSocket,
    retryAttempts: 0,
    lazy: false,
    onNonLazyError: () => {},
    connectionParams: token === null ? {} : { authorization: `Bearer ${token}` },
    on: { closed: (event) => closed.resolve(event as { code: number; reason: string }) },
  })

  function subscribe(query: string, variables: Record<string, unknown> = {}): Stream {
    const source = client.iterate({ query, variables })
    const stream = {
      next: () => source.next(),
      return: () => source.return!(),
      [Symbol.asyncIterator]: () => stream,
      async take(count: number) {
        const taken: any[] = []
        while (taken.length < count) {
          const { value, done } = await source.next()
          if (done) throw new Error(`ended after ${taken.length} of ${count}`)
          if (value?.errors) throw Object.assign(new Error(value.errors[0]?.message), { errors: value.errors })
          taken.push(value.data)
        }
        return taken
      },
    } as unknown as Stream
    return stream
  }

  return { subscribe, closed: closed.promise, close: () => client.dispose() }
}
