import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { schema } from '../../../src/graphql/schema.ts'
import { ANSWER_WITHIN_MS, startFuzzServer, type FuzzServer } from './fuzz-server.ts'
import { hostileAnything, hostileText } from './hostile-values.ts'
import { arbitraryOperation, rootTargets } from './operations.ts'
import { internalsIn } from './verdict.ts'
import { checkProperty } from '../../support/seeds.ts'

/** Messages that are none of the protocol, or none that fit, and subscriptions with hostile arguments. */

let server: FuzzServer

beforeAll(async () => {
  server = await startFuzzServer({ webSockets: { initTimeoutMs: 500 } })
})
afterAll(() => server?.close())

/** A fault of the server's, by the protocol and by RFC 6455. */
const FAULT_CODES = [1011, 1006, 4500]

interface Heard {
  messages: string[]
  code: number
}

/** Sends these one after the other, whatever is answered, and waits until `enough`, or until the server closes. */
async function tell(frames: readonly (string | Buffer)[], enough: (messages: string[]) => boolean): Promise<Heard> {
  const socket = new WebSocket(`${server.url.replace('http', 'ws')}/graphql`, 'graphql-transport-ws')
  const { promise, resolve, reject } = Promise.withResolvers<Heard>()
  const messages: string[] = []
  const timer = setTimeout(() => {
    socket.terminate()
    reject(new Error(`neither answered nor closed: ${messages.join()}`))
  }, ANSWER_WITHIN_MS)
  socket.on('open', () => frames.forEach((frame) => socket.send(frame)))
  socket.on('message', (data: Buffer) => {
    messages.push(String(data))
    if (enough(messages)) socket.close(1000)
  })
  socket
    .on('error', () => {})
    .on('close', (code) => {
      clearTimeout(timer)
      resolve({ messages, code })
    })
  return promise
}

const init = () =>
  JSON.stringify({ type: 'connection_init', payload: { authorization: `Bearer ${server.adminToken}` } })
const subscribe = (payload: unknown, id: unknown = '1') => JSON.stringify({ id, type: 'subscribe', payload })
/** The answer to it tells that all before has been looked at. */
const PING = JSON.stringify({ type: 'ping' })
const ponged = (messages: string[]) => messages.some((message) => message.includes('"pong"'))

function faultsOf({ messages, code }: Heard, asked: string): unknown[] {
  return [...messages.flatMap((message) => internalsIn(message, asked)), ...FAULT_CODES.filter((each) => each === code)]
}

test('messages of all kinds', { timeout: 600_000 }, async () => {
  const type = fc.constantFrom('connection_init', 'ping', 'pong', 'subscribe', 'next', 'error', 'complete', 'nonsense')
  const payload = fc.oneof(
    hostileAnything,
    fc.record({
      query: fc.oneof(fc.constant('subscription { sessionEvents { cursor } }'), hostileText),
      variables: hostileAnything,
    }),
    fc.record({ query: fc.constant('{ eventCursor }'), operationName: hostileAnything, extensions: hostileAnything }),
    fc.record({ authorization: hostileAnything }),
  )
  const message = fc
    .record({ type, id: fc.oneof(fc.constant('1'), hostileText), payload }, { requiredKeys: ['type'] })
    .map((value) => JSON.stringify(value))
  const frame = fc.oneof(
    { weight: 8, arbitrary: message },
    hostileAnything.map((value) => JSON.stringify(value)),
    hostileText,
    fc.uint8Array({ maxLength: 50 }).map((bytes) => Buffer.from(bytes)),
  )
  const codes = new Set<number>()
  await checkProperty(
    fc.asyncProperty(fc.boolean(), fc.array(frame, { maxLength: 4 }), async (known, frames) => {
      const heard = await tell([...(known ? [init()] : []), ...frames, PING], ponged)
      codes.add(heard.code)
      expect(faultsOf(heard, frames.join())).toEqual([])
    }),
    { numRuns: 300 },
  )
  // Bad messages and unknown people, each with the protocol's code.
  expect([...codes]).toEqual(expect.arrayContaining([4400, 4401]))
})

test('subscriptions with hostile arguments', { timeout: 600_000 }, async () => {
  const { tenant, cursors } = server
  for (const target of rootTargets(schema, schema.getSubscriptionType()!, 'subscription')) {
    await checkProperty(
      fc.asyncProperty(arbitraryOperation(target, { values: tenant.values, cursors }), async (operation) => {
        const heard = await tell([init(), subscribe(operation), PING], ponged)
        expect(faultsOf(heard, JSON.stringify(operation))).toEqual([])
      }),
      { numRuns: 15 },
    )
  }
})

test('a frame that is too large closes the connection, and none other', async () => {
  const { code } = await tell([init(), 'x'.repeat(9 * 1024 * 1024)], () => false)
  expect(code).toBe(1009)
})

test('afterwards the server is well, and nobody is left listening', async () => {
  await expect.poll(() => server.bus.subscribers, { timeout: ANSWER_WITHIN_MS }).toBe(0)
  await server.expectWell()
})
