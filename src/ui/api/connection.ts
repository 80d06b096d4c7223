import {
  Client,
  type Exchange,
  formatDocument,
  makeResult,
  type Operation,
  type OperationResult,
  stringifyDocument,
} from '@urql/core'
import { cacheExchange } from '@urql/exchange-graphcache'
import { filter, fromPromise, fromValue, merge, mergeMap, pipe, share, takeUntil } from 'wonka'
import { createConnection } from '../../client/connection/create-connection.ts'
import { KEYLESS_TYPES, POSSIBLE_TYPES } from './cache-types.generated.ts'
import { browserKey, fetchNoting, session } from './login.ts'
import { withSentAt } from './poll.ts'
import { isUnauthenticated, resultOfError } from './problem.ts'

/** Connects to the server that this page came from. The browser sends the login cookie along. */
export const connection = createConnection({
  url: location.origin,
  browserKey,
  fetch: fetchNoting,
  retry: { network: { stopAfterSeconds: 15 } },
})

/**
 * Sends the query at once. Other queries are sent after the current task, because a component that is being drawn
 * begins, leaves and begins its query again.
 */
export const AT_ONCE = { requestPolicy: 'network-only', atOnce: true } as const

/**
 * Bypasses the cache. For long lists that only one page shows: caching each of their values takes as long as drawing
 * them.
 */
export const UNCACHED = { ...AT_ONCE, uncached: true } as const

/** Comes before the cache, and sends uncached queries past it. */
const uncachedExchange: Exchange = (input) => (operations) => {
  const all = pipe(operations, share)
  const isUncached = ({ context }: Operation) => context['uncached'] === true
  return merge([
    pipe(
      all,
      filter((operation) => !isUncached(operation)),
      input.forward,
    ),
    pipe(all, filter(isUncached), connectionExchange(input)),
  ])
}

/** Sends queries and mutations through the client's own transport, with its timeouts and retries. */
const connectionExchange: Exchange = () => (operations) =>
  pipe(
    operations,
    filter(({ kind }) => kind === 'query' || kind === 'mutation'),
    mergeMap((operation) => {
      const left = pipe(
        operations,
        filter(({ kind, key }) => kind === 'teardown' && key === operation.key),
      )
      return pipe(
        operation.context['atOnce'] ? fromValue(operation) : fromPromise(Promise.resolve(operation)),
        mergeMap((wanted) => fromPromise(send(wanted))),
        takeUntil(left),
      )
    }),
  )

async function send(operation: Operation) {
  const sentAt = performance.now()
  return withSentAt(await answerTo(operation), sentAt)
}

async function answerTo(operation: Operation): Promise<OperationResult> {
  const key = browserKey()
  try {
    const data = await connection.request<unknown, object>(
      stringifyDocument(formatDocument(operation.query)),
      (operation.variables as object | undefined) ?? {},
    )
    if (session.get() === 'unknown') session.set('known')
    return makeResult(operation, { data: data as Record<string, unknown>, hasNext: false })
  } catch (error) {
    // Another tab has logged in meanwhile, and the request carried the cookie of that login already.
    if (isUnauthenticated(error) && key !== browserKey()) return answerTo(operation)
    if (isUnauthenticated(error) && session.get() === 'known') session.set('gone')
    return resultOfError(operation, error)
  }
}

/** Caches everything that was read, by node id: what one page reads again is updated on all of them. */
export function createGraphCache(): Client {
  return new Client({
    url: '/graphql',
    preferGetMethod: false,
    exchanges: [
      uncachedExchange,
      cacheExchange({
        keys: Object.fromEntries(KEYLESS_TYPES.map((name) => [name, () => null])),
        possibleTypes: POSSIBLE_TYPES,
      }),
      connectionExchange,
    ],
  })
}

/** The global id of a node, in the server's format. */
export function globalId(typeName: 'Agent' | 'Deployment' | 'Session' | 'Webhook', id: string): string {
  return btoa(`${typeName}:${id}`)
}
