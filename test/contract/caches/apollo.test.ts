import { ApolloClient, ApolloLink, InMemoryCache, Observable } from '@apollo/client/core'
import { relayStylePagination } from '@apollo/client/utilities'
import { readFile } from 'node:fs/promises'
import { buildSchema, isAbstractType, OperationTypeNode, parse, print } from 'graphql'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
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

/** Apollo Client's normalised cache, with the settings of docs/client.md. */

let live: LiveServer
let apollo: ApolloClient
const complaints: string[] = []

beforeAll(async () => {
  live = await startLiveServer()
})
afterAll(() => live?.[Symbol.asyncDispose]())

beforeEach(async () => {
  complaints.length = 0
  const complain = (...args: unknown[]) => void complaints.push(args.map(String).join(' '))
  vi.spyOn(console, 'error').mockImplementation(complain)
  vi.spyOn(console, 'warn').mockImplementation(complain)
  apollo = new ApolloClient({ link: linkOf(live), cache: await newCache() })
  live.sent()
})
afterEach(() => {
  apollo.stop()
  vi.restoreAllMocks()
  assertContent(complaints)
})

async function newCache(): Promise<InMemoryCache> {
  const schema = buildSchema(await readFile(SCHEMA_PATH, 'utf8'))
  const abstract = Object.values(schema.getTypeMap()).filter((type) => isAbstractType(type))
  const parts = (await typesWithoutId()).map((name) => [name, { keyFields: false, merge: true }] as const)
  return new InMemoryCache({
    possibleTypes: Object.fromEntries(
      abstract.map((type) => [type.name, schema.getPossibleTypes(type).map(({ name }) => name)]),
    ),
    typePolicies: {
      ...Object.fromEntries(parts),
      Query: {
        fields: { chains: relayStylePagination(['filter', 'orderBy']), webhooks: relayStylePagination(['project']) },
      },
      Chain: { fields: { sessions: relayStylePagination() } },
    },
  })
}

function linkOf({ connection }: LiveServer): ApolloLink {
  return new ApolloLink(
    ({ query, variables, operationType }) =>
      new Observable((observer) => {
        if (operationType === OperationTypeNode.SUBSCRIPTION)
          return forward(connection, print(query), variables, {
            next: (data) => observer.next({ data: data as Record<string, unknown> }),
            error: (error) => observer.error(error),
            complete: () => observer.complete(),
          })
        connection.request<Record<string, unknown>>(print(query), variables).then(
          (data) => {
            observer.next({ data })
            observer.complete()
          },
          (error: unknown) => observer.error(error),
        )
        return undefined
      }),
  )
}

const LIST = parse(`query List($after: String) { eventCursor
  chains(first: 5, after: $after, orderBy: { field: NAME, direction: ASC }) {
    edges { cursor node { ${CHAIN_FIELDS} } } pageInfo { hasNextPage endCursor } } }`)
const EVENTS = parse(`subscription Events($after: String) { sessionEvents(after: $after) { ${EVENT_FIELDS} } }`)
const HOOKS = parse(
  'query Hooks { webhooks(first: 10) { edges { cursor node { id url } } pageInfo { hasNextPage endCursor } } }',
)

function watch(query: typeof LIST) {
  const watched = apollo.watchQuery<any>({ query })
  const states: any[] = []
  const subscription = watched.subscribe(({ data, error }) => {
    if (error) complaints.push((error as Error).message)
    states.push(data)
  })
  return { watched, now: () => states.at(-1), unsubscribe: () => subscription.unsubscribe() }
}

test('pages: none twice, none missing, also while others come', async () => {
  const { watched, now, unsubscribe } = watch(LIST)
  await eventually(() => now()?.chains?.edges.length === 5)
  await runTwice(live.client, 'a-newcomer')
  while (now().chains.pageInfo.hasNextPage) {
    const before = now().chains.edges.length
    await watched.fetchMore({ variables: { after: now().chains.pageInfo.endCursor } })
    await eventually(() => now().chains.edges.length > before)
  }
  expect(now().chains.edges.map(({ node }: any) => node.name)).toEqual(live.names)
  unsubscribe()
})

test('a subscription updates the page', async () => {
  const sessionId = await waitingChain(live.client, 'a-live-one')
  const { now, unsubscribe } = watch(LIST)
  await eventually(() => now()?.chains?.edges.length === 5)
  const shown = () =>
    now()
      .chains.edges.map(({ node }: any) => node)
      .find(({ name }: any) => name === 'a-live-one')
  expect(shown()).toMatchObject({ state: 'WAITING_RETRY', attempts: 1 })
  live.sent()
  const events = apollo
    .subscribe<any>({ query: EVENTS, variables: { after: now().eventCursor } })
    .subscribe({ error: (error) => void complaints.push(String(error)) })
  await live.client.retryNow(sessionId)
  await eventually(() => shown().state === 'SUCCEEDED')
  expect(shown()).toMatchObject({ attempts: 2, newestAttempt: { attempt: 2, status: 'TERMINATED' } })
  // All of it came by the subscription.
  expect(live.sent()).toEqual([])
  events.unsubscribe()
  unsubscribe()
})

test('a deleted thing disappears by its `deletedId`, without reading the list again', async () => {
  const made = []
  for (const name of ['first', 'second'])
    made.push((await live.client.createWebhook({ url: `https://example.com/${name}`, eventTypes: ['*'] })).webhook)
  const { now, unsubscribe } = watch(HOOKS)
  await eventually(() => now()?.webhooks?.edges.length === 2)
  live.sent()
  await apollo.mutate({
    mutation: parse(
      'mutation Delete($input: DeleteWebhookInput!) { deleteWebhook(input: $input) { ... on DeleteWebhookPayload { deletedId } ... on Error { code message } } }',
    ),
    variables: { input: { webhookId: made[0]!.webhookId } },
    update(cache, { data }) {
      const { deletedId } = (data as any).deleteWebhook
      cache.evict({ id: cache.identify({ __typename: 'Webhook', id: deletedId }) })
    },
  })
  await eventually(() => now().webhooks.edges.length === 1)
  expect(now().webhooks.edges[0].node.url).toBe('https://example.com/second')
  expect(live.sent()).toEqual(['Delete'])
  unsubscribe()
})

test('parts without an id do not overwrite each other', async () => {
  const part = async (fields: string) =>
    apollo.query({
      query: parse(`query Part { chains(first: 1) { edges { node { id outlook { ${fields} } } } } }`),
    })
  await part('willRetry')
  await part('reason')
  live.sent()
  const { data } = await part('willRetry reason')
  expect((data as any).chains.edges[0].node.outlook).toMatchObject({ willRetry: false, reason: expect.any(String) })
  expect(live.sent()).toEqual([])
})
