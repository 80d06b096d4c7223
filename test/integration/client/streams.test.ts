/** Streams of the client: no event is missed, in order, and each stream ends cleanly. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import {
  createClient,
  ForbiddenError,
  NotFoundError,
  type Client,
  type Progress,
} from '../../../src/client/node/index.ts'
import { recordStatements } from '../../support/database/record-statements.ts'
import { eventually, pause } from '../../support/eventually.ts'
import { startStalledListener } from '../../support/agents/stalled-listener.ts'
import { runProgram } from '../../support/programs/run-program.ts'
import { startFaultProxy, type FaultProxy } from '../../support/agents/fault-proxy.ts'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'

let server: TestServer
let proxy: FaultProxy
let client: Client
let progress: Progress[]

beforeAll(async () => {
  server = await startGraphQLServer()
  proxy = await startFaultProxy(server.url)
})

afterAll(async () => {
  await proxy?.close()
  await server?.close()
})

beforeEach(() => {
  progress = []
  const onProgress = (step: Progress) => progress.push(step)
  const retry = { reconnect: { minSeconds: 0.01, maxSeconds: 0.1 }, network: { minSeconds: 0.05, maxSeconds: 0.1 } }
  client = createClient({ url: proxy.url, token: server.adminToken, onProgress, retry })
})

afterEach(() => client.close())

const create = async (name: string) => (await client.createSession({ name, command: ['true'] })).session.sessionId

test('events of a time without a connection are not missed, from the very beginning on', async () => {
  const sessions: string[] = []
  const events = client.sessionEvents({ types: ['CREATED'] })
  const first = events.next()
  await vi.waitFor(() => expect(server.bus.subscribers).toBe(1), 40_000)
  await proxy.refuse()
  await vi.waitFor(() => expect(server.bus.subscribers).toBe(0), 40_000)
  for (const name of ['a', 'b']) sessions.push(await createDirectly(name))
  await proxy.listen()
  const seen = [(await first).value.sessionId, (await events.next()).value.sessionId]
  expect(seen).toEqual(sessions)
  expect(progress.some(({ kind }) => kind === 'reconnect')).toBe(true)
  await events.return!()
  await vi.waitFor(() => expect(server.bus.subscribers).toBe(0), 40_000)
})

async function createDirectly(name: string): Promise<string> {
  await using direct = createClient({ url: server.url, token: server.adminToken })
  return (await direct.createSession({ name, command: ['true'] })).session.sessionId
}

test('a consumer that is slower than the events gets all of them, in order', async () => {
  const after = await client.eventCursor()
  const inputs = Array.from({ length: 1000 }, (_, index) => ({ name: `many ${index}`, command: ['true'] }))
  const created: string[] = []
  for (let round = 0; round < 3; round++) {
    const results = await client.createSessions(inputs)
    created.push(...results.map((result) => ('session' in result ? result.session.sessionId : String(result))))
  }
  const seen: string[] = []
  for await (const { sessionId } of client.sessionEvents({ types: ['CREATED'] }, { after })) {
    seen.push(sessionId)
    if (seen.length === 1) await pause(1_500)
    if (seen.length === created.length) break
  }
  const { rows } = await server.db.query<{ id: string }>(
    `SELECT session_id AS id FROM session_events WHERE type = 'session.created' AND session_id = ANY($1) ORDER BY xid, id`,
    [created],
  )
  expect(seen).toEqual(rows.map(({ id }) => id))
})

test('several streams share one connection, and each is ended by itself', async () => {
  const streams = [client.retryEvents(), client.sessionEvents(), client.sessionEvents()]
  const pending = streams.map((stream) => stream.next())
  await vi.waitFor(() => expect(server.bus.subscribers).toBe(3), 40_000)
  await streams[0]!.return!()
  expect(await pending[0]).toEqual({ done: true, value: undefined })
  await vi.waitFor(() => expect(server.bus.subscribers).toBe(2), 40_000)
  const sessionId = await create('seen twice')
  expect((await Promise.all(pending.slice(1))).map(({ value }) => value.sessionId)).toEqual([sessionId, sessionId])
  await client.close()
  await expect(streams[1]!.next()).rejects.toMatchObject({ code: 'CLIENT_CLOSED' })
  await vi.waitFor(() => expect(server.bus.subscribers).toBe(0), 40_000)
})

test('logs start with their last lines, without reading the earlier ones, and continue from there', async () => {
  const { id, kernelIds } = await server.factory.session({ status: 'RUNNING' })
  const kernelId = kernelIds[0]!
  await server.db.query(
    `INSERT INTO kernel_logs (kernel_id, assignment, stream, "offset", bytes, text, at)
     SELECT $1, 1, 'STDOUT', 11 * (n - 1), 11, 'line ' || lpad(n::text, 5, '0') || E'\n', now() FROM generate_series(1, 60000) AS n`,
    [kernelId],
  )
  const written = async (tail: number) => {
    let text = ''
    for await (const chunk of client.writtenLogs(id, { tail })) text += chunk.text
    return text
  }
  expect(await written(2)).toBe('line 59999\nline 60000\n')
  expect(await written(0)).toBe('')
  // More than one answer has.
  const many = (await written(50_000)).split('\n')
  expect([many[0], many.length]).toEqual(['line 10001', 50_001])

  await server.db.query(
    `UPDATE kernel_logs SET at = now() - interval '1 hour' WHERE kernel_id = $1 AND "offset" < 11 * 50000`,
    [kernelId],
  )
  const since = new Date(Date.now() - 600_000).toISOString()
  const lately = async (options: { tail?: number; since: string }) => {
    let text = ''
    for await (const chunk of client.writtenLogs(id, options)) text += chunk.text
    return text.split('\n')
  }
  expect(await lately({ since })).toHaveLength(10_001)
  expect(await lately({ since, tail: 20_000 })).toHaveLength(10_001)
  expect(await lately({ since, tail: 5 })).toHaveLength(6)
  expect(await lately({ since: new Date(Date.now() + 60_000).toISOString() })).toEqual([''])
  expect(await lately({ since: new Date(0).toISOString() })).toHaveLength(60_001)

  const { result: taken, statements } = await recordStatements(async () => {
    const logs = client.sessionLogs(id, { tail: 1 })
    const first = (await logs.next()).value
    await server.factory.log(kernelId, 'and on\n')
    const second = (await logs.next()).value
    await logs.return!()
    return [first, second]
  })
  expect(taken.map(({ text, kernel }) => `${kernel} ${text}`)).toEqual(['main1 line 60000\n', 'main1 and on\n'])
  const backward = statements.filter((sql) => sql.includes('kernel_logs') && sql.includes('ORDER BY id DESC'))
  expect(backward).toHaveLength(1)
})

test('a permanent error is thrown', async () => {
  await using stranger = createClient({ url: proxy.url, token: 'rpr_nobody' })
  await expect(stranger.sessionEvents({}, { after: 'MDow' }).next()).rejects.toThrow(ForbiddenError)
  await expect(client.sessionEvents({}, { after: 'no cursor' }).next()).rejects.toMatchObject({
    code: 'VALIDATION_FAILED',
  })
  await expect(client.kernelLogs('00000000-0000-7000-8000-000000000000').next()).rejects.toThrow(NotFoundError)
})

test('a token that is revoked ends a stream with an error', async () => {
  const token = await server.factory.token({ role: 'ADMIN' })
  await using revoked = createClient({ url: proxy.url, token, retry: { reconnect: { minSeconds: 0.01 } } })
  const events = revoked.sessionEvents()
  const first = events.next()
  await vi.waitFor(() => expect(server.bus.subscribers).toBe(1), 40_000)
  await server.db.query('UPDATE api_tokens SET revoked_at = now() WHERE prefix = $1', [token.slice(0, 10)])
  // It is believed for a moment longer; each event is a look at it.
  let seen = 0
  async function consume(): Promise<void> {
    await first
    for await (const _event of events) seen++
  }
  const failure = consume().catch((error: unknown) => error)
  const over = new AbortController()
  void failure.then(() => over.abort())
  while (!over.signal.aborted) await create(`look ${seen}`)
  expect(await failure).toBeInstanceOf(ForbiddenError)
})

test('a signal ends everything at once, and nothing is left behind', async () => {
  const sessionId = await create('waited for')
  const { status, output, ms } = await runProgram('client-program.ts', [proxy.url, server.adminToken, sessionId])
  const printed = JSON.parse(output) as { outcomes: string[]; ms: number }
  expect(printed.outcomes).toEqual([
    'request done',
    'events aborted',
    'resumed aborted',
    'suspended done',
    'logs aborted',
    'chain aborted',
    'refused aborted',
  ])
  expect(printed.ms).toBeLessThan(10_000)
  expect(status).toBe(0)
  expect(ms.afterOutput).toBeLessThan(10_000)
  await vi.waitFor(() => expect(server.bus.subscribers).toBe(0), 40_000)
})

test('a client that is closed while it connects leaves no rejection behind', async () => {
  const unheard: unknown[] = []
  const hear = (reason: unknown) => unheard.push(reason)
  const stalled = await startStalledListener()
  process.on('unhandledRejection', hear)
  try {
    const connecting = createClient({ url: stalled.url, token: server.adminToken, retry: false })
    // The order of the command line: the signal that ends the subscription closes the client first.
    const interrupted = new AbortController()
    interrupted.signal.addEventListener('abort', () => void connecting.close())
    const waiting = connecting.sessionEvents({}, { after: btoa('0:0'), signal: interrupted.signal }).next()
    const outcome = waiting.then(
      () => 'ended',
      () => 'ended',
    )
    await eventually(stalled.isConnecting)
    interrupted.abort()
    expect(await outcome).toBe('ended')
    // Rejections that nobody heard are reported before this.
    await new Promise(setImmediate)
    expect(unheard).toEqual([])
  } finally {
    process.off('unhandledRejection', hear)
    stalled.close()
  }
})
