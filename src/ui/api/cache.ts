import { cacheExchange } from '@urql/exchange-graphcache'
import { Client } from '@urql/core'
import { KEYLESS_TYPES, POSSIBLE_TYPES } from './cache-types.generated.ts'
import { connectionExchange, uncachedExchange } from './exchange.ts'

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
