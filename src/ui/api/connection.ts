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

/** To the server that this page came from. The browser sends the cookie of the login along. */
export const connection = createConnection({
  url: location.origin,
  browserKey,
  fetch: fetchNoting,
  retry: { network: { stopAfterSeconds: 15 } },
})

/**
 * For what is asked while the program is still being run. All else is sent once what asks has come to its end: while a
 * component is drawn, its query is begun, left, and begun again.
 */
export const AT_ONCE = { requestPolicy: 'network-only', atOnce: true } as const

/** For long lists that nothing else shows: to keep each of their values by itself takes as long as to draw them. */
export const UNCACHED = { ...AT_ONCE, uncached: true } as const

/** Goes before the cache: what is not to be kept passes it by. */
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
    // Another tab has logged in meanwhile, and the cookie was of its login already.
    if (isUnauthenticated(error) && key !== browserKey()) return answerTo(operation)
    if (isUnauthenticated(error) && session.get() === 'known') session.set('gone')
    return resultOfError(operation, error)
  }
}

/** Everything that was read, by the ids of its nodes: what one page reads again, all of them show. */
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

/** The global id of a node, as the server makes it. */
export function globalId(typeName: 'Agent' | 'Deployment' | 'Session' | 'Webhook', id: string): string {
  return btoa(`${typeName}:${id}`)
}
