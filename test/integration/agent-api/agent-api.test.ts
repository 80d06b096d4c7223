/** The HTTP API of agents: polls, invalid requests, and tokens that change. */
import { randomInt, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { pino } from 'pino'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type AgentApiContext, createAgentApi } from '../../../src/gateway/agent-api.ts'
import type { ServerGateway } from '../../../src/gateway/gateway.ts'
import { createHttpGateway } from '../../../src/agent/http-gateway.ts'
import type { SyncRequest } from '../../../src/domain/agent/protocol.ts'
import { createAgentOwnership } from '../../../src/services/agent/register-agent.ts'
import { createAuthenticator } from '../../../src/services/access/authenticate.ts'
import { sessionIn } from '../../support/sessions/drive-session.ts'
import { eventually } from '../../support/eventually.ts'
import { fakeAgent } from '../../support/agents/fake-agent.ts'
import { startGraphQLServer } from '../../support/servers/graphql-server.ts'
import { PATHS, useAgentApi } from './agent-api-fixture.ts'

const given = useAgentApi()
const log = pino({ enabled: false })

/** The same API in front of a gateway that tells what reaches it. */
async function watchedApi(options: Pick<AgentApiContext, 'bodyWithinMs' | 'lingerMs'> = {}) {
  const waits: { request: SyncRequest; signal: AbortSignal }[] = []
  const { db, wake } = given.api
  const gateway: ServerGateway = {
    register: async () => ({ logOffsets: [], heartbeatMs: 1, fenceAfterMs: 1 }),
    fetchCode: () => Promise.reject(new Error('no code')),
    offerCheckpoint: () => Promise.reject(new Error('no checkpoint')),
    sendCheckpoint: () => Promise.reject(new Error('no checkpoint')),
    fetchCheckpoint: () => Promise.reject(new Error('no checkpoint')),
    reportOutputs: () => Promise.reject(new Error('no outputs')),
    listInputs: () => Promise.reject(new Error('no inputs')),
    haveBlobs: () => Promise.reject(new Error('no blob')),
    sendParts: () => Promise.reject(new Error('no blob')),
    fetchBlob: () => Promise.reject(new Error('no blob')),
    sync: (request, signal) =>
      new Promise((resolve) => {
        waits.push({ request, signal })
        signal.addEventListener('abort', () => resolve({ orders: [], forget: [] }))
      }),
  }
  const authenticate = createAuthenticator({ db, log })
  const api = createAgentApi({ gateway, authenticate, ownership: createAgentOwnership(db), log, ...options })
  const server = createServer((request, response) => void api.handle(request, response, 'test'))
  const begun = once(server, 'request')
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    api,
    waits,
    /** The first request has come, its body perhaps not yet. */
    begun,
    wake,
    port,
    url: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      api.end()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** A port on which nobody listens any more. */
async function deadUrl(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return `http://127.0.0.1:${port}`
}

const sync = (of: object = {}) => ({
  agentId: given.agent.id,
  instanceId: randomUUID(),
  sequence: 1,
  observed: [],
  logs: [],
  waitMs: 5_000,
  ...of,
})

const post = (url: string, body: object, signal?: AbortSignal) =>
  fetch(url + PATHS.sync, {
    method: 'POST',
    headers: { authorization: `Bearer ${given.token}` },
    body: JSON.stringify(body),
    signal: signal ?? null,
  })

describe('a poll', () => {
  test('ends when its agent hangs up', async () => {
    await using watched = await watchedApi()
    const hangUp = new AbortController()
    const polling = post(watched.url, sync(), hangUp.signal)
    await eventually(() => watched.waits.length === 1)
    hangUp.abort()
    await expect(polling).rejects.toThrow('aborted')
    await eventually(() => watched.waits[0]!.signal.aborted)
  })

  test('ends when a newer one comes of the same instance', async () => {
    await using watched = await watchedApi()
    const body = sync()
    const older = post(watched.url, body)
    await eventually(() => watched.waits.length === 1)
    const newer = post(watched.url, { ...body, sequence: 2 })
    expect((await older).status).toBe(200)
    await eventually(() => watched.waits.length === 2)
    expect(watched.waits[1]!.signal.aborted).toBe(false)
    watched.api.end()
    expect((await newer).status).toBe(200)
  })

  test('ends at once, answered, when the server closes; and so does the server', async () => {
    const api = await startGraphQLServer()
    const token = await api.factory.token({ role: 'AGENT' })
    const gateway = createHttpGateway({ urls: [api.url], token, log })
    const signal = new AbortController().signal
    const identity = { agentId: randomUUID(), instanceId: randomUUID() }
    const registration = { name: 'a', resourceGroup: 'default', address: '', version: '', slots: {}, labels: {} }
    await gateway.register({ ...identity, ...registration }, signal)
    const heardAt = async () => (await api.db.query('SELECT last_heard_at AS at FROM agents')).rows[0]!['at'] as Date
    // That it hears an agent, the server writes down at most once a second.
    await api.db.query(`UPDATE agents SET last_heard_at = now() - interval '2 seconds'`)
    const before = await heardAt()
    const began = performance.now()
    const polling = gateway.sync({ ...identity, sequence: 1, observed: [], logs: [], waitMs: 5_000 }, signal)
    await eventually(async () => (await heardAt()) > before)
    await api.close()
    expect(await polling).toEqual({ orders: [], forget: [] })
    expect(performance.now() - began).toBeLessThan(4_500)
    await expect(gateway.sync({ ...identity, sequence: 2, observed: [], logs: [], waitMs: 0 }, signal)).rejects.toThrow(
      'ECONNREFUSED',
    )
  })

  test('that comes while the server closes is sent to another', async () => {
    await using watched = await watchedApi()
    watched.api.end()
    const response = await post(watched.url, sync())
    expect(response.status).toBe(503)
    expect(await response.json()).toMatchObject({ code: 'SERVER_STOPPING' })
  })

  test('brings an order at once', async () => {
    const { agent, server, api, token } = given
    const gateway = createHttpGateway({ urls: [api.url], token, log })
    const { rows } = await api.db.query<{ id: string }>('SELECT instance_id AS id FROM agents')
    const signal = new AbortController().signal
    const began = performance.now()
    const request = {
      agentId: agent.id,
      instanceId: rows[0]!.id,
      sequence: 1_000,
      observed: [],
      logs: [],
      waitMs: 5_000,
    }
    const polling = gateway.sync(request, signal)
    await sessionIn(server, agent, 'PREPARING')
    expect((await polling).orders).toMatchObject([{ want: 'PREPARE' }])
    expect(performance.now() - began).toBeLessThan(4_500)
  })
})

describe('a request', () => {
  test('whose body does not come is answered, and its connection closed', async () => {
    await using watched = await watchedApi({ bodyWithinMs: 100 })
    const socket = connect(watched.port, '127.0.0.1')
    socket.write(
      `POST ${PATHS.sync} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${given.token}\r\nContent-Length: 100\r\n\r\n{`,
    )
    let text = ''
    socket.on('data', (chunk) => (text += chunk))
    await once(socket, 'close')
    expect(text).toMatch(/^HTTP\/1\.1 408 /)
    expect(text).toContain('"code":"REQUEST_TIMEOUT"')
  })

  test('that is refused while it is sent is answered; its connection is cut once it pauses, or after some time', async () => {
    await using watched = await watchedApi({ lingerMs: { total: 3_000, pause: 500 } })
    async function refused(body: string) {
      const socket = connect(watched.port, '127.0.0.1')
      socket.on('error', () => {})
      socket.write(`POST ${PATHS.sync} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n${body}`)
      const [answer] = (await once(socket, 'data')) as [Buffer]
      expect(answer.toString()).toMatch(/^HTTP\/1\.1 401 /)
      return socket
    }
    const sending = await refused('{')
    const more = setInterval(() => sending.write(' '), 20)
    onTestFinished(() => clearInterval(more))
    await once(await refused('{'), 'close')
    expect(sending.closed).toBe(false)
    await once(sending, 'close')
  })

  test('that breaks off is no fault', async () => {
    await using watched = await watchedApi()
    const socket = connect(watched.port, '127.0.0.1')
    socket.write(
      `POST ${PATHS.sync} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${given.token}\r\nContent-Length: 9\r\n\r\n{`,
    )
    await watched.begun
    socket.destroy()
    const polling = post(watched.url, sync())
    await eventually(() => watched.waits.length === 1)
    watched.api.end()
    expect((await polling).status).toBe(200)
  })

  test('keeps its own request id, if that can be logged', async () => {
    const headers = { 'x-request-id': 'job-7-of-12' }
    expect((await given.post(PATHS.sync, {}, { headers })).headers.get('x-request-id')).toBe('job-7-of-12')
    const told = await given.post(PATHS.sync, {}, { headers: { 'x-request-id': '{"a": 1}' } })
    expect(told.headers.get('x-request-id')).toMatch(/^[\w-]{36}$/)
    expect(told.body.requestId).toBe(told.headers.get('x-request-id'))
  })

  test('of another method, or to another path, is refused', async () => {
    const read = await fetch(given.api.url + PATHS.sync)
    expect([read.status, read.headers.get('allow')]).toEqual([405, 'POST'])
    expect((await given.post('/agent/v1/other', {})).status).toBe(404)
  })

  test('that meets an internal error gets only a request id', async () => {
    await given.api.db.query('ALTER TABLE agents RENAME TO agents_away')
    try {
      const told = await given.post(PATHS.sync, sync())
      expect(told).toMatchObject({ status: 500, body: { code: 'INTERNAL', requestId: expect.any(String) } })
      expect(JSON.stringify(told.body)).not.toContain('agents')
    } finally {
      await given.api.db.query('ALTER TABLE agents_away RENAME TO agents')
    }
  })
})

describe('an agent', () => {
  test('goes over to another token once its own is revoked, and to an administrator’s at any time', async () => {
    const { api, agent } = given
    const second = given.played(await api.factory.token({ role: 'AGENT' }), { id: agent.id })
    await expect(second.register()).rejects.toMatchObject({ code: 'FORBIDDEN' })
    await api.db.query('UPDATE api_tokens SET revoked_at = now() WHERE id = (SELECT token_id FROM agents)')
    await second.register()
    expect(await second.sync()).toEqual({ orders: [], forget: [] })
    const admin = given.played(await api.factory.token({ role: 'ADMIN' }), { id: agent.id })
    await admin.register()
    expect(await admin.sync()).toEqual({ orders: [], forget: [] })
    await expect(second.sync()).rejects.toMatchObject({ code: 'AGENT_SUPERSEDED' })
    await expect(second.register()).rejects.toMatchObject({ code: 'FORBIDDEN' })
  })

  test('switches to the next server when one does not answer, and stays there', async () => {
    await using away = await watchedApi()
    away.api.end()
    const { api, token } = given
    const gateway = createHttpGateway({ urls: [await deadUrl(), away.url, `${api.url}/`], token, log })
    const agent = fakeAgent(gateway)
    await expect(agent.register()).rejects.toThrow(/^http:\/\/127\.0\.0\.1:\d+: .*ECONNREFUSED/)
    await expect(agent.register()).rejects.toMatchObject({ code: 'SERVER_STOPPING' })
    await agent.register()
    await agent.sync()
    await expect(fakeAgent(gateway).sync()).rejects.toMatchObject({ code: 'AGENT_UNKNOWN' })
    expect(gateway.url).toBe(`${api.url}/`)
  })

  test('reports why its server address is wrong', async () => {
    const other = createServer((request, response) => {
      if (request.url!.startsWith('/moved')) response.writeHead(302, { location: given.api.url }).end()
      else response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Welcome to   somewhere else</h1>')
    }).listen(0, '127.0.0.1')
    await once(other, 'listening')
    const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`
    const register = (address: string) => fakeAgent(createHttpGateway({ urls: [address], token: 'x', log })).register()
    await expect(register(url)).rejects.toThrow(`${url} answers 200 and is no Reprise server: <h1>Welcome to somewhere`)
    await expect(register(`${url}/moved`)).rejects.toThrow(`${url}: unexpected redirect`)
    await expect(register('http://nowhere.invalid')).rejects.toThrow('nowhere.invalid')
    other.close()
  })

  test('whose upload is refused, again and again, before or after it has sent all: it has each answer', async () => {
    let [asked, open] = [0, 0]
    const proxy = createServer((request, response) => {
      const refuse = () => response.writeHead(asked % 2 === 0 ? 413 : 503).end('<html>refused</html>')
      const ways = [refuse, () => request.once('data', refuse).resume(), () => request.once('end', refuse).resume()]
      ways[asked++ % ways.length]!()
    }).listen(0, '127.0.0.1')
    await once(proxy, 'listening')
    const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
    const gateway = createHttpGateway({ urls: [url], token: 'x', log })
    async function* chunks() {
      open += 1
      try {
        for (let left = randomInt(1, 20); left > 0; left--)
          yield await Promise.resolve(Buffer.alloc(randomInt(1, 65_536)))
      } finally {
        open -= 1
      }
    }
    const refusal = async () => {
      const request = { agentId: randomUUID(), kernelId: randomUUID(), assignment: 1, generation: 0 }
      const sent = gateway.sendCheckpoint({ ...request, copy: NOTHING }, chunks(), AbortSignal.timeout(60_000))
      return sent.catch((error: { status: number; isFinal: boolean }) => [error.status, error.isFinal])
    }
    for (let round = 0; round < 60; round++) {
      const answers = await Promise.all(Array.from({ length: 10 }, refusal))
      for (const answer of answers)
        expect([
          [413, true],
          [503, false],
        ]).toContainEqual(answer)
    }
    await eventually(() => open === 0)
    proxy.closeAllConnections()
    proxy.close()
  })
})

test('connections that ask for an upgrade and are reset at once end nothing', async () => {
  const { hostname, port } = new URL(given.api.url)
  const lines = ['GET /nowhere HTTP/1.1', `Host: ${hostname}`, 'Connection: Upgrade', 'Upgrade: websocket', '', '']
  const reset = () =>
    new Promise<void>((resolve) => {
      const socket = connect(Number(port), hostname, () => {
        socket.write(lines.join('\r\n'), () => socket.resetAndDestroy())
      })
      socket.on('error', () => undefined).once('close', () => resolve())
    })
  // An error that nobody hears would fail this file.
  for (let round = 0; round < 100; round++) await reset()
  expect((await fetch(`${given.api.url}/healthz`)).status).toBe(200)
})

const NOTHING = { sha256: '0'.repeat(64), archiveBytes: 0, files: 0, bytes: 0 }
