/** Retries of the client itself, over a proxy that imitates faults of networks. */
import { afterAll, beforeAll, describe, expect, test as base } from 'vitest'
import {
  ConnectError,
  ConnectionLostError,
  createClient,
  HttpStatusError,
  ReadTimeoutError,
  RetryableError,
  type Client,
  type NodeClientOptions,
  type Progress,
} from '../../../src/client/node/index.ts'
import { startFaultProxy, type Fault, type FaultProxy } from '../../support/agents/fault-proxy.ts'
import { eventually } from '../../support/eventually.ts'
import { startGraphQLServer, type TestServer } from '../../support/servers/graphql-server.ts'
import { startStalledListener } from '../../support/agents/stalled-listener.ts'

let server: TestServer

const QUICK: NodeClientOptions = {
  retry: {
    http: { backoffFactor: 0.01 },
    network: {
      multiplierSeconds: 0.01,
      minSeconds: 0.01,
      maxSeconds: 0.05,
      stopAfterSeconds: null,
      stopAfterAttempts: 4,
    },
  },
  // Longer than an answer takes on any machine, where it is not the timeout that a test is about.
  timeouts: { connectSeconds: 10, readSeconds: 30 },
}
/** By which a silence ends, and within which a server that others keep busy has answered. */
const IMPATIENT = { connectSeconds: 10, readSeconds: 2 }
const timeoutsFor = (fault: Fault) => (fault === 'stall' || fault === 'stall-body' ? IMPATIENT : QUICK.timeouts)

beforeAll(async () => {
  server = await startGraphQLServer()
  // The first answer of a server takes longer than those after it.
  await server.query('{ resourceGroups { name } }')
})

afterAll(() => server?.close())

/** Most of these tests wait for a timeout or a pause, so they run beside each other, each over a proxy of its own. */
const test = base
  .extend('proxy', async ({}, { onCleanup }): Promise<FaultProxy> => {
    const proxy = await startFaultProxy(server.url)
    onCleanup(() => proxy.close())
    return proxy
  })
  .extend('progress', (): Progress[] => [])
  .extend('connectTo', ({ progress }) => (options: NodeClientOptions): Client => {
    const onProgress = (step: Progress) => progress.push(step)
    return createClient({ token: server.adminToken, onProgress, ...QUICK, ...options })
  })
  .extend('client', async ({ proxy, connectTo }, { onCleanup }) => {
    const client = connectTo({ url: proxy.url })
    onCleanup(() => client.close())
    return client
  })

const create = (client: Client, name: string) => client.createSession({ name, command: ['true'] })

async function sessionsNamed(name: string): Promise<number> {
  const { rows } = await server.db.query<{ count: string }>('SELECT count(*) FROM sessions WHERE name = $1', [name])
  return Number(rows[0]!.count)
}

const BROKEN: Fault[] = ['reset-request', 'reset-answer', 'cut-body', 'halve-body', 'stall', 'stall-body']
const LAYERS: [Fault, string][] = [
  ...BROKEN.map((fault): [Fault, string] => [fault, 'network']),
  ...[429, 500, 502, 503, 504].map((status): [Fault, string] => [{ status }, 'http']),
]

describe.for(LAYERS)('after %j', { concurrent: true }, ([fault, layer]) => {
  const timeouts = timeoutsFor(fault)

  test('a query is repeated', async ({ proxy, connectTo, progress }) => {
    await using client = connectTo({ url: proxy.url, timeouts })
    proxy.plan(fault)
    expect(await client.request('{ resourceGroups { name } }')).toEqual({ resourceGroups: [{ name: 'default' }] })
    expect(proxy.attempts()).toBe(2)
    expect(progress).toMatchObject([{ kind: 'retry', layer, failed: 1 }])
  })

  test('a creation is repeated, and creates one session', async ({ proxy, connectTo }) => {
    await using client = connectTo({ url: proxy.url, timeouts })
    const name = `once ${JSON.stringify(fault)}`
    proxy.plan(fault, fault)
    const { session } = await create(client, name)
    expect(session.name).toBe(name)
    expect(proxy.attempts()).toBe(3)
    expect(await sessionsNamed(name)).toBe(1)
  })

  test('a change with a key is repeated, and made once', async ({ proxy, connectTo }) => {
    await using client = connectTo({ url: proxy.url, timeouts })
    const { session } = await create(client, 'ended once')
    proxy.attempts()
    proxy.plan(fault, fault)
    expect(await client.terminateSession(session.sessionId)).toMatchObject({ status: 'CANCELLED' })
    expect(proxy.attempts()).toBe(3)
  })

  test('another mutation is not: it may have been carried out', async ({ proxy, connectTo }) => {
    await using client = connectTo({ url: proxy.url, timeouts })
    const { session } = await create(client, 'ended, or not')
    proxy.attempts()
    proxy.plan(fault)
    const ends = 'mutation ($id: UUID!) { terminateSession(input: { sessionId: $id }) { __typename } }'
    const failure = client.request(ends, { id: session.sessionId })
    await expect(failure).rejects.toThrow(layer === 'http' ? HttpStatusError : RetryableError)
    expect(proxy.attempts()).toBe(1)
  })
})

