/** One webhook request: the addresses that it may reach, its timeout and its size. */
import { readFileSync } from 'node:fs'
import { createServer as createTlsServer } from 'node:https'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { WEBHOOK_EXCERPT_BYTES_MAX } from '../../../src/domain/limits.ts'
import { createAddressGuard } from '../../../src/machine/address-guard.ts'
import { resolveHost } from '../../../src/machine/resolve-host.ts'
import { createWebhookSender } from '../../../src/events/send-webhook.ts'
import { webhookReceiver, type WebhookReceiver } from '../../support/servers/webhook-receiver.ts'

let receiver: WebhookReceiver
const opened: { close(): void }[] = []

beforeEach(async () => {
  receiver = await webhookReceiver()
})
afterEach(async () => {
  await receiver.close()
  for (const server of opened.splice(0)) server.close()
})

const NEVER = new AbortController().signal

interface SenderOptions {
  allow?: string[]
  names?: Record<string, string[][]>
  connectTimeoutMs?: number
  attemptTimeoutMs?: number
}

/** Patient where it is not the patience that a test is about. */
function sender(options: SenderOptions = {}) {
  const { allow = ['127.0.0.1/32'], names = {}, connectTimeoutMs = 30_000, attemptTimeoutMs = 30_000 } = options
  const looked: string[] = []
  const send = createWebhookSender({
    mayConnect: createAddressGuard(allow),
    async resolveHost(name) {
      looked.push(name)
      const answers = names[name]
      if (!answers) return resolveHost(name)
      // A name that answers differently each time it is asked.
      return answers.length > 1 ? answers.shift()! : answers[0]!
    },
    connectTimeoutMs,
    attemptTimeoutMs,
  })
  return {
    looked,
    post: (url: string, signal = NEVER) => send({ url, headers: { 'x-test': '1' }, body: '{"a":1}' }, signal),
  }
}

