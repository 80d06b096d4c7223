import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { describe, expect, it, onTestFinished, test } from 'vitest'
import { type ErrorCode, ERRORS, RepriseError } from '../../src/domain/errors.ts'
import * as limits from '../../src/domain/limits.ts'
import { SHIPPED_POLICY } from '../../src/domain/retry/policy/policy.ts'
import { type BodyBounds, readBody, RequestGone } from '../../src/services/input/read-body.ts'

describe('limits', () => {
  it('every limit is a whole number with its unit or subject in its name', () => {
    expect(Object.keys(limits).length).toBeGreaterThan(30)
    for (const [name, value] of Object.entries(limits)) {
      const numbers: unknown[] = typeof value === 'object' ? Object.values(value) : [value]
      expect([name, numbers.every(Number.isSafeInteger)]).toEqual([name, true])
      expect(name).toMatch(/_(MS|MAX|MIN|DEFAULT|BYTES|SECONDS)$/)
    }
  })

  it('an agent is suspected after some missed heartbeats, lost later, and fenced with a margin', () => {
    expect(limits.SUSPECT_AFTER_MS).toBeGreaterThanOrEqual(3 * limits.HEARTBEAT_INTERVAL_MS)
    expect(limits.LOST_AFTER_MS).toBeGreaterThanOrEqual(2 * limits.SUSPECT_AFTER_MS)
    expect(limits.FENCE_MARGIN_MS).toBeGreaterThanOrEqual(2 * limits.HEARTBEAT_INTERVAL_MS)
  })

  it('a sync that waits for orders is a heartbeat in time', () => {
    expect(limits.SYNC_WAIT_MAX_MS).toBeLessThanOrEqual(limits.HEARTBEAT_INTERVAL_MS)
  })

  it('leases are checked often enough to see each step', () => {
    expect(2 * limits.LEASE_CHECK_INTERVAL_MS).toBeLessThan(limits.SUSPECT_AFTER_MS)
  })

  it('an outage is noticed before it costs an agent its lease, and not by one late note', () => {
    expect(limits.SERVER_OUTAGE_AFTER_MS).toBeGreaterThanOrEqual(3 * limits.LEASE_CHECK_INTERVAL_MS)
    expect(limits.SERVER_OUTAGE_AFTER_MS).toBeLessThan(limits.SUSPECT_AFTER_MS)
  })

  it('the longest backoff of routes exceeds the time that separates them from failed starts', () => {
    expect(limits.ROUTE_BACKOFF_MIN_MS).toBeLessThan(limits.LASTING_HEALTH_MS)
    expect(limits.LASTING_HEALTH_MS).toBeLessThan(limits.ROUTE_BACKOFF_MAX_MS)
    expect(limits.ROUTE_BACKOFF_MAX_MS).toBeLessThanOrEqual(limits.RETRY_DELAY_CEILING_MS)
  })

  it('tries pause from less to more', () => {
    expect(limits.TRY_PAUSE_MIN_MS).toBeLessThan(limits.TRY_PAUSE_MAX_MS)
  })

  it('pages, releases and batches fit into each other', () => {
    expect(limits.PAGE_SIZE_DEFAULT).toBeLessThanOrEqual(limits.PAGE_SIZE_MAX)
    expect(limits.HELD_RELEASE_RETRIES_MAX).toBeLessThanOrEqual(limits.DISPATCH_BATCH_RETRIES_MAX)
    expect(limits.RELAY_BATCH_EVENTS_MAX).toBeLessThanOrEqual(limits.SUBSCRIBER_QUEUE_EVENTS_MAX)
  })

  it('log chunks fit into a sync, and syncs into the kept log of a kernel', () => {
    expect(limits.LOG_CHUNK_BYTES_MAX).toBeLessThan(limits.LOG_BYTES_PER_SYNC_MAX)
    expect(limits.LOG_BYTES_PER_SYNC_MAX).toBeLessThanOrEqual(limits.LOG_BYTES_PER_KERNEL_MAX)
  })

  it('arguments of a program fit the smallest limit of Linux', () => {
    const all = limits.COMMAND_BYTES_MAX + limits.ENVIRON_BYTES_MAX + limits.ADDED_ENVIRON_BYTES_MAX
    expect(all).toBeLessThanOrEqual(limits.EXEC_BYTES_MAX)
    expect(limits.EXEC_BYTES_MAX).toBe((8 * 1024 * 1024) / 4)
    expect(limits.EXEC_RESERVE_BYTES).toBeLessThan(limits.ADDED_ENVIRON_BYTES_MAX / 2)
  })

  it('the hard ceiling is a day, and base and jitter together fit the integer columns', () => {
    expect(limits.RETRY_DELAY_CEILING_MS).toBe(24 * 60 * 60 * 1000)
    expect(2 * limits.RETRY_DELAY_CEILING_MS).toBeLessThan(2 ** 31)
  })

  it('the shipped policy lies within the limits', () => {
    expect(SHIPPED_POLICY.maxRetries).toBe(0)
    expect(SHIPPED_POLICY.maxUncountedRetries).toBeLessThanOrEqual(limits.UNCOUNTED_RETRIES_MAX)
    expect(SHIPPED_POLICY.maxRetryDelay! * 1000).toBeLessThanOrEqual(limits.RETRY_DELAY_CEILING_MS)
  })

  it('exit codes fit the integer column', () => {
    expect([limits.EXIT_CODE_MIN, limits.EXIT_CODE_MAX]).toEqual([-(2 ** 31), 2 ** 31 - 1])
  })
})

describe('errors', () => {
  const codes = Object.keys(ERRORS) as ErrorCode[]

  it.each(codes)('%s is thrown as in its row', (code) => {
    const error = new RepriseError(code, 'why', [{ path: 'name', message: 'is missing' }])
    expect(error).toMatchObject({ code, name: ERRORS[code].type, type: ERRORS[code].type, message: 'why' })
    expect(error.issues).toEqual([{ path: 'name', message: 'is missing' }])
  })

  it.each(codes)('%s has the status of its type', (code) => {
    const statuses = {
      ValidationError: [422],
      NotFoundError: [404],
      ConflictError: [409],
      QuotaExceededError: [429],
      ForbiddenError: [401, 403],
      InvalidStateError: [409],
      RequestError: [400, 405, 408, 413, 415, 503, 507],
    }
    expect(statuses[ERRORS[code].type]).toContain(ERRORS[code].httpStatus)
    expect(code).toMatch(/^[A-Z]+(_[A-Z]+)*$/)
  })
})

describe('bodies of requests', () => {
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

    test('is refused for its content', async () => {
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
})