describe('errors describe the fault', { concurrent: true }, () => {
  test.for<[Fault, typeof RetryableError, string]>([
    ['reset-answer', ConnectionLostError, 'CONNECTION_LOST'],
    ['cut-body', ConnectionLostError, 'BODY_CUT_OFF'],
    ['halve-body', ConnectionLostError, 'BODY_CUT_OFF'],
    ['stall', ReadTimeoutError, 'READ_TIMEOUT'],
    ['stall-body', ReadTimeoutError, 'READ_TIMEOUT'],
  ])('%s', async ([fault, type, code], { proxy, connectTo }) => {
    await using single = connectTo({ url: proxy.url, retry: false, timeouts: timeoutsFor(fault) })
    proxy.plan(fault)
    const error = await single.retrySwitches().catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(type)
    expect(error).toMatchObject({ code, mayHaveBeenSent: true })
    expect(proxy.attempts()).toBe(1)
  })

  test('a connection that is refused, or never made', async ({ connectTo }) => {
    const stalled = await startStalledListener()
    await using refused = connectTo({ url: 'http://127.0.0.1:1', retry: false })
    await using silent = connectTo({ url: stalled.url, retry: false, timeouts: { connectSeconds: 1 } })
    await expect(refused.retrySwitches()).rejects.toMatchObject({ name: 'ConnectError', code: 'CONNECT_FAILED' })
    await expect(silent.retrySwitches()).rejects.toMatchObject({ name: 'ConnectError', code: 'CONNECT_TIMEOUT' })
    stalled.close()
  })
})

describe('budgets', { concurrent: true }, () => {
  test('the HTTP layer gives up after `total` retries, and the network layer leaves that alone', async ({
    proxy,
    client,
  }) => {
    proxy.plan(...Array.from({ length: 10 }, (): Fault => ({ status: 503, body: 'down for maintenance' })))
    const error = await client.retrySwitches().catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(HttpStatusError)
    expect(error).toMatchObject({ code: 'HTTP_503', status: 503, message: expect.stringContaining('maintenance') })
    expect(proxy.attempts()).toBe(4)
  })

  test('the network layer gives up after its attempts, with the last error', async ({ proxy, client, progress }) => {
    proxy.plan(...Array.from({ length: 10 }, (): Fault => 'reset-answer'))
    await expect(client.retrySwitches()).rejects.toThrow(ConnectionLostError)
    expect(proxy.attempts()).toBe(4)
    expect(progress).toHaveLength(3)
  })

  test('each layer can be off', async ({ proxy, connectTo }) => {
    await using noHttp = connectTo({ url: proxy.url, retry: { ...QUICK.retry, http: false } })
    proxy.plan({ status: 503 })
    await expect(noHttp.retrySwitches()).rejects.toThrow(HttpStatusError)
    await using noNetwork = connectTo({ url: proxy.url, retry: { ...QUICK.retry, network: false } })
    proxy.plan('reset-answer')
    await expect(noNetwork.retrySwitches()).rejects.toThrow(ConnectionLostError)
    expect(proxy.attempts()).toBe(2)
  })

  test.for(['1', () => new Date(Date.now() + 4_900).toUTCString()])(
    'Retry-After %s is waited for',
    async (time, { proxy, client }) => {
      proxy.plan({ status: 503, retryAfter: typeof time === 'string' ? time : time() })
      const began = performance.now()
      await client.retrySwitches()
      expect(performance.now() - began).toBeGreaterThan(800)
      expect(proxy.attempts()).toBe(2)
    },
  )

  test('an answer that is none of these is not repeated', async ({ proxy, client }) => {
    proxy.plan({ status: 404 })
    await expect(client.retrySwitches()).rejects.toMatchObject({ status: 404 })
    expect(proxy.attempts()).toBe(1)
  })
})

