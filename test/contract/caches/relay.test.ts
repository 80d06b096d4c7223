import { execFile } from 'node:child_process'
import { cp, mkdir, readdir, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { promisify } from 'node:util'
import {
  commitMutation,
  createOperationDescriptor,
  ConnectionHandler,
  Environment,
  fetchQuery,
  getRequest,
  getSelector,
  Network,
  Observable,
  RecordSource,
  requestSubscription,
  Store,
  type ConcreteRequest,
  type PayloadData,
  type GraphQLTaggedNode,
  type ReaderFragment,
  type SingularReaderSelector,
  type Variables,
} from 'relay-runtime'
import { afterAll, beforeAll, beforeEach, afterEach, expect, test, vi } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { temporaryDirectory } from '../../support/run/temporary-directory.ts'
import { assertContent, forward, runTwice, SCHEMA_PATH, startLiveServer, type LiveServer } from './live-server.ts'
import { RELAY_SOURCES } from './relay-sources.ts'

/** Relay: its compiler takes the schema as it is, and its store is never told two things of one object. */

let live: LiveServer
let artifacts: Record<string, GraphQLTaggedNode>
let environment: Environment
const complaints: string[] = []

beforeAll(async () => {
  ;[artifacts, live] = await Promise.all([compiled(), startLiveServer()])
})
afterAll(() => live?.[Symbol.asyncDispose]())

beforeEach(() => {
  complaints.length = 0
  const complain = (...args: unknown[]) => void complaints.push(args.map(String).join(' '))
  vi.spyOn(console, 'error').mockImplementation(complain)
  vi.spyOn(console, 'warn').mockImplementation(complain)
  environment = environmentOf(live)
})
afterEach(() => {
  vi.restoreAllMocks()
  assertContent(complaints)
})

/** The artifacts of the real compiler, from the committed schema. */
async function compiled(): Promise<Record<string, GraphQLTaggedNode>> {
  const directory = await temporaryDirectory('relay')
  await mkdir(join(directory, 'src'))
  await mkdir(join(directory, 'artifacts'))
  await cp(SCHEMA_PATH, join(directory, 'schema.graphql'))
  for (const [name, text] of Object.entries(RELAY_SOURCES)) await writeFile(join(directory, 'src', `${name}.js`), text)
  const config = {
    src: './src',
    schema: './schema.graphql',
    language: 'javascript',
    artifactDirectory: './artifacts',
    eagerEsModules: false,
  }
  await writeFile(join(directory, 'relay.config.json'), JSON.stringify(config))
  await writeFile(join(directory, 'package.json'), '{ "type": "commonjs" }')
  const cli = createRequire(import.meta.url).resolve('relay-compiler/cli.js')
  await promisify(execFile)(process.execPath, [cli, 'relay.config.json'], { cwd: directory })
  const require = createRequire(join(directory, 'artifacts/'))
  const files = await readdir(join(directory, 'artifacts'))
  return Object.fromEntries(
    files.map((file) => [
      file.replace('.graphql.js', ''),
      require(join(directory, 'artifacts', file)) as GraphQLTaggedNode,
    ]),
  )
}

function environmentOf({ connection }: LiveServer): Environment {
  const network = Network.create(
    async ({ text }, variables) => ({ data: await connection.request<PayloadData>(text!, variables) }),
    ({ text }, variables) =>
      Observable.create((sink) =>
        forward(connection, text!, variables, {
          next: (data) => sink.next({ data } as never),
          error: (error) => sink.error(error as Error),
          complete: () => sink.complete(),
        }),
      ),
  )
  return new Environment({ network, store: new Store(new RecordSource()) })
}

async function read(name: string, variables: Variables = {}) {
  const request = getRequest(artifacts[name]!)
  await fetchQuery(environment, request, variables, { fetchPolicy: 'network-only' }).toPromise()
  const operation = createOperationDescriptor(request, variables)
  environment.retain(operation)
  return { operation, data: () => environment.lookup(operation.fragment).data as any }
}

/** The data that a component gets from a fragment. */
function fragment(name: string, reference: unknown): any {
  const selector = getSelector(artifacts[name] as ReaderFragment, reference) as SingularReaderSelector
  const { data, isMissingData } = environment.lookup(selector)
  expect(isMissingData).toBe(false)
  return data
}

function commit(name: string, variables: Variables): Promise<any> {
  return new Promise((resolve, reject) => {
    commitMutation(environment, {
      mutation: artifacts[name]!,
      variables,
      onCompleted: (data) => resolve(data),
      onError: reject,
    })
  })
}

test('the compiler takes the schema: fragments, pages, subscriptions and updates', () => {
  const requests = Object.keys(artifacts).filter((name) => (artifacts[name] as ConcreteRequest).kind === 'Request')
  expect(requests.toSorted()).toEqual([
    'chainListPageQuery',
    'chainListQuery',
    'liveChainsSubscription',
    'sessionListPageQuery',
    'sessionListQuery',
    'settingsQuery',
    'tokensQuery',
    'tokensRevokeMutation',
    'webhooksCreateMutation',
    'webhooksDeleteMutation',
    'webhooksQuery',
  ])
})

test('pages: none twice, none missing, also while others come', async () => {
  const { data } = await read('chainListQuery', { first: 5 })
  const list = () => fragment('chainList', data()).chains
  await runTwice(live.client, 'a-newcomer')
  while (list().pageInfo.hasNextPage) await read('chainListPageQuery', { first: 5, after: list().pageInfo.endCursor })
  const rows = list().edges.map(({ node }: any) => fragment('chainRow', node))
  expect(rows.map(({ name }: any) => name)).toEqual(live.names)
  expect(new Set(rows.map(({ state }: any) => state))).toEqual(new Set(['SUCCEEDED']))
  const { id } = rows.find(({ attempts }: any) => attempts === 2)
  const one = await read('sessionListQuery', { id })
  const { sessions } = fragment('sessionList', one.data().node.chain)
  expect(sessions.edges.map(({ node }: any) => node.retryDecision.phase)).toEqual(['DISPATCHED', 'SUCCEEDED'])
})

test('a subscription updates the page, with one value for each object', async () => {
  const before = await read('chainListQuery', { first: 5 })
  const { eventCursor } = before.data()
  const seen: string[] = []
  const subscription = requestSubscription(environment, {
    subscription: artifacts['liveChainsSubscription']!,
    variables: { after: eventCursor },
    onNext: (data: any) => void seen.push(`${data.sessionEvents.session.chain.name} ${data.sessionEvents.type}`),
    onError: (error) => void complaints.push(String(error)),
  })
  await Promise.all(['live-0', 'live-1', 'live-2', 'live-3'].map((name) => runTwice(live.client, name)))
  await eventually(() => seen.filter((each) => each.endsWith('CHAIN_SUCCEEDED')).length === 4)
  live.sent()
  const source = environment.getStore().getSource()
  const chains = source
    .getRecordIDs()
    .map((id) => source.get(id) as any)
    .filter((record) => record?.__typename === 'Chain')
  const shown = chains
    .filter(({ name }) => name.startsWith('live-'))
    .map(({ name, state, attempts }) => ({ name, state, attempts }))
  expect(shown.toSorted((a, b) => a.name.localeCompare(b.name))).toEqual(
    [0, 1, 2, 3].map((n) => ({ name: `live-${n}`, state: 'SUCCEEDED', attempts: 2 })),
  )
  expect(live.sent()).toEqual([])
  expect(seen.length).toBeGreaterThan(40)
  subscription.dispose()
})

test('two values of one object in one answer would be noticed', async () => {
  const { operation } = await read('settingsQuery')
  const quota = (name: string) => ({ id: 'one', scope: 'USER', name, usage: { running: 0 } })
  const rest = { retrySwitches: [], retryDefaults: [], retryDecisions: { edges: [] } }
  environment.commitPayload(operation, { quotas: [quota('a'), quota('b')], ...rest })
  expect(complaints.splice(0).join()).toContain('conflicting field')
})

test('created and deleted things appear and disappear without reading the list again', async () => {
  const { data } = await read('webhooksQuery')
  const connections = [ConnectionHandler.getConnectionID('client:root', 'webhooks_webhooks')]
  const urls = () => data().webhooks.edges.map(({ node }: any) => node?.url)
  const create = async (name: string) => {
    const input = { url: `https://example.com/${name}`, eventTypes: ['*'] }
    return (await commit('webhooksCreateMutation', { input, connections })).createWebhook.webhook
  }
  const [first, second] = [await create('first'), await create('second')]
  expect(urls()).toEqual([second.url, first.url])
  await commit('webhooksDeleteMutation', { input: { webhookId: second.webhookId } })
  expect(urls().filter(Boolean)).toEqual([first.url])
  expect(environment.getStore().getSource().get(second.id)).toBeNull()
  expect(live.sent().filter((name) => name === 'webhooksQuery')).toHaveLength(1)

  const { token } = await live.client.createToken({ name: 'short-lived', role: 'ADMIN' })
  const tokens = await read('tokensQuery')
  const names = () => tokens.data().tokens.edges.map(({ node }: any) => node.name)
  expect(names()).toContain('short-lived')
  const shown = [ConnectionHandler.getConnectionID('client:root', 'tokens_tokens')]
  await commit('tokensRevokeMutation', { input: { tokenId: token.tokenId }, connections: shown })
  expect(names()).not.toContain('short-lived')
})

test('settings and decisions are kept by their ids', async () => {
  await live.client.setQuota({ scope: 'PROJECT', name: 'default', maxRunning: 50 })
  await live.client.setRetrySwitch({ scope: 'CLUSTER', rateLimit: { perSecond: 100, burst: 100 } })
  const { data } = await read('settingsQuery')
  const { quotas, retrySwitches, retryDecisions } = data()
  const ids = [...quotas, ...retrySwitches, ...retryDecisions.edges.map(({ node }: any) => node)].map(({ id }) => id)
  expect(ids.length).toBeGreaterThan(5)
  for (const id of ids) expect(environment.getStore().getSource().get(id)).toMatchObject({ __id: id })
})
