import type { IncomingMessage, ServerResponse } from 'node:http'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip, zstdCompress } from 'node:zlib'

/** Minimum length of compressed bodies: shorter ones fit into one packet without compression. */
export const COMPRESSED_FROM_BYTES = 1_024

/** Maximum length of compressed bodies that are written in parts. A longer one is sent as it comes, not compressed. */
const COMPRESSED_PARTS_BYTES_MAX = 4 * 1024 * 1024

const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }

/** Encoders in order of preference. All run on the thread pool, not on the event loop. */
export const ENCODERS: Readonly<Record<string, (body: Buffer) => Promise<Buffer>>> = {
  zstd: promisify(zstdCompress),
  br: (body) => promisify(brotliCompress)(body, BROTLI),
  gzip: promisify(gzip),
}
export const ENCODINGS: readonly string[] = Object.keys(ENCODERS)

const COMPRESSIBLE = /^(?:text\/(?!event-stream)|application\/(?:[\w.-]+\+)?(?:json|openmetrics-text|xml|yaml))/i

/** Maximum length of a header that is parsed. Longer ones are ignored: parsing them would take milliseconds. */
const ACCEPTED_LENGTH_MAX = 512

/** Returns the encoding that the client prefers; null if it accepts none or sends no header. */
export function acceptedEncoding(header: string | undefined, offered: readonly string[] = ENCODINGS): string | null {
  if (header === undefined || header.length > ACCEPTED_LENGTH_MAX) return null
  const weights = new Map(
    header.split(',').map((part) => {
      const [name, ...parameters] = part.split(';').map((text) => text.trim().toLowerCase())
      const quality = parameters.find((text) => text.startsWith('q='))
      return [name!, quality === undefined ? 1 : Number(quality.slice(2)) || 0]
    }),
  )
  const weightOf = (name: string) => weights.get(name) ?? weights.get('*') ?? 0
  const names = offered.filter((name) => weightOf(name) > 0)
  return names.reduce<string | null>((best, name) => (best && weightOf(best) >= weightOf(name) ? best : name), null)
}

/**
 * Compresses responses that are sent with one `end` or have a length, if the client accepts it. Responses that are
 * written in parts, such as event streams, are not changed. Compression does not reveal secrets by the length of
 * responses (BREACH): no other site can make a browser send a token.
 */
export function offerCompression(request: IncomingMessage, response: ServerResponse): void {
  response.setHeader('Vary', 'Accept-Encoding')
  const encoding = acceptedEncoding(request.headers['accept-encoding']?.toString())
  if (encoding === null || request.method === 'HEAD') return
  const { writeHead, write, end, flushHeaders } = response
  let status: number | undefined
  let parts: Buffer[] = []

  function pass(): void {
    Object.assign(response, { writeHead, write, end, flushHeaders })
    if (status !== undefined) response.writeHead(status)
    for (const part of parts) response.write(part)
  }

  /** Returns whether the length is known, so that a body written in parts can be held and compressed. */
  function isKnown(): boolean {
    const length = Number(response.getHeader('Content-Length') ?? Infinity)
    return length <= COMPRESSED_PARTS_BYTES_MAX && isCompressible(response, status ?? response.statusCode, length)
  }

  function compressAndEnd(body: Buffer): void {
    ENCODERS[encoding!]!(body)
      .then((compressed) => {
        response.setHeader('Content-Encoding', encoding!)
        return compressed
      })
      .catch(() => body)
      .then((sent) => {
        if (response.destroyed) return
        response.setHeader('Content-Length', sent.length)
        parts = []
        pass()
        response.end(sent)
      })
      .catch(() => response.destroy())
  }

  const held = {
    writeHead(code: number, ...rest: unknown[]) {
      const headers = rest.find((given) => typeof given === 'object' && given !== null)
      if (Array.isArray(headers)) {
        pass()
        return response.writeHead(code, ...(rest as []))
      }
      status = code
      for (const given of rest) if (typeof given === 'string') response.statusMessage = given
      for (const [name, value] of Object.entries(headers ?? {})) response.setHeader(name, value as string)
      return response
    },
    write(...given: unknown[]) {
      const part = bytesOf(given[0])
      if (part === null || given.length > 1 || !isKnown()) {
        pass()
        return write.apply(response, given as Parameters<ServerResponse['write']>)
      }
      parts.push(part)
      return true
    },
    flushHeaders() {
      pass()
      response.flushHeaders()
    },
    end(...all: unknown[]) {
      const given = all.filter((one) => one !== null && one !== undefined)
      const last = given.length === 0 ? null : bytesOf(given[0])
      const body = last === null ? Buffer.concat(parts) : Buffer.concat([...parts, last])
      const isPlain = given.length === 0 || (last !== null && given.length === 1)
      if (isPlain && isCompressible(response, status ?? response.statusCode, body.length)) {
        compressAndEnd(body)
        return response
      }
      pass()
      return end.apply(response, given as Parameters<ServerResponse['end']>)
    },
  }
  Object.assign(response, held)
}

function bytesOf(chunk: unknown): Buffer | null {
  if (typeof chunk === 'string') return Buffer.from(chunk)
  if (!(chunk instanceof Uint8Array)) return null
  return Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
}

function isCompressible(response: ServerResponse, status: number, bytes: number): boolean {
  if (bytes < COMPRESSED_FROM_BYTES || status < 200 || status === 204 || status === 206 || status === 304) return false
  if (response.headersSent || response.hasHeader('Content-Encoding')) return false
  return isCompressibleType(String(response.getHeader('Content-Type') ?? ''))
}

export function isCompressibleType(contentType: string): boolean {
  return COMPRESSIBLE.test(contentType)
}
