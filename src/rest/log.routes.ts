import { createRoute, z } from '@hono/zod-openapi'
import { createLogTextIndex, measureLogText, readLogText } from '../services/agent/kernel-logs.ts'
import { logFileName, readChainLog } from '../services/agent/log-files.ts'
import { byteRange, streamedBody } from './file-answer.ts'
import { ChainIdParameter, KernelIdParameter } from './parameters.ts'
import type { RestApp } from './rest-app.ts'
import { COMMON_PROBLEMS, problems } from './route-parts.ts'

const TEXT = { 'text/plain': { schema: z.string() } }

const LINK = z.string().optional().openapi({
  description: 'The code of a download link that the web UI has created, in place of a token. Valid once.',
})

const getLogRoute = createRoute({
  method: 'get',
  path: '/v2/kernels/{id}/log',
  operationId: 'getKernelLog',
  summary: 'Download the output of a kernel',
  description:
    'The stored output as text in UTF-8: both streams in the order of arrival, or one of them. With a `Range` of one range of bytes the response is 206; `bytes=-65536` gets the end.',
  tags: ['kernels'],
  request: {
    params: KernelIdParameter,
    query: z.strictObject({
      stream: z
        .string()
        .toUpperCase()
        .pipe(z.enum(['STDOUT', 'STDERR']))
        .optional()
        .openapi({ type: 'string', enum: ['STDOUT', 'STDERR'], description: 'Only this stream.' }),
      link: LINK,
    }),
  },
  responses: {
    200: { description: 'The whole output.', content: TEXT },
    206: { description: 'The requested range.', content: TEXT },
    304: { description: 'Not modified.' },
    416: { description: 'The range begins after the end.', content: TEXT },
    ...COMMON_PROBLEMS,
    ...problems('KERNEL_NOT_FOUND'),
  },
})

const getChainLogRoute = createRoute({
  method: 'get',
  path: '/v2/chains/{id}/log',
  operationId: 'getChainLog',
  summary: 'Download the output of all attempts',
  description:
    'The stored output of all attempts of a chain as one text in UTF-8, oldest first. A line before that of each kernel names its attempt and how that ended.',
  tags: ['chains'],
  request: { params: ChainIdParameter, query: z.strictObject({ link: LINK }) },
  responses: {
    200: { description: 'The whole output.', content: TEXT },
    ...COMMON_PROBLEMS,
    ...problems('SESSION_NOT_FOUND'),
  },
})

/** Serves the downloads of logs; each is read only as fast as its client does. */
export function serveLogs(app: RestApp): void {
  const index = createLogTextIndex()
  app.openapi(getLogRoute, async (c) => {
    const context = c.get('context')
    const { id: kernelId } = c.req.valid('param')
    const { stream = null } = c.req.valid('query')
    const measured = await measureLogText(context, index, { kernelId, stream })
    const { bytes, lastId } = measured
    // Logs only grow, so a text that ends with this chunk never changes.
    const tag = `"${lastId}-${bytes}"`
    const headers: Record<string, string> = {
      'Accept-Ranges': 'bytes',
      'Cache-Control': 'private, no-cache',
      ETag: tag,
      Vary: 'Authorization',
    }
    if (c.req.header('if-none-match') === tag) return c.body(null, 304, headers)
    const sameAsBefore = [undefined, tag].includes(c.req.header('if-range'))
    const range = sameAsBefore ? byteRange(c.req.header('range'), bytes) : null
    Object.assign(headers, {
      ...FILE_HEADERS,
      'Content-Disposition': attachment(await logFileName(context, { kernelId, stream })),
    })
    if (range === 'unsatisfiable') {
      return c.body(`The log has ${bytes} bytes.\n`, 416, { ...headers, 'Content-Range': `bytes */${bytes}` })
    }
    const { first, last } = range ?? { first: 0, last: bytes - 1 }
    headers['Content-Length'] = String(last - first + 1)
    if (range) headers['Content-Range'] = `bytes ${first}-${last}/${bytes}`
    if (bytes === 0) return c.body(null, 200, headers)
    const text = readLogText(context, { kernelId, stream }, measured, { first, last })
    return c.body(streamedBody(c, text), range ? 206 : 200, headers)
  })
  app.openapi(getChainLogRoute, async (c) => {
    const context = c.get('context')
    const { file, text } = await readChainLog(context, index, c.req.valid('param').id)
    const body = streamedBody(c, text)
    const headers = { 'Cache-Control': 'private, no-cache', Vary: 'Authorization', ...FILE_HEADERS }
    // Its declared type is a text, which this stream becomes.
    return c.body(body, 200, { ...headers, 'Content-Disposition': attachment(file) }) as never
  })
}

const FILE_HEADERS = { 'Content-Type': 'text/plain; charset=utf-8', 'X-Content-Type-Options': 'nosniff' }

/** The header that names a file (RFC 6266): in ASCII, and in UTF-8 for programs that know it. */
function attachment(file: string): string {
  const ascii = file.replaceAll(/[^\x20-\x7e]/g, '_')
  return `attachment; filename="${ascii}"${ascii === file ? '' : `; filename*=UTF-8''${encodeURIComponent(file)}`}`
}
