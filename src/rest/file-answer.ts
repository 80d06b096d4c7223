import type { Context } from 'hono'
import { readFor } from '../services/consistent-reads.ts'
import type { RestEnvironment } from './rest-app.ts'

/** Parts of answers that are files: ranges, names, and bodies that are sent as fast as the client reads. */

interface ByteRange {
  first: number
  last: number
}

/**
 * Reads the header `Range` (RFC 9110, 14) for a file of `size` bytes. Null means: ignore the header, as for several
 * ranges.
 */
export function byteRange(header: string | undefined, size: number): ByteRange | 'unsatisfiable' | null {
  const match = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? '')
  if (!match || (match[1] === '' && match[2] === '')) return null
  const [from, to] = [match[1]!, match[2]!]
  if (from === '') {
    const length = Math.min(Number(to), size)
    return length === 0 ? 'unsatisfiable' : { first: size - length, last: size - 1 }
  }
  const first = Number(from)
  const last = to === '' ? size - 1 : Math.min(Number(to), size - 1)
  if (to !== '' && Number(to) < first) return null
  return first >= size ? 'unsatisfiable' : { first, last }
}

/**
 * Returns a body that is read only as fast as the client reads it, with the client's share of the database
 * connections.
 */
export function streamedBody(
  c: Context<RestEnvironment>,
  chunks: AsyncGenerator<Uint8Array, void>,
): ReadableStream<Uint8Array> {
  c.set('streams', true)
  const reader = { party: c.get('context').viewer.tokenId, signal: c.get('gone') }
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await readFor(reader, () => chunks.next())
        if (done) controller.close()
        else controller.enqueue(value)
      },
      cancel: () =>
        chunks.return().then(
          () => undefined,
          () => undefined,
        ),
    },
    // Nothing is read before the client asks.
    { highWaterMark: 0 },
  )
}

/**
 * Headers for a file that a stranger wrote: it is saved, never shown. Its name may have any character (RFC 6266, RFC
 * 5987).
 */
export function savedAs(name: string): Record<string, string> {
  const plain = name.replaceAll(/[^\w.-]/g, '_')
  const encoded = encodeURIComponent(name).replaceAll(/['()*!]/g, (char) => `%${char.charCodeAt(0).toString(16)}`)
  return {
    'Content-Type': 'application/octet-stream',
    'Content-Disposition': `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`,
    'X-Content-Type-Options': 'nosniff',
    'Content-Security-Policy': 'sandbox',
    'Accept-Ranges': 'bytes',
    'Cache-Control': 'private, no-cache',
    Vary: 'Authorization',
  }
}