describe('several servers', { concurrent: true }, () => {
  test('the next is asked at once; one that failed is left alone, and asked again when it has rested', async ({
    proxy,
    connectTo,
    progress,
  }) => {
    const first = await startFaultProxy(server.url)
    await using both = connectTo({ urls: [first.url, proxy.url] })
    await both.retrySwitches()
    expect([first.attempts(), proxy.attempts()]).toEqual([1, 0])

    await first.refuse()
    const began = performance.now()
    await both.retrySwitches()
    await both.retrySwitches()
    expect(proxy.attempts()).toBe(2)
    // More than once where it had rested before the second call.
    for (const each of progress)
      expect(each).toMatchObject({ layer: 'endpoint', delaySeconds: 0, error: expect.any(ConnectError) })
    expect(progress.length).toBeGreaterThan(0)

    await first.listen()
    await eventually(async () => (await both.retrySwitches(), first.attempts() === 1))
    expect(performance.now() - began).toBeGreaterThan(900)
    await first.close()
  })

  test('an answer of 503 goes to the next without a pause, whatever Retry-After it names', async ({
    proxy,
    connectTo,
  }) => {
    const first = await startFaultProxy(server.url)
    first.plan({ status: 503, retryAfter: '60' })
    await using both = connectTo({ urls: [first.url, proxy.url] })
    await both.retrySwitches()
    await both.retrySwitches()
    expect([first.attempts(), proxy.attempts()]).toEqual([1, 2])
    await first.close()
  })

  test('a mutation that cannot be repeated still goes to the next, if the first was never reached', async ({
    proxy,
    client,
    connectTo,
  }) => {
    const { session } = await create(client, 'ended by the second')
    proxy.attempts()
    await using both = connectTo({ urls: ['http://127.0.0.1:1', proxy.url] })
    expect((await both.terminateSession(session.sessionId)).sessionId).toBe(session.sessionId)
    expect(proxy.attempts()).toBe(1)
  })
})

describe('a signal', { concurrent: true }, () => {
  test.for(['stall', 'stall-body'] as const)('ends a request at once: %s', async (fault, { proxy, client }) => {
    proxy.plan(fault)
    const reason = new Error('enough')
    const ended = new AbortController()
    // Without the signal the request would end with a timeout, and be repeated.
    const failure = expect(client.retrySwitches({ signal: ended.signal })).rejects.toBe(reason)
    await eventually(() => proxy.stalled() === 1)
    ended.abort(reason)
    await failure
    expect(proxy.attempts()).toBe(1)
  })

  test('ends a pause between attempts at once', async ({ connectTo, progress }) => {
    await using patient = connectTo({
      url: 'http://127.0.0.1:1',
      retry: { network: { minSeconds: 60, maxSeconds: 60 } },
    })
    const ended = new AbortController()
    const failure = expect(patient.retrySwitches({ signal: ended.signal })).rejects.toThrow('enough')
    await eventually(() => progress.length === 1)
    ended.abort(new Error('enough'))
    await failure
  })

  test('that has aborted already lets nothing be sent', async ({ proxy, client }) => {
    const failure = client.retrySwitches({ signal: AbortSignal.abort(new Error('never')) })
    await expect(failure).rejects.toThrow('never')
    expect(proxy.attempts()).toBe(0)
  })

  test('of the whole client is its close', async ({ proxy, client }) => {
    proxy.plan('stall')
    const failure = expect(client.retrySwitches()).rejects.toMatchObject({ code: 'CLIENT_CLOSED' })
    await eventually(() => proxy.stalled() === 1)
    await client.close()
    await failure
    await expect(client.retrySwitches()).rejects.toMatchObject({ code: 'CLIENT_CLOSED' })
  })
})

test('a RetryableError of a custom fetch is retried', async ({ proxy, connectTo }) => {
  let calls = 0
  const flaky: typeof fetch = (...call) => {
    if (++calls === 1) throw new RetryableError('MISPLACED', 'not here yet')
    return fetch(...call)
  }
  await using own = connectTo({ url: proxy.url, fetch: flaky })
  await own.retrySwitches()
  expect(calls).toBe(2)
})

test.concurrent.for(BROKEN)('also over fetch: %s', async (fault, { proxy, connectTo }) => {
  await using own = connectTo({ url: proxy.url, fetch: (...call) => fetch(...call), timeouts: timeoutsFor(fault) })
  proxy.plan(fault)
  await own.retrySwitches()
  expect(proxy.attempts()).toBe(2)
})
