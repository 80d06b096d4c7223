/** The client behind a server that redirects it, over each transport. */
import { createServer, type IncomingMessage, type Server } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createClient, HttpStatusError, type Client } from '../../../src/client/node/index.ts'
import { commandLine } from '../../support/programs/command-line.ts'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'

let server: TestServer
let gate: Redirector
let clients: Client[]

interface Redirector {
  url: string
  /** What it was asked: method, path and token of each request. */
  asked: string[]
  /** The status and Location of its answers. */
  answer: [number, string]
  close(): Promise<void>
}

async function startRedirector(): Promise<Redirector> {
  const asked: string[] = []
  const listener: Server = createServer((request: IncomingMessage, response) => {
    asked.push(`${request.method} ${request.url} ${request.headers.authorization ?? 'no token'}`)
    request.resume().on('end', () => {
      const [status, location] = redirector.answer
      response.writeHead(status, { location }).end()
    })
  })
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const redirector: Redirector = {
    url: `http://127.0.0.1:${(listener.address() as AddressInfo).port}`,
    asked,
    answer: [307, '/'],
    async close() {
      listener.closeAllConnections()
      await new Promise((resolve) => listener.close(resolve))
    },
  }
  return redirector
}

beforeAll(async () => {
  server = await startGraphQLServer()
})
afterAll(() => server?.close())
beforeEach(async () => {
  clients = []
  gate = await startRedirector()
})
afterEach(async () => {
  await Promise.all(clients.map((client) => client.close()))
  await gate.close()
})

const TRANSPORTS = [
  ['its own connections', {}],
  ['fetch', { fetch }],
] as const

describe.each(TRANSPORTS)('over %s', (_name, options) => {
  function clientOf(...urls: string[]): Client {
    const client = createClient({ urls, token: server.adminToken, retry: false, ...options })
    clients.push(client)
    return client
  }

  test.each([307, 308])('%i to a configured server is followed, with method, body and token', async (status) => {
    gate.answer = [status, `${server.url}/graphql`]
    const { session } = await clientOf(gate.url, server.url).createSession({ name: `by-${status}`, command: ['true'] })
    const { rows } = await server.db.query('SELECT name FROM sessions WHERE id = $1', [session.sessionId])
    expect(rows).toEqual([{ name: `by-${status}` }])
    expect(gate.asked).toEqual([`POST /graphql Bearer ${server.adminToken}`])
  })

  test.each([307, 308])('%i to another server is not, and says where it points', async (status) => {
    const stranger = await startRedirector()
    try {
      gate.answer = [status, `${stranger.url.replace('http://', 'http://user:pass@')}/graphql?token=secret`]
      const asking = clientOf(gate.url, server.url).projects()[Symbol.asyncIterator]().next()
      const error: unknown = await asking.catch((refusal: unknown) => refusal)
      expect(error).toBeInstanceOf(HttpStatusError)
      expect(error).toMatchObject({
        code: `HTTP_${status}`,
        message: `${gate.url} responded with ${status} and redirects to ${stranger.url}/graphql, which is not one of the configured servers; give the client this address`,
      })
      expect(stranger.asked).toEqual([])
    } finally {
      await stranger.close()
    }
  })

  test.each([301, 302, 303])('%i would change the request: it is told, not followed', async (status) => {
    gate.answer = [status, `${server.url}/graphql`]
    const asking = clientOf(gate.url, server.url).viewer()
    await expect(asking).rejects.toThrow(
      `${gate.url} responded with ${status} and redirects to ${server.url}/graphql, which is not followed; give the client this address`,
    )
  })

  test('a circle ends', async () => {
    gate.answer = [307, '/graphql?again']
    await expect(clientOf(gate.url).viewer()).rejects.toThrow(
      `redirects to ${gate.url}/graphql, after 5 other redirects`,
    )
    expect(gate.asked).toHaveLength(6)
  })

  test('a redirect to nowhere is an answer that is none', async () => {
    gate.answer = [307, 'http://[']
    await expect(clientOf(gate.url).viewer()).rejects.toMatchObject({ code: 'HTTP_307' })
  })
})

test('the command line says where a server has gone', async () => {
  gate.answer = [308, 'http://127.0.0.1:9/graphql']
  const reprise = commandLine({ REPRISE_URL: gate.url, REPRISE_TOKEN: server.adminToken })
  const { status, stderr } = await reprise('list')
  expect(status).toBe(1)
  expect(stderr).toContain('redirects to http://127.0.0.1:9/graphql, which is not one of the configured servers')
})
