import { randomBytes } from 'node:crypto'
import { createClient as createSocketClient } from 'graphql-ws'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { readAdminToken, type ServerProcess, startServer } from '../../src/cli/demo/server-process.ts'
import { type Client, createClient } from '../../src/client/node/index.ts'
import { testDatabase, type TestDatabase } from '../support/database/database.ts'
import { eventually } from '../support/eventually.ts'
import { temporaryDirectory } from '../support/run/temporary-directory.ts'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'

/** One chain with a retry on a real server: what a collector gets of it, and what the log says of it. */

type Receiver = Awaited<ReturnType<typeof startOtlpReceiver>>
type Line = Record<string, unknown>

const CREATE = `mutation CreateWork($input: CreateSessionInput!) { createSession(input: $input) {
  ... on CreateSessionPayload { session { sessionId chainId } } ... on Error { code message } } }`
const INPUT = {
  name: 'work',
  command: ['sh', '-c', 'test "$REPRISE_ATTEMPT" -ge 2'],
  retryPolicy: { maxRetries: 1, retryDelay: 0.2, jitter: 'NONE' },
}

const RESUBMIT = `mutation Resubmit($id: UUID!) { resubmitSessions(input: { sessionIds: [$id] }) {
  ... on ResubmitSessionsPayload { sessions { sessionId } } ... on Error { code message } } }`

const clientTrace = randomBytes(16).toString('hex')
const clientSpan = randomBytes(8).toString('hex')
const socketTrace = randomBytes(16).toString('hex')
const resubmissionTrace = randomBytes(16).toString('hex')
const requestId = 'of-the-test-1'

let receiver: Receiver
let server: ServerProcess
let client: Client
let token: string
let database: TestDatabase
let chainId: string
let childId: string
let untraced: string
/** Created over graphql-ws, failed, and resubmitted over HTTP. */
let socketChainId: string
let resubmittedId: string
const lines: Line[] = []

beforeAll(async () => {
  const dataDir = await temporaryDirectory('traces')
  receiver = await startOtlpReceiver()
  database = await testDatabase()
  const env = {
    REPRISE_DATABASE_URL: database.connectionString,
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_BSP_SCHEDULE_DELAY: '200',
    OTEL_RESOURCE_ATTRIBUTES: 'service.name=reprise-of-the-test',
    REPRISE_LOG_LEVEL: 'debug',
  }
  server = await startServer({ dataDir, port: 0, onLog: (line) => lines.push(JSON.parse(line) as Line), env })
  token = await readAdminToken(dataDir)
  client = createClient({ url: server.url, token })
  chainId = await create({ traceparent: `00-${clientTrace}-${clientSpan}-01`, 'x-request-id': requestId })
  untraced = await create({ traceparent: `00-${randomBytes(16).toString('hex')}-${clientSpan}-00` })
  const { attempts } = await client.waitForChain(chainId)
  childId = attempts[1]!.sessionId
  await client.waitForChain(untraced)
  socketChainId = await createOverSocket(`00-${socketTrace}-${clientSpan}-01`)
  await client.waitForChain(socketChainId)
  await isDecided(socketChainId)
  resubmittedId = await resubmit({ traceparent: `00-${resubmissionTrace}-${clientSpan}-01` })
  await client.waitForChain(resubmittedId)
  await isDecided(resubmittedId)
  await client.close()
  await server.stop()
})

afterAll(async () => {
  await client?.close()
  await server?.stop()
  await receiver?.close()
  await database?.close()
})

/** That is a step of its own, with a span of its own, after the end. */
async function isDecided(sessionId: string): Promise<void> {
  const decided = 'SELECT FROM retry_decisions WHERE session_id = $1'
  await eventually(async () => (await database.db.query(decided, [sessionId])).rowCount === 1)
}

interface CreateWork {
  createSession: { session: { sessionId: string } }
}

async function post<Data>(headers: Record<string, string>, operation: object): Promise<Data> {
  const response = await fetch(`${server.url}/graphql`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(operation),
  })
  return ((await response.json()) as { data: Data }).data
}

