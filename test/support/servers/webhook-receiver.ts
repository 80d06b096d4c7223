import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Received {
  method: string
  path: string
  headers: IncomingHttpHeaders
  body: string
  at: number
}

type Answer = (response: ServerResponse, received: Received) => void

/** An endpoint over real HTTP that stores its requests and responds with 200 unless told otherwise. */
export async function webhookReceiver(host = '127.0.0.1') {
  const received: Received[] = []
  let answer: Answer = (response) => response.end('thanks')
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { method = '', url: path = '', headers } = request
      const one = { method, path, headers, body: Buffer.concat(chunks).toString(), at: performance.now() }
      received.push(one)
      answer(response, one)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  const { port } = server.address() as AddressInfo
  return {
    port,
    url: `http://${host}:${port}/hook`,
    received,
    bodies: () => received.map(({ body }) => JSON.parse(body) as { type: string; timestamp: string; data: any }),
    ids: () => received.map(({ headers }) => headers['webhook-id'] as string),
    answerWith(next: Answer | number) {
      answer = typeof next === 'function' ? next : (response) => response.writeHead(next).end()
    },
    /** Never responds. */
    hang() {
      answer = () => {}
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

export type WebhookReceiver = Awaited<ReturnType<typeof webhookReceiver>>
