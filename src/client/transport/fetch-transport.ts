import { ConnectionLostError, ReadTimeoutError, RetryableError } from '../errors.ts'
import type { Timeouts } from '../settings.ts'
import type { HttpAnswer, HttpRequest, Transport } from './transport.ts'

/**
 * Sends requests by `fetch`. It does not report how a connection failed, so any failed request may have reached the
 * server, and the wait for the first byte is limited by the sum of both timeouts. A RetryableError thrown by `fetch`
 * itself is kept.
 */
export function createFetchTransport(options: { fetch: typeof fetch; timeouts: Timeouts }): Transport {
  const { connectSeconds, readSeconds } = options.timeouts
  const firstByteSeconds = readSeconds === null ? null : (connectSeconds ?? 0) + readSeconds

  async function send({ url, method, headers, body, sink, signal }: HttpRequest): Promise<HttpAnswer> {
    const watch = createWatch(signal)
    let began = false
    /** An error of the sink, which is no fault of the connection. */
    const broken: { by: Error | null } = { by: null }
    const noting = async (chunk: Uint8Array, status: number) => {
      await sink!(chunk, status).catch((error: unknown) => {
        broken.by = error as Error
        throw error
      })
    }
    try {
      watch.expectWithin(firstByteSeconds, `${url.origin} was silent`)
      const response = await options.fetch.call(globalThis, url, {
        method,
        redirect: 'manual',
        headers,
        body: typeof body === 'function' ? await blobOf(body()) : body,
        signal: watch.signal,
      })
      began = true
      const onBytes = () => watch.expectWithin(readSeconds, `${url.origin} fell silent`)
      const isFile = sink !== undefined && (response.status === 200 || response.status === 206)
      const text = isFile ? await pour(response, noting, onBytes) : await readText(response, onBytes)
      return {
        status: response.status,
        contentType: response.headers.get('content-type') ?? '',
        retryAfter: response.headers.get('retry-after'),
        requestId: response.headers.get('x-request-id'),
        location: response.headers.get('location'),
        redirectHidden: response.type === 'opaqueredirect',
        text,
      }
    } catch (error) {
      signal?.throwIfAborted()
      if (broken.by !== null) throw broken.by
      if (watch.timedOut) throw watch.timedOut
      if (error instanceof RetryableError) throw error
      const what = began ? `${url.origin} broke off its response` : `no response from ${url.origin}`
      throw new ConnectionLostError(began ? 'BODY_CUT_OFF' : 'CONNECTION_LOST', what, error)
    } finally {
      watch.stop()
    }
  }

  return { send, close: async () => {} }
}

/** Reads the body into a Blob, because browsers cannot stream a request body to every server. */
async function blobOf(chunks: AsyncIterable<Uint8Array>): Promise<Blob> {
  const parts: Uint8Array<ArrayBuffer>[] = []
  for await (const chunk of chunks) parts.push(new Uint8Array(chunk))
  return new Blob(parts)
}

async function pour(response: Response, sink: NonNullable<HttpRequest['sink']>, onBytes: () => void): Promise<''> {
  const reader = response.body?.getReader()
  for (;;) {
    onBytes()
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined }
    if (done) return ''
    await sink(value, response.status)
  }
}

async function readText(response: Response, onBytes: () => void): Promise<string> {
  if (!response.body) return response.text()
  const reader = response.body.getReader()
  const decoder = new TextDecoder()
  let text = ''
  for (;;) {
    onBytes()
    const { done, value } = await reader.read()
    if (done) return text + decoder.decode()
    text += decoder.decode(value, { stream: true })
  }
}

/** Creates a signal that aborts with the outer signal, or when the next step takes too long. */
function createWatch(outer: AbortSignal | undefined) {
  const late = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  return {
    signal: outer ? AbortSignal.any([outer, late.signal]) : late.signal,
    timedOut: undefined as ReadTimeoutError | undefined,
    expectWithin(seconds: number | null, what: string) {
      clearTimeout(timer)
      if (seconds === null) return
      timer = setTimeout(() => {
        this.timedOut = new ReadTimeoutError(`${what} for ${seconds} s`)
        late.abort(this.timedOut)
      }, seconds * 1000)
    },
    stop: () => clearTimeout(timer),
  }
}
