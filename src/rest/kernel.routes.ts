import { createRoute, z } from '@hono/zod-openapi'
import { STATUSES } from '../domain/session/lifecycle.ts'
import { type KernelRecord, readKernels } from '../services/agent/agents.ts'
import { COMMON_PROBLEMS, json, problems } from './route-parts.ts'
import { time, toTime } from './fields.ts'
import type { RestApp } from './rest-app.ts'
import { KernelIdParameter, SessionIdParameter } from './parameters.ts'
import { assertKernelVisible, behindLogCursor, type LogChunkRow, logCursor } from '../services/agent/kernel-logs.ts'
import { followKernelLogs } from '../events/kernel-logs.ts'
import { afterOf, eventStream, LastEventId, sendEvents, type StreamServices } from './event-stream.ts'
import { component } from './openapi.ts'

const KernelResource = z
  .object({
    id: z.uuid(),
    session_id: z.uuid(),
    role: z.string().openapi({ description: '`main` or `sub`.' }),
    index: z.int().openapi({ description: '1-based within its role.' }),
    agent_id: z
      .uuid()
      .nullable()
      .openapi({ description: 'The agent on which it runs or ran; null while it waits for one.' }),
    host: z
      .string()
      .nullable()
      .openapi({ description: 'The machine on which it runs or ran, if its agent manages several.' }),
    slurm_job_id: z.string().nullable().openapi({ description: 'Its job id in Slurm. Slurm reuses ids.' }),
    status: z.enum(STATUSES),
    exit_code: z
      .int()
      .nullable()
      .openapi({ description: 'Its exit code: 128 plus the signal number if a signal ended it.' }),
    oom_killed: z.boolean(),
    reason: z.string().nullable().openapi({ description: 'Why it ended, if it did not end by itself.' }),
    started_at: time().nullable(),
    terminated_at: time().nullable(),
  })
  .openapi('Kernel', { description: 'One process of a session.' })

const listRoute = createRoute({
  method: 'get',
  path: '/v2/sessions/{id}/kernels',
  operationId: 'listKernels',
  summary: 'List the kernels of a session',
  description: 'All its kernels, `main` first, without pages.',
  tags: ['kernels'],
  request: { params: SessionIdParameter },
  responses: {
    200: json(z.object({ items: z.array(KernelResource) }).openapi('KernelList'), 'The kernels.'),
    ...COMMON_PROBLEMS,
    ...problems('SESSION_NOT_FOUND'),
  },
})

const LOG_CHUNK = component('LogChunk', {
  type: 'object',
  description: "The data of an event `chunk`: a piece of a kernel's output, in order of arrival.",
  properties: {
    stream: { type: 'string', enum: ['STDOUT', 'STDERR'] },
    offset: { type: 'number', description: 'Offset in bytes of its beginning in the stored part of its stream.' },
    text: { type: 'string', description: 'The text; it need not end with a line break.' },
    at: { type: 'string', format: 'date-time', description: 'When the agent read its first byte.' },
  },
  required: ['stream', 'offset', 'text', 'at'],
})

const followLogRoute = createRoute({
  method: 'get',
  path: '/v2/kernels/{id}/log/follow',
  operationId: 'followKernelLog',
  summary: 'Follow the output of a kernel',
  description:
    'Server-sent events `chunk`, from the beginning or after the given `id`, as the kernel writes. The last event is `end`, sent after the kernel has ended and all its output has been sent. A stream that ends without it was interrupted: the client then continues with its last `id`.',
  tags: ['kernels'],
  request: {
    params: KernelIdParameter,
    headers: LastEventId,
    query: z.strictObject({
      after: z.string().optional().openapi({
        description:
          'The `id` of the last event that the client received. The header `Last-Event-ID` takes precedence.',
      }),
    }),
  },
  responses: {
    200: eventStream(LOG_CHUNK.reference),
    ...COMMON_PROBLEMS,
    ...problems('KERNEL_NOT_FOUND', 'TOO_MANY_SUBSCRIPTIONS'),
  },
})

export function serveKernels(app: RestApp, streams: StreamServices): void {
  app.openapi(listRoute, async (c) => {
    const kernels = await readKernels(c.get('context'), c.req.valid('param').id)
    return c.json({ items: kernels.map(toKernel) }, 200)
  })
  app.openapi(followLogRoute, async (c) => {
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

function toKernel(record: KernelRecord): z.infer<typeof KernelResource> {
  return {
    id: record.id,
    session_id: record.sessionId,
    role: record.role,
    index: record.index,
    agent_id: record.agentId,
    host: record.host,
    slurm_job_id: record.slurmJobId,
    status: record.status,
    exit_code: record.exitCode,
    oom_killed: record.oomKilled,
    reason: record.reason,
    started_at: toTime(record.startedAt),
    terminated_at: toTime(record.terminatedAt),
  }
}

function toChunk(chunk: LogChunkRow) {
  const { stream, offset, text, at } = chunk
  return { id: logCursor(chunk), event: 'chunk', data: { stream, offset, text, at: at.toISOString() } }
}
