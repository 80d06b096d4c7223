import { Client, fetchExchange, gql, subscriptionExchange, type DocumentInput } from '@urql/core'
import { cacheExchange } from '@urql/exchange-graphcache'
import { relayPagination } from '@urql/exchange-graphcache/extras'
import { readFile } from 'node:fs/promises'
import { buildSchema, introspectionFromSchema, type IntrospectionQuery } from 'graphql'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import {
  assertContent,
  CHAIN_FIELDS,
  EVENT_FIELDS,
  forward,
  runTwice,
  SCHEMA_PATH,
  startLiveServer,
  typesWithoutId,
  waitingChain,
  type LiveServer,
} from './live-server.ts'

/** urql with graphcache, with the settings of docs/client.md. */

let live: LiveServer
let urql: Client
let keyless: string[]
let requests: string[]
const complaints: string[] = []

beforeAll(async () => {
  keyless = await typesWithoutId()
  live = await startLiveServer()
})
afterAll(() => live?.[Symbol.asyncDispose]())

beforeEach(() => {
  complaints.length = 0
  requests = []
  urql = newClient(keyless)
})
afterEach(() => assertContent(complaints))

/** `schema` tells it which types are errors; without, it guesses that from the fields. */
function newClient(withoutKey: readonly string[], schema?: IntrospectionQuery): Client {
  return new Client({
    url: `${live.url}/graphql`,
    preferGetMethod: false,
    fetchOptions: { headers: { authorization: `Bearer ${live.token}` } },
    fetch: (to, init) => {
      requests.push((JSON.parse(init!.body as string) as { operationName: string }).operationName)
      return fetch(to, init)
    },
    exchanges: [
      cacheExchange({
        ...(schema && { schema: schema as never }),
        keys: Object.fromEntries(withoutKey.map((name) => [name, () => null])),
        resolvers: { Query: { chains: relayPagination(), webhooks: relayPagination() } },
        updates: {
          Mutation: {
            deleteWebhook({ deleteWebhook }: any, _args, cache) {
              cache.invalidate({ __typename: 'Webhook', id: deleteWebhook.deletedId })
            },
          },
        },
        logger: (severity, message) => void (severity === 'debug' || complaints.push(message)),
      }),
      fetchExchange,
      subscriptionExchange({
        forwardSubscription: ({ query, variables }) => ({
          subscribe: (sink) => ({
            unsubscribe: forward(live.connection, query!, variables as Record<string, unknown>, {
              next: (data) => sink.next({ data: data as Record<string, unknown> }),
              error: (error) => sink.error(error),
              complete: () => sink.complete(),
            }),
          }),
        }),
      }),
    ],
  })
}

const LIST = gql(`query List($after: String) { eventCursor
  chains(first: 5, after: $after, orderBy: { field: NAME, direction: ASC }) {
    edges { cursor node { ${CHAIN_FIELDS} } } pageInfo { hasNextPage endCursor } } }`)
const EVENTS = gql(`subscription Events($after: String) { sessionEvents(after: $after) { ${EVENT_FIELDS} } }`)
const HOOKS = gql(
  'query Hooks { webhooks(first: 10) { edges { cursor node { id url } } pageInfo { hasNextPage endCursor } } }',
)

function watch(query: DocumentInput, variables: object = {}) {
  let state: any
  const { unsubscribe } = urql.query(query, variables).subscribe(({ data, error }) => {
    if (error) complaints.push(String(error))
    state = data
  })
  return { now: () => state, unsubscribe }
}

test('pages: none twice, none missing, also while others come', async () => {
  const { now, unsubscribe } = watch(LIST)
  await eventually(() => now()?.chains.edges.length === 5)
  await runTwice(live.client, 'a-newcomer')
  while (now().chains.pageInfo.hasNextPage) {
    const { edges, pageInfo } = now().chains
    const page = watch(LIST, { after: pageInfo.endCursor })
    await eventually(() => now().chains.edges.length > edges.length)
    page.unsubscribe()
  }
  expect(now().chains.edges.map(({ node }: any) => node.name)).toEqual(live.names)
  unsubscribe()
})

