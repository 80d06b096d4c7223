/** Frames of subscriptions, read by a client of the library, and what decides who shares them. */
import { once } from 'node:events'
import type { AddressInfo, Socket } from 'node:net'
import { type ExecutionArgs, type ExecutionResult, parse } from 'graphql'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { findShared, keepShared, sharingKey, watchedViewer } from '../../src/graphql/execution/shared-results.ts'
import { sendTogether } from '../../src/graphql/transport/event-frames.ts'
import type { Viewer } from '../../src/services/service-context.ts'

let server: WebSocketServer
const clients: WebSocket[] = []

beforeAll(async () => {
  server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false })
  await once(server, 'listening')
})
afterAll(() => {
  for (const client of clients) client.terminate()
  server.close()
})

async function connect() {
  const connected = once(server, 'connection')
  const client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`)
  clients.push(client)
  const messages: unknown[] = []
  client.on('message', (data: Buffer) => messages.push(JSON.parse(data.toString())))
  const [socket, { socket: connection }] = (await connected) as [WebSocket, { socket: Socket }]
  await once(client, 'open')
  return { client, socket, connection, messages }
}

/** Results that come in these batches. */
function results(batches: ExecutionResult[][]) {
  return {
    ended: false,
    nextTogether: async () => batches.shift() ?? [],
    next: async () => ({ done: true as const, value: undefined }),
    return: async () => ({ done: true as const, value: undefined }),
    throw: async (error: unknown) => {
      throw error
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

async function send(batches: ExecutionResult[][], id: string) {
  const { client, socket, connection, messages } = await connect()
  const sent = sendTogether(results(batches.map((batch) => [...batch])), { socket, connection, id })
  expect(await sent.next()).toEqual({ done: true, value: undefined })
  socket.close()
  await once(client, 'close')
  return messages
}

const ofLength = (length: number): ExecutionResult => ({ data: { text: 'ä'.repeat(length / 2) } })
const expected = (id: string, batches: ExecutionResult[][]) =>
  batches.flat().map((payload) => ({ id, type: 'next', payload }))

describe('frames', () => {
  test('carry messages of each length, in their order', async () => {
    const batches = [
      [ofLength(2), ofLength(80)],
      [ofLength(126)],
      [ofLength(65_000), ofLength(70_000), ofLength(300_000)],
    ]
    expect(await send(batches, '1')).toEqual(expected('1', batches))
  })

  test("have the client's own id, also where results are shared", async () => {
    const batches = [[ofLength(10), ofLength(20)]]
    for (const result of batches.flat()) keepShared({}, 'key', result)
    for (const id of ['1', '1', 'another', '"}', '1']) expect(await send(batches, id)).toEqual(expected(id, batches))
  })

  test('are those of the results, also where first, last and number are the same', async () => {
    const [a, b, c, d] = [ofLength(2), ofLength(4), ofLength(6), ofLength(8)]
    for (const result of [a, b, c, d]) keepShared({}, 'key', result)
    for (const batch of [
      [a, b, d],
      [a, c, d],
      [b, d],
    ])
      expect(await send([batch], '1')).toEqual(expected('1', [batch]))
  })

  test('stop where the socket is closed, and go on where it takes nothing for a while', async () => {
    const { client, socket, connection, messages } = await connect()
    client.pause()
    const batches = Array.from({ length: 200 }, () => [ofLength(100_000)])
    const sent = sendTogether(results([...batches]), { socket, connection, id: '1' }).next()
    await vi.waitFor(() => expect(connection.writableNeedDrain).toBe(true))
    expect(connection.writableLength).toBeLessThan(1_000_000)
    client.resume()
    await sent
    socket.close()
    await once(client, 'close')
    expect(messages).toHaveLength(batches.length)
    const left = await connect()
    left.socket.terminate()
    await sendTogether(results([...batches]), { ...left, id: '1' }).next()
    expect(left.messages).toEqual([])
  })
})

describe('results are shared', () => {
  const viewer: Viewer = { tokenId: 't', userId: 'u', name: 'n', role: 'MEMBER', projectId: 'p' }
  const document = parse(`subscription ($after: String, $full: Boolean = true) {
    events(after: $after) { id ...More @include(if: $full) } } fragment More on Event { type }`)
  const keyOf = (variableValues: object, rights: Partial<Viewer> = {}, of = document) =>
    sharingKey({ document: of, variableValues, contextValue: { viewer: { ...viewer, ...rights } } } as ExecutionArgs)

  test('by subscriptions that chose the same fields, wherever they began', () => {
    expect(keyOf({ after: 'a' })).toBe(keyOf({ after: 'b' }))
    expect(keyOf({ full: false })).not.toBe(keyOf({ full: true }))
    expect(keyOf({}, {}, parse('subscription { events { id } }'))).not.toBe(keyOf({}))
  })

  test('by viewers with the same rights', () => {
    expect(keyOf({}, { tokenId: 'another', userId: 'another' })).toBe(keyOf({}))
    expect(keyOf({}, { role: 'VIEWER' })).not.toBe(keyOf({}))
    expect(keyOf({}, { projectId: 'another' })).not.toBe(keyOf({}))
  })

  test('unless they have errors', () => {
    const event = {}
    keepShared(event, 'key', { data: {}, errors: [] })
    expect(findShared(event, 'key')).toBeUndefined()
    keepShared(event, 'key', { data: {} })
    expect(findShared(event, 'key')).toEqual({ data: {} })
    expect(findShared(event, 'another')).toBeUndefined()
    expect(findShared({}, 'key')).toBeUndefined()
  })

  test('unless they depend on who the viewer is', () => {
    let personal = 0
    const watched = watchedViewer(viewer, () => personal++)
    expect([watched.role, watched.projectId, personal]).toEqual(['MEMBER', 'p', 0])
    expect([watched.userId, personal]).toEqual(['u', 1])
    expect({ ...watched }).toEqual({ ...viewer, sessionOf: undefined, reason: undefined, request: undefined })
  })
})