/** A server of bare TCP that does with each connection what it is told. */
async function tcp(onConnection: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>()
  const server: Server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    onConnection(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  opened.push({ close: () => (sockets.forEach((socket) => socket.destroy()), server.close()) })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

describe('which addresses are reached', () => {
  const none = { allow: [] }

  test.each([
    '127.0.0.1',
    '127.1',
    '2130706433',
    '0x7f.0.0.1',
    '0177.0.0.1',
    '0.0.0.0',
    'localhost',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '[::]',
    '169.254.169.254',
    '[64:ff9b::7f00:1]',
  ])('%s is refused', async (host) => {
    const result = await sender(none).post(`http://${host}:${receiver.port}/hook`)
    expect(result).toMatchObject({
      outcome: 'refused',
      statusCode: null,
      error: expect.stringContaining('not allowed'),
    })
    expect(result.error).not.toContain('127.0.0.1')
    expect(receiver.received).toHaveLength(0)
  })

  test('a name that resolves to a private address is refused, whatever else it resolves to', async () => {
    const names = { 'inside.test': [['10.0.0.1']], 'both.test': [['127.0.0.1', '::1', '10.1.1.1']] }
    expect(await sender({ allow: [], names }).post('http://inside.test/')).toMatchObject({ outcome: 'refused' })
    expect(await sender({ allow: [], names }).post('http://both.test/')).toMatchObject({ outcome: 'refused' })
  })

  test('the name is looked up once, and the address that was checked is the one that is connected', async () => {
    // The first answer may be reached; the second, which a rebinding name would give a moment later, may not, and is where the receiver is.
    const hidden = await webhookReceiver('127.0.0.2')
    const names = { 'rebinding.test': [['127.0.0.1'], ['127.0.0.2']] }
    const { post, looked } = sender({ names })
    expect(await post(`http://rebinding.test:${receiver.port}/hook`)).toMatchObject({
      outcome: 'answered',
      statusCode: 200,
    })
    expect(looked).toEqual(['rebinding.test'])
    expect(receiver.received[0]!.headers.host).toBe(`rebinding.test:${receiver.port}`)
    expect(await post(`http://rebinding.test:${hidden.port}/hook`)).toMatchObject({ outcome: 'refused' })
    expect(hidden.received).toHaveLength(0)
    await hidden.close()
  })

  test('of several addresses those that are allowed are tried, one after the other', async () => {
    const names = { 'several.test': [['10.0.0.1', '127.0.0.3', '127.0.0.1']] }
    const { post } = sender({ allow: ['127.0.0.1/32', '127.0.0.3/32'], names })
    expect(await post(`http://several.test:${receiver.port}/hook`)).toMatchObject({ outcome: 'answered' })
  })

  test('a redirection is an answer, and is not followed', async () => {
    const target = await webhookReceiver()
    receiver.answerWith((response) => response.writeHead(307, { location: target.url }).end())
    expect(await sender().post(receiver.url)).toMatchObject({ outcome: 'answered', statusCode: 307 })
    expect(target.received).toHaveLength(0)
    await target.close()
  })

  test('a name that does not exist has failed', async () => {
    expect(await sender().post('http://nowhere.invalid/')).toMatchObject({
      statusCode: null,
      error: expect.any(String),
    })
  })
})

describe('how long and how much', () => {
  test('a request that is not answered is given up', async () => {
    receiver.hang()
    const result = await sender({ attemptTimeoutMs: 400 }).post(receiver.url)
    expect(result).toMatchObject({ outcome: 'timeout', error: 'no answer within 0.4 s' })
    expect(result.durationMs).toBeGreaterThanOrEqual(390)
  })

  test('so is a connection that does not come about, and a name that is not looked up', async () => {
    const silent = sender({ connectTimeoutMs: 300 })
    // TLS is a part of connecting: this server takes the connection and says nothing.
    const url = (await tcp(() => {})).replace('http:', 'https:')
    expect(await silent.post(url)).toMatchObject({ outcome: 'timeout', error: 'no connection within 0.3 s' })
    const stuck = createWebhookSender({
      mayConnect: () => true,
      resolveHost: () => new Promise(() => {}),
      connectTimeoutMs: 200,
      attemptTimeoutMs: 5_000,
    })
    const result = await stuck({ url: 'http://stuck.test/', headers: {}, body: '' }, NEVER)
    expect(result).toMatchObject({ outcome: 'timeout', error: 'no connection within 0.2 s' })
  })

  test('the status alone decides: the body is not awaited', async () => {
    const head = 'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n'
    const cut = await tcp((socket) => socket.once('data', () => socket.write(`${head}half`, () => socket.destroy())))
    expect(await sender().post(cut)).toMatchObject({ outcome: 'answered', statusCode: 200 })
    const slow = await tcp((socket) => socket.once('data', () => socket.write(`${head}half`)))
    const result = await sender({ attemptTimeoutMs: 3_000 }).post(slow)
    expect(result).toMatchObject({ outcome: 'answered', statusCode: 200, response: 'half' })
  })

  test('an endless body is not read to its end, and a KiB of it is kept, as text', async () => {
    receiver.answerWith((response) => {
      response.writeHead(500)
      const more = () => {
        while (!response.destroyed && response.write(`\0${'ü'.repeat(10_000)}`));
      }
      response.on('drain', more)
      more()
    })
    const result = await sender().post(receiver.url)
    expect(result).toMatchObject({ outcome: 'answered', statusCode: 500 })
    expect(Buffer.byteLength(result.response!)).toBeLessThanOrEqual(WEBHOOK_EXCERPT_BYTES_MAX + 4)
    expect(result.response!.startsWith('\ufffdü')).toBe(true)
  })

  test.each([
    ['no HTTP', 'SSH-2.0-OpenSSH_9.0\r\n'],
    ['endless headers', `HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(20_000)}`],
    ['another protocol', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n'],
    ['nothing', ''],
  ])('%s is a failed attempt', async (_what, answer) => {
    const url = await tcp((socket) => socket.once('data', () => socket.end(answer)))
    expect(await sender().post(url)).toMatchObject({ outcome: 'failed', statusCode: null, error: expect.any(String) })
  })

  test('a server that stops cuts it off', async () => {
    receiver.hang()
    const stopping = new AbortController()
    const result = sender().post(receiver.url, stopping.signal)
    setTimeout(() => stopping.abort(), 50)
    expect(await result).toMatchObject({ outcome: 'cut' })
  })
})

test('over TLS the certificate has to be good for the name, though an address is connected', async () => {
  const file = (name: string) => readFileSync(join(import.meta.dirname, '../../support/tls', name))
  const hosts: unknown[] = []
  const server = createTlsServer({ key: file('hooks.key.pem'), cert: file('hooks.cert.pem') }, (request, response) => {
    hosts.push(request.headers.host)
    response.end('ok')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  opened.push(server)
  const { port } = server.address() as AddressInfo
  const names = { 'hooks.test': [['127.0.0.1']], 'other.test': [['127.0.0.1']] }
  const { post } = sender({ names })
  expect(await post(`https://hooks.test:${port}/`)).toMatchObject({
    outcome: 'failed',
    error: expect.stringMatching(/self.signed/),
  })
  const before = getCACertificates('default')
  setDefaultCACertificates([...before, file('hooks.cert.pem').toString()])
  try {
    expect(await post(`https://hooks.test:${port}/`)).toMatchObject({ outcome: 'answered', statusCode: 200 })
    expect(await post(`https://other.test:${port}/`)).toMatchObject({
      outcome: 'failed',
      error: expect.stringContaining('other.test'),
    })
  } finally {
    setDefaultCACertificates(before)
  }
  expect(hosts).toEqual([`hooks.test:${port}`])
})