test('a subscription updates the page', async () => {
  const sessionId = await waitingChain(live.client, 'a-live-one')
  const { now, unsubscribe } = watch(LIST)
  await eventually(() => now()?.chains.edges.length === 5)
  const shown = () =>
    now()
      .chains.edges.map(({ node }: any) => node)
      .find(({ name }: any) => name === 'a-live-one')
  expect(shown()).toMatchObject({ state: 'WAITING_RETRY', attempts: 1 })
  requests.length = 0
  const events = urql.subscription(EVENTS, { after: now().eventCursor }).subscribe(({ error }) => {
    if (error) complaints.push(String(error))
  })
  await live.client.retryNow(sessionId)
  await eventually(() => shown().state === 'SUCCEEDED')
  expect(shown()).toMatchObject({ attempts: 2, newestAttempt: { attempt: 2, status: 'TERMINATED' } })
  // All of it came by the subscription.
  expect(requests).toEqual([])
  events.unsubscribe()
  unsubscribe()
})

test('a deleted thing disappears by its `deletedId`: graphcache reads the list again', async () => {
  const made = []
  for (const name of ['first', 'second'])
    made.push((await live.client.createWebhook({ url: `https://example.com/${name}`, eventTypes: ['*'] })).webhook)
  urql = newClient(keyless, introspectionFromSchema(buildSchema(await readFile(SCHEMA_PATH, 'utf8'))))
  const { now, unsubscribe } = watch(HOOKS)
  await eventually(() => now()?.webhooks.edges.length === 2)
  requests.length = 0
  await urql.mutation(
    gql(`mutation Delete($input: DeleteWebhookInput!) { deleteWebhook(input: $input) {
      ... on DeleteWebhookPayload { deletedId } ... on Error { code message } } }`),
    { input: { webhookId: made[0]!.webhookId } },
  )
  await eventually(() => now()?.webhooks.edges.length === 1)
  expect(now().webhooks.edges[0].node.url).toBe('https://example.com/second')
  expect(requests).toEqual(['Delete', 'Hooks'])
  unsubscribe()
})

test('everything that a page shows has a key, or is part of an object with one', async () => {
  await live.client.setQuota({ scope: 'PROJECT', name: 'default', maxRunning: 50 })
  await live.client.setRetrySwitch({ scope: 'CLUSTER', rateLimit: { perSecond: 100, burst: 100 } })
  const page = gql(`query Page {
    chains(first: 5) { counts { state count } edges { node { ${CHAIN_FIELDS}
      epochs { epoch overrides { field value } } changes { edges { node { attempt differences { field } } } }
      timeline(first: 5) { edges { node { kind from to session { id } } } } failures { cause count }
      sessions(last: 3) { edges { node { id labels { key value } retryPolicy { maxRetries rules { match { exitCodes } } }
        kernels { id logs(first: 1) { edges { node { text } } } } retryDecision { id holds { from } }
        schedulingHistory(first: 2) { edges { node { phase } } } durations { running } actions { action allowed } } } } } } }
    viewer { id can { administer } } tokens(first: 5) { edges { node { id name } } }
    quotas { id slots { slot amount } usage { running slots { slot amount } } }
    retrySwitches { id rateLimit { perSecond } } retryDefaults { id policy { maxRetries } }
    agents { edges { node { id slots { slot } } } } auditLog(first: 5) { edges { node { id action } } }
    sessionStatistics { total { ended } buckets { from figures { ended } byCause { cause } } }
  }`)
  const ask = async (client: Client) => (await client.query(page, {}).toPromise()).error
  expect(await ask(urql)).toBeUndefined()
  expect(complaints).toEqual([])
  // It does say so where a type is forgotten.
  expect(await ask(newClient(keyless.filter((name) => name !== 'ChainOutlook')))).toBeUndefined()
  expect(complaints.splice(0).join()).toMatch(
    /key could be generated.*ChainOutlook|ChainOutlook.*key could be generated/s,
  )
})