async function create(headers: Record<string, string>): Promise<string> {
  const operation = { query: CREATE, variables: { input: INPUT }, operationName: 'CreateWork' }
  return (await post<CreateWork>(headers, operation)).createSession.session.sessionId
}

async function createOverSocket(traceparent: string): Promise<string> {
  const socketClient = createSocketClient({
    url: `${server.url.replace('http', 'ws')}/graphql`,
    webSocketImpl: WebSocket,
    connectionParams: { authorization: `Bearer ${token}` },
  })
  const variables = { input: { name: 'fails', command: ['false'] } }
  const results = socketClient.iterate<CreateWork>({ query: CREATE, variables, extensions: { traceparent } })
  const { value } = await results.next()
  await socketClient.dispose()
  return (value as { data: CreateWork }).data.createSession.session.sessionId
}

async function resubmit(headers: Record<string, string>): Promise<string> {
  const operation = { query: RESUBMIT, variables: { id: socketChainId } }
  const data = await post<{ resubmitSessions: { sessions: { sessionId: string }[] } }>(headers, operation)
  return data.resubmitSessions.sessions[0]!.sessionId
}

describe('a collector gets', () => {
  const named = (name: string) => receiver.spans.filter((span) => span.name === name && span.traceId === clientTrace)
  const request = () => receiver.spans.find(({ parentSpanId }) => parentSpanId === clientSpan)!

  test("the request's span, below the client's", () => {
    expect(request()).toMatchObject({
      name: 'POST /graphql',
      traceId: clientTrace,
      kind: 2,
      service: 'reprise-of-the-test',
      attributes: {
        'http.route': '/graphql',
        'http.response.status_code': 200,
        'graphql.operation.name': 'CreateWork',
        'reprise.request.id': requestId,
        'reprise.session.ids': [chainId],
      },
    })
  })

  test('scheduling, decision and dispatch of each attempt, below the request and linked with their batch', () => {
    const first = { 'reprise.session.id': chainId, 'reprise.chain.id': chainId, 'reprise.attempt': 1 }
    const second = { 'reprise.session.id': childId, 'reprise.chain.id': chainId, 'reprise.attempt': 2 }
    const expected = {
      'schedule-sessions': [first, second],
      'decide-retries': [
        { ...first, 'reprise.retry.phase': 'SCHEDULED', 'reprise.retry.cause': 'KERNEL_NONZERO_EXIT' },
        { ...second, 'reprise.retry.phase': 'SUCCEEDED' },
      ],
      'dispatch-retries': [{ ...first, 'reprise.child_session.id': childId }],
    }
    for (const [handler, attributes] of Object.entries(expected)) {
      const spans = named(`${handler} session`)
      expect(spans.map((span) => span.attributes)).toMatchObject(attributes)
      for (const span of spans) {
        expect(span.parentSpanId).toBe(request().spanId)
        expect(BigInt(span.endTimeUnixNano)).toBeGreaterThan(BigInt(span.startTimeUnixNano))
        const batch = receiver.spans.find(({ spanId }) => spanId === span.links[0]!.spanId)!
        expect(batch.name).toBe(handler)
        const back = batch.links.filter(({ spanId }) => spanId === request().spanId)
        expect(back.map((link) => link.attributes)).toContainEqual(span.attributes)
      }
    }
  })

  test("operations over graphql-ws, and a resubmission's request, which links to the chain's; the chain stays in its trace", () => {
    const rootOf = (trace: string) =>
      receiver.spans.find((span) => span.traceId === trace && span.parentSpanId === clientSpan)!
    const first = rootOf(socketTrace)
    expect(first).toMatchObject({
      name: 'graphql-ws /graphql',
      attributes: { 'reprise.session.ids': [socketChainId] },
    })
    const ids = { 'reprise.session.id': socketChainId, 'reprise.child_session.id': resubmittedId }
    expect(rootOf(resubmissionTrace).links).toMatchObject([{ spanId: first.spanId, attributes: ids }])
    const decided = receiver.spans.filter(
      ({ traceId, name }) => traceId === socketTrace && name === 'decide-retries session',
    )
    expect(decided.map(({ attributes }) => attributes['reprise.session.id'])).toEqual([socketChainId, resubmittedId])
  })

  test('nothing of what the client does not want traced', () => {
    const told = receiver.spans.flatMap(({ attributes, links }) => [
      attributes,
      ...links.map((link) => link.attributes),
    ])
    const chains = new Set(told.map((attributes) => attributes['reprise.chain.id']))
    expect(chains.has(chainId)).toBe(true)
    expect(chains.has(untraced)).toBe(false)
  })
})

