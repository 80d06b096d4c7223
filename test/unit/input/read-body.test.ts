/** Bodies of requests as they come off a socket. */
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { readBody, RequestGone, type BodyBounds } from '../../../src/services/input/read-body.ts'

/** A request of which this has been sent, and its socket. */
async function requestOf(sent: string) {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  onTestFinished(() => {
    socket.destroy()
    server.close()
  })
  const came = once(server, 'request') as Promise<[IncomingMessage]>
  socket.write(`POST / HTTP/1.1\r\nHost: x\r\n${sent}`)
  return { request: (await came)[0], socket }
}

const BOUNDS: BodyBounds = { bytesMax: 5 }

describe('a body', () => {
  test.each([
    ['Content-Length: 5\r\n\r\nhello', 'hello'],
    ['Content-Length: 0\r\n\r\n', ''],
    ['Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n', 'hello'],
  ])('comes whole: %j', async (sent, text) => {
    const { request } = await requestOf(sent)
    expect((await readBody(request, BOUNDS)).toString()).toBe(text)
  })

  test.each(['Content-Length: 6\r\n\r\n', 'Transfer-Encoding: chunked\r\n\r\n6\r\nhello!\r\n'])(
    'that is too long is refused before its end: %j',
    async (sent) => {
      const { request } = await requestOf(sent)
      await expect(readBody(request, BOUNDS)).rejects.toMatchObject({
        code: 'REQUEST_TOO_LARGE',
        message: 'The request is too large: the limit is 5 bytes.',
      })
      expect(request.isPaused()).toBe(false)
    },
  )

  test('is refused for what is in it', async () => {
    const { request } = await requestOf('Content-Length: 5\r\n\r\nhell')
    const excessOf = (chunk: Buffer) => (chunk.includes('l') ? 'it has an l' : undefined)
    await expect(readBody(request, { ...BOUNDS, excessOf, messageOf: (excess) => excess })).rejects.toMatchObject({
      code: 'REQUEST_TOO_LARGE',
      message: 'it has an l',
    })
  })

  test('that does not come in time is refused', async () => {
    const { request } = await requestOf('Content-Length: 5\r\n\r\nhell')
    await expect(readBody(request, { ...BOUNDS, withinMs: 1 })).rejects.toMatchObject({ code: 'REQUEST_TIMEOUT' })
  })

  test('that breaks off is awaited no more', async () => {
    const { request, socket } = await requestOf('Content-Length: 5\r\n\r\nhell')
    const reading = expect(readBody(request, BOUNDS)).rejects.toThrow(RequestGone)
    socket.destroy()
    await reading
  })

  test('whose client has left before it is read is not awaited at all', async () => {
    const { request, socket } = await requestOf('Content-Length: 5\r\n\r\nhell')
    const closed = once(request, 'close').catch(() => {})
    socket.destroy()
    await closed
    await expect(readBody(request, BOUNDS)).rejects.toThrow(RequestGone)
  })
})
