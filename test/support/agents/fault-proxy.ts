import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { buffer } from 'node:stream/consumers'

/** The fate of one request. */
export type Fault =
  | 'pass'
  /** The connection is reset before the server receives the request. */
  | 'reset-request'
  /** The server processes it, but the response is lost with the connection. */
  | 'reset-answer'
  /** Half of the body is sent, then the connection is reset. */
  | 'cut-body'
  /** Half of the body is sent as if it were complete. */
  | 'halve-body'
  /** The server processes it, but no byte of the response arrives. */
  | 'stall'
  /** Half of the body is sent, then nothing more. */
  | 'stall-body'
  /** The proxy responds itself. */
  | { status: number; retryAfter?: string; body?: string }

/** A proxy between clients and a server, over real sockets, which applies the planned faults to requests in order. */
export interface FaultProxy {
  url: string
  /** Faults of the next requests; later ones pass. */
  plan(...faults: Fault[]): void
  /** Requests since the last call. */
  attempts(): number
  /** Responses of which it will send no more. */
  stalled(): number
  /** Resets all connections, subscriptions among them. */
  cutAll(): void
  /** Refuses connections until `listen`. */
  refuse(): Promise<void>
  listen(): Promise<void>
  close(): Promise<void>
}

export async function startFaultProxy(
  target: string,
  options: {
    /** Responds itself, on the same origin, to the paths that it knows. */
    page?: (path: string, body: string) => { type: string; text: string } | undefined
  } = {},
): Promise<FaultProxy> {
  const { hostname, port } = new URL(target)
  const sockets = new Set<Socket>()
  let planned: Fault[] = []
  let attempts = 0
  let stalled = 0

  async function handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(incoming)
    const page = options.page?.(incoming.url!, body.toString())
    if (page) return void response.writeHead(200, { 'content-type': page.type }).end(page.text)
    attempts++
    const fault = planned.shift() ?? 'pass'
    if (typeof fault === 'object') {
      const headers = fault.retryAfter === undefined ? {} : { 'retry-after': fault.retryAfter }
      response.writeHead(fault.status, { 'content-type': 'text/plain', ...headers }).end(fault.body ?? 'no luck\n')
      return
    }
    if (fault === 'reset-request') return void incoming.socket.resetAndDestroy()
    const answer = await forward(incoming, body)
    if (fault === 'stall') return void stalled++
    if (fault === 'reset-answer') return void incoming.socket.resetAndDestroy()
    const half = answer.body.subarray(0, answer.body.length / 2)
    const { 'content-length': _length, 'transfer-encoding': _encoding, ...headers } = answer.headers
    if (fault === 'halve-body') {
      response.writeHead(answer.status, { ...headers, 'content-length': half.length }).end(half)
      return
    }
    response.writeHead(answer.status, { ...headers, 'content-length': answer.body.length })
    if (fault === 'pass') return void response.end(answer.body)
    response.write(half, () => {
      if (fault === 'stall-body') stalled++
      else setTimeout(() => incoming.socket.resetAndDestroy(), 20)
    })
  }

  function forward(incoming: IncomingMessage, body: Buffer) {
    return new Promise<{ status: number; headers: IncomingMessage['headers']; body: Buffer }>((resolve, reject) => {
      const { method, url, headers } = incoming
      const outgoing = request({ host: hostname, port, method, path: url, headers, agent: false }, (answer) => {
        buffer(answer).then(
          (read) => resolve({ status: answer.statusCode!, headers: answer.headers, body: read }),
          reject,
        )
      })
      outgoing.once('error', reject).end(body)
    })
  }

  const server = createServer((incoming, response) => {
    handle(incoming, response).catch(() => incoming.socket.resetAndDestroy())
  })
  server.on('connection', (socket: Socket) => remember(socket))
  server.on('upgrade', (incoming: IncomingMessage, client: Socket, head: Buffer) => {
    const upstream = connect(Number(port), hostname)
    remember(upstream)
    const lines = [`${incoming.method} ${incoming.url} HTTP/1.1`]
    for (let at = 0; at < incoming.rawHeaders.length; at += 2) {
      lines.push(`${incoming.rawHeaders[at]}: ${incoming.rawHeaders[at + 1]}`)
    }
    upstream.write(`${lines.join('\r\n')}\r\n\r\n`)
    upstream.write(head)
    client.pipe(upstream).pipe(client)
    client.once('close', () => upstream.destroy())
    upstream.once('close', () => client.destroy())
  })

  function remember(socket: Socket): void {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('close', () => sockets.delete(socket))
  }

  async function listen(at: number): Promise<number> {
    await new Promise<void>((resolve) => server.listen(at, '127.0.0.1', resolve))
    return (server.address() as AddressInfo).port
  }

  async function refuse(): Promise<void> {
    const closed = new Promise((resolve) => server.close(resolve))
    cutAll()
    await closed
  }

  function cutAll(): void {
    for (const socket of sockets) socket.resetAndDestroy()
  }

  const own = await listen(0)
  return {
    url: `http://127.0.0.1:${own}`,
    plan: (...faults) => void (planned = faults),
    attempts() {
      const seen = attempts
      attempts = 0
      return seen
    },
    stalled: () => stalled,
    cutAll,
    refuse,
    async listen() {
      await listen(own)
    },
    close: refuse,
  }
}
