import { createRoute, z } from '@hono/zod-openapi'
import { createLogTextIndex } from '../../services/agent/log-text-index.ts'
import { measureLogText, readLogText } from '../../services/agent/read-log-text.ts'
import { readFor } from '../../services/consistent-reads.ts'
import { COMMON_PROBLEMS, problems } from '../answers.ts'
import type { RestApp } from '../rest-app.ts'
import { KernelIdParameter } from '../routes/parameters.ts'
import { byteRange } from './byte-range.ts'

const TEXT = { 'text/plain': { schema: z.string() } }

const route = createRoute({
  method: 'get',
  path: '/v2/kernels/{id}/log',
  operationId: 'getKernelLog',
  summary: 'Download the output of a kernel',
  description:
    'What is kept of it, as text in UTF-8: of both streams as it arrived, or of one. `Range` with one range of bytes answers 206; `bytes=-65536` is the end.',
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
      link: z
        .string()
        .optional()
        .openapi({ description: 'Instead of a token: the code of a link that the web UI has asked for, good once.' }),
    }),
  },
  responses: {
    200: { description: 'All of it.', content: TEXT },
    206: { description: 'The range that was asked for.', content: TEXT },
    304: { description: 'As it is known.' },
    416: { description: 'The range begins behind the end.', content: TEXT },
    ...COMMON_PROBLEMS,
    ...problems('KERNEL_NOT_FOUND'),
  },
})

export function serveGetKernelLog(app: RestApp): void {
  const index = createLogTextIndex()
  app.openapi(route, async (c) => {
    const context = c.get('context')
    const { id: kernelId } = c.req.valid('param')
    const { stream = null } = c.req.valid('query')
    const measured = await measureLogText(context, index, { kernelId, stream })
    const { bytes, lastId } = measured
    // Logs only grow: what ends with this piece is always the same.
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
      'Content-Type': 'text/plain; charset=utf-8',
      'X-Content-Type-Options': 'nosniff',
      'Content-Disposition': `attachment; filename="kernel-${kernelId}${stream ? `.${stream.toLowerCase()}` : ''}.log"`,
    })
    if (range === 'unsatisfiable') {
      return c.body(`The log has ${bytes} bytes.\n`, 416, { ...headers, 'Content-Range': `bytes */${bytes}` })
    }
    const { first, last } = range ?? { first: 0, last: bytes - 1 }
    headers['Content-Length'] = String(last - first + 1)
    if (range) headers['Content-Range'] = `bytes ${first}-${last}/${bytes}`
    if (bytes === 0) return c.body(null, 200, headers)
    c.set('streams', true)
    const text = readLogText(context, { kernelId, stream }, measured, { first, last })
    const reader = { party: context.viewer.tokenId, signal: c.get('gone') }
    const body = new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          const { done, value } = await readFor(reader, () => text.next())
          if (done) controller.close()
          else controller.enqueue(value)
        },
        cancel: () =>
          text.return().then(
            () => undefined,
            () => undefined,
          ),
      },
      // Nothing is read before it is asked for.
      { highWaterMark: 0 },
    )
    return c.body(body, range ? 206 : 200, headers)
  })
}
