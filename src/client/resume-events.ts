import { setTimeout as sleep } from 'node:timers/promises'
import { createGraphQLClient, GraphQLRequestError, type ClientOptions } from './graphql-client.ts'

const RECONNECT_PAUSE_MIN_MS = 100
const RECONNECT_PAUSE_MAX_MS = 2_000

/**
 * A subscription that outlives its connection, and the server: it comes back with the last cursor that it saw
 * and so misses nothing. The subscription takes `$after: String`; `cursorOf` reads the cursor of what it yields.
 * Ends when `signal` aborts. Errors that the server answers with are thrown.
 */
export async function* resumeEvents<Data>(
  options: ClientOptions & { query: string; variables?: Record<string, unknown>; after?: string; signal: AbortSignal },
  cursorOf: (data: Data) => string,
): AsyncIterableIterator<Data> {
  let after = options.after
  let pause = RECONNECT_PAUSE_MIN_MS
  while (!options.signal.aborted) {
    const client = createGraphQLClient(options)
    const hangUp = () => void client.close()
    options.signal.addEventListener('abort', hangUp)
    try {
      for await (const data of client.subscribe<Data>(options.query, { ...options.variables, after: after ?? null })) {
        after = cursorOf(data)
        pause = RECONNECT_PAUSE_MIN_MS
        yield data
      }
    } catch (error) {
      if (error instanceof GraphQLRequestError) throw error
    } finally {
      options.signal.removeEventListener('abort', hangUp)
      await client.close()
    }
    await sleep(pause, undefined, { signal: options.signal }).catch(() => {})
    pause = Math.min(pause * 2, RECONNECT_PAUSE_MAX_MS)
  }
}
