import { createHash } from 'node:crypto'
import type { MiddlewareHandler } from 'hono'
import type { RestEnvironment } from './rest-app.ts'

/**
 * Adds an ETag of the content to responses to GET; a client that already has this content gets an empty 304. The
 * response is still computed: the tag saves bandwidth, not work. Responses that already have a tag, and streams, which
 * may be long or without an end, stay as they are.
 */
export const entityTag: MiddlewareHandler<RestEnvironment> = async (c, next) => {
  await next()
  if (c.req.method !== 'GET' || c.res.status !== 200 || c.res.headers.has('ETag')) return
  if (c.get('streams') || c.res.headers.get('Content-Type')?.startsWith('text/event-stream')) return
  const body = await c.res.clone().arrayBuffer()
  // The tag is weak, because it serves all compressions of the content.
  const tag = `W/"${createHash('sha256').update(new Uint8Array(body)).digest('base64url')}"`
  const headers = new Headers(c.res.headers)
  headers.set('ETag', tag)
  headers.set('Cache-Control', 'private, no-cache')
  headers.set('Vary', 'Authorization, Accept-Encoding')
  const known = matches(c.req.header('if-none-match'), tag)
  if (known) headers.delete('Content-Type')
  c.res = known ? new Response(null, { status: 304, headers }) : new Response(body, { status: 200, headers })
}

/** Compares tags by weak comparison (RFC 9110, 13.1.2). */
function matches(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false
  const tags = header.split(',').map((part) => part.trim().replace(/^W\//, ''))
  return tags.includes('*') || tags.includes(tag.replace(/^W\//, ''))
}