describe('the log has', () => {
  const about = (ids: Line) => lines.filter((line) => Object.entries(ids).every(([key, value]) => line[key] === value))

  test('the request with its id, and the session that it created', () => {
    expect(about({ requestId, route: '/graphql' })).toMatchObject([{ method: 'POST', status: 200, level: 20 }])
    expect(about({ requestId, route: '/graphql' })[0]!['durationMs']).toEqual(expect.any(Number))
    expect(about({ requestId, sessionId: chainId })).toMatchObject([{ chainId, msg: 'created a session' }])
  })

  test('one line for each outcome of each attempt, with its session and its chain', () => {
    expect(about({ chainId, sessionId: chainId, attempt: 1, phase: 'SCHEDULED' })).toMatchObject([{ level: 30 }])
    expect(about({ chainId, sessionId: chainId, childSessionId: childId })).toMatchObject([
      { msg: 'retried as attempt 2', level: 30 },
    ])
    const moves = (sessionId: string) => about({ chainId, sessionId, outcome: 'SUCCESS' }).map(({ msg }) => msg)
    for (const sessionId of [chainId, childId]) {
      expect(moves(sessionId)).toEqual([
        'schedule-sessions: PENDING → SCHEDULED',
        expect.stringMatching(/^prepare-sessions: /),
        expect.stringMatching(/^start-sessions: /),
      ])
    }
    expect(about({ chainId, sessionId: childId, attempt: 2, msg: 'the chain has succeeded' })).toHaveLength(1)
  })
})

interface Attribute {
  key: string
  value: { stringValue?: string; intValue?: number | string; arrayValue?: { values: { stringValue?: string }[] } }
}

interface SentSpan {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  kind: number
  startTimeUnixNano: string
  endTimeUnixNano: string
  attributes: Attribute[]
  links?: { traceId: string; spanId: string; attributes?: Attribute[] }[]
}

/** A span as a collector stores it. */
interface ReceivedSpan extends Omit<SentSpan, 'attributes' | 'links'> {
  attributes: Record<string, unknown>
  links: { traceId: string; spanId: string; attributes: Record<string, unknown> }[]
  service: unknown
}

/** The part of an OpenTelemetry collector that receives traces over OTLP/HTTP as JSON. */
async function startOtlpReceiver() {
  const spans: ReceivedSpan[] = []
  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const accepted = request.url === '/v1/traces' && request.headers['content-type'] === 'application/json'
    if (accepted) spans.push(...spansOf(await json(request)))
    response.writeHead(accepted ? 200 : 404, { 'content-type': 'application/json' }).end('{}')
  }
  const http = createServer((request, response) => void receive(request, response)).listen(0, '127.0.0.1')
  await once(http, 'listening')
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    spans,
    async close() {
      http.close()
      http.closeAllConnections()
      await once(http, 'close')
    },
  }
}

function spansOf(body: unknown): ReceivedSpan[] {
  const { resourceSpans } = body as {
    resourceSpans: { resource: { attributes: Attribute[] }; scopeSpans: { spans: SentSpan[] }[] }[]
  }
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        ...span,
        attributes: plain(span.attributes),
        links: (span.links ?? []).map((link) => ({ ...link, attributes: plain(link.attributes ?? []) })),
        service: plain(resource.attributes)['service.name'],
      })),
    ),
  )
}

function plain(attributes: readonly Attribute[]): Record<string, unknown> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => {
      const { stringValue, intValue, arrayValue } = value
      if (arrayValue) return [key, arrayValue.values.map((each) => each.stringValue)]
      return [key, stringValue ?? (intValue === undefined ? value : Number(intValue))]
    }),
  )
}
