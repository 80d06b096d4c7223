import { createRoute, z } from '@hono/zod-openapi'
import { followKernelLogs } from '../../events/follow-kernel-logs.ts'
import { behindLogCursor, logCursor } from '../../services/agent/log-cursor.ts'
import { assertKernelVisible, type LogChunkRow } from '../../services/agent/read-kernel-logs.ts'
import { COMMON_PROBLEMS, problems } from '../answers.ts'
import { afterOf, eventStream, LastEventId } from '../event/resumption.ts'
import { sendEvents, type StreamServices } from '../event/send-events.ts'
import { component } from '../resources/input-schema.ts'
import type { RestApp } from '../rest-app.ts'
import { KernelIdParameter } from '../routes/parameters.ts'

const LOG_CHUNK = component('LogChunk', {
  type: 'object',
  description: "The data of an event `chunk`: a piece of a kernel's output, in order of arrival.",
  properties: {
    stream: { type: 'string', enum: ['STDOUT', 'STDERR'] },
    offset: { type: 'number', description: 'Byte at which it begins in its stream, as far as that is kept.' },
    text: { type: 'string', description: 'It need not end with a line break.' },
    at: { type: 'string', format: 'date-time', description: 'When the agent read its beginning.' },
  },
  required: ['stream', 'offset', 'text', 'at'],
})

const route = createRoute({
  method: 'get',
  path: '/v2/kernels/{id}/log/follow',
  operationId: 'followKernelLog',
  summary: 'Follow the output of a kernel',
  description:
    'Server-sent events `chunk`, from the beginning or behind the `id` that is given, as the kernel writes. Once it has ended and all has been sent, an event `end` is the last. A stream that ends without it was cut off: a client then goes on with its last `id`.',
  tags: ['kernels'],
  request: {
    params: KernelIdParameter,
    headers: LastEventId,
    query: z.strictObject({
      after: z.string().optional().openapi({ description: 'The last `id` of the client. `Last-Event-ID` beats it.' }),
    }),
  },
  responses: {
    200: eventStream(LOG_CHUNK.reference),
    ...COMMON_PROBLEMS,
    ...problems('KERNEL_NOT_FOUND', 'TOO_MANY_SUBSCRIPTIONS'),
  },
})

export function serveFollowKernelLog(app: RestApp, streams: StreamServices): void {
  app.openapi(route, async (c) => {
    const { id: kernelId } = c.req.valid('param')
    const context = c.get('context')
    const given = afterOf(c.req.valid('header'), c.req.valid('query'))
    const after = behindLogCursor(given)
    await assertKernelVisible(context, kernelId)
    const { topics, logRelay: relay, closing } = streams
    const source = followKernelLogs({ db: context.db, topics, relay, kernelId, after, closing })
    const last = { event: 'end', data: {} }
    return sendEvents(c, streams, { source, from: given, show: toChunk, last })
  })
}

function toChunk(chunk: LogChunkRow) {
  const { stream, offset, text, at } = chunk
  return { id: logCursor(chunk), event: 'chunk', data: { stream, offset, text, at: at.toISOString() } }
}
