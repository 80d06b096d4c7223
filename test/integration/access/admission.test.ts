/** Limits on one caller of a server, over all transports. */
import { once } from 'node:events'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { WebSocket } from 'ws'
import { createClient } from '../../../src/client/node/index.ts'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'
import { threadTimeOf, watchEventLoop } from '../../support/servers/event-loop-delay.ts'
import { startSecondServer } from '../../support/servers/second-server.ts'

let server: TestServer

afterEach(() => server?.close())

const TOO_MANY = 'TOO_MANY_REQUESTS'
const COUNT = '{ sessions { totalCount } }'

async function ask(path: string, token: string, body?: object) {
  const response = await fetch(server.url + path, {
    method: body ? 'POST' : 'GET',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    ...(body && { body: JSON.stringify(body) }),
  })
  const { status, headers } = response
  const answer: any = await response.json()
  return { status, retryAfter: headers.get('retry-after'), code: answer.errors?.[0]?.extensions.code ?? answer.code }
}

const refused = { status: 429, retryAfter: '1', code: TOO_MANY }
const graphql = (query: string, token: string) => ask('/graphql', token, { query })
const overGet = (query: string, token: string) => ask(`/graphql?query=${encodeURIComponent(query)}`, token)

describe('requests of one token at once', () => {
  test('are bounded: more wait, and then get 429, while others are served', async () => {
    server = await startGraphQLServer({ admission: { requestsAtOnce: 2 } })
    const other = await server.factory.token({ role: 'ADMIN' })
    const blocker = await server.database.connect()
    await blocker.query('BEGIN; LOCK TABLE sessions IN ACCESS EXCLUSIVE MODE')
    const busy = [graphql(COUNT, server.adminToken), overGet(COUNT, server.adminToken)]
    await vi.waitFor(
      async () => {
        const { rows } = await server.db.query('SELECT FROM pg_locks WHERE NOT granted')
        expect(rows.length).toBeGreaterThan(1)
      },
      { timeout: 60_000 },
    )
    const late = [
      graphql('{ eventCursor }', server.adminToken),
      overGet('{ eventCursor }', server.adminToken),
      ask('/v2/sessions', server.adminToken),
    ]
    expect(await graphql('{ resourceGroups { name } }', other)).toMatchObject({ status: 200 })
    expect(await Promise.all(late)).toEqual([refused, refused, refused])
    const waits = graphql('{ eventCursor }', server.adminToken)
    await blocker.query('COMMIT')
    await blocker.end()
    expect(await Promise.all([...busy, waits])).toMatchObject([{ status: 200 }, { status: 200 }, { status: 200 }])
  })
})

test('the client waits as long as it is told to when it asks too often, queries and mutations alike', async () => {
  server = await startGraphQLServer({ admission: { requestsPerSecond: 2 } })
  const waited: number[] = []
  await using client = createClient({
    url: server.url,
    token: server.adminToken,
    onProgress: (progress) => {
      if (progress.kind === 'retry') waited.push(progress.delaySeconds)
    },
  })
  const created = await Promise.all(
    Array.from({ length: 12 }, async (_, n) => {
      await client.eventCursor()
      return client.createSession({ name: `often-${n}`, command: ['true'] })
    }),
  )
  expect(new Set(created.map(({ session }) => session.sessionId)).size).toBe(12)
  expect(waited.length).toBeGreaterThan(0)
  expect(new Set(waited)).toEqual(new Set([1]))
})

test('requests of one token per second are bounded where that is configured', async () => {
  server = await startGraphQLServer({ admission: { requestsPerSecond: 0.1 } })
  const other = await server.factory.token({ role: 'ADMIN' })
  const all = await Promise.all(Array.from({ length: 25 }, () => graphql('{ __typename }', server.adminToken)))
  const over = all.filter(({ status }) => status === 429)
  expect(over.length).toBeGreaterThan(10)
  expect(over[0]).toEqual(refused)
  expect(await ask('/v2/sessions', server.adminToken)).toEqual(refused)
  expect(await graphql('{ __typename }', other)).toMatchObject({ status: 200 })
})

describe('an address that guesses tokens', () => {
  const guess = (start: string, n: number) => `rpr_${start}${String(n).padStart(43 - start.length, '0')}`

  async function closedWith(token: string) {
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws')
    const payload = { authorization: `Bearer ${token}` }
    socket.on('open', () => socket.send(JSON.stringify({ type: 'connection_init', payload })))
    const [code] = (await once(socket, 'close')) as [number]
    return code
  }

  test('gets 429 for those that begin like earlier ones, over all transports', async () => {
    server = await startGraphQLServer({ failedAuthenticationsPerSecond: 0.1, introspectionForStrangers: false })
    const asked = await Promise.all(Array.from({ length: 25 }, (_, n) => graphql('{ __typename }', guess('common', n))))
    expect(new Set(asked.map(({ status }) => status))).toEqual(new Set([401, 429]))
    expect(await ask('/v2/sessions', guess('common', 99))).toEqual(refused)
    expect(await overGet('{ __typename }', guess('common', 99))).toEqual(refused)
    expect(await closedWith(guess('common', 99))).toBe(1013)
  })

  test('no valid token is refused, not even a new one', async () => {
    server = await startGraphQLServer({ failedAuthenticationsPerSecond: 0.1, introspectionForStrangers: false })
    const token = await server.factory.token({ role: 'ADMIN' })
    // Each begins in its own way: none is refused for another's sake.
    const guesses = Array.from({ length: 400 }, (_, n) => graphql('{ __typename }', guess(`g${n}-`.padEnd(6, 'x'), n)))
    const valid = graphql('{ __typename }', token)
    for (const { status } of await Promise.all(guesses)) expect(status).toBe(401)
    expect(await valid).toMatchObject({ status: 200 })
  })
})

test('20,000 operations at once on one WebSocket are bounded, and keep nobody waiting', async () => {
  server = await startGraphQLServer()
  const target = await startSecondServer(server.database)
  onTestFinished(async () => void (await target.stop()))
  const asked = 20_000
  const socket = new WebSocket(`${target.url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws')
  const outcomes = { answered: 0, refused: 0 }
  const loop = watchEventLoop(target.url, threadTimeOf(target.pid))
  onTestFinished(() => loop.stop())
  await new Promise<void>((resolve) => {
    const payload = { authorization: `Bearer ${server.adminToken}` }
    socket.on('open', () => socket.send(JSON.stringify({ type: 'connection_init', payload })))
    socket.on('message', (data: Buffer) => {
      const text = String(data)
      if (text.includes('connection_ack')) {
        const counted = { type: 'subscribe', payload: { query: COUNT } }
        for (let id = 0; id < asked; id++) socket.send(JSON.stringify({ ...counted, id: String(id) }))
        void loop.begin()
      } else if (text.includes(TOO_MANY)) outcomes.refused++
      else if (text.includes('totalCount')) outcomes.answered++
      if (outcomes.answered + outcomes.refused === asked) resolve()
    })
  })
  expect(outcomes.answered).toBeGreaterThan(199)
  expect(outcomes.refused).toBeGreaterThan(0)
  loop.expectFree()
  socket.terminate()
})
