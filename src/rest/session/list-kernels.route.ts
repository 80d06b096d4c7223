import { createRoute, z } from '@hono/zod-openapi'
import { STATUSES } from '../../domain/session/statuses.ts'
import { readKernels, type KernelRecord } from '../../services/agent/read-session-kernels.ts'
import { COMMON_PROBLEMS, json, problems } from '../answers.ts'
import { time, toTime } from '../resources/fields.ts'
import type { RestApp } from '../rest-app.ts'
import { SessionIdParameter } from '../routes/parameters.ts'

const KernelResource = z
  .object({
    id: z.uuid(),
    session_id: z.uuid(),
    role: z.string().openapi({ description: '`main` or `sub`.' }),
    index: z.int().openapi({ description: '1-based within its role.' }),
    agent_id: z.uuid().nullable().openapi({ description: 'Where it runs or ran; null while it waits.' }),
    host: z
      .string()
      .nullable()
      .openapi({ description: 'The machine on which it runs or ran, if its agent has several.' }),
    slurm_job_id: z.string().nullable().openapi({ description: 'Under which id Slurm has it. Slurm uses ids again.' }),
    status: z.enum(STATUSES),
    exit_code: z.int().nullable().openapi({ description: '128 plus the signal number if a signal ended it.' }),
    oom_killed: z.boolean(),
    reason: z.string().nullable().openapi({ description: 'Why it ended, if it did not end by itself.' }),
    started_at: time().nullable(),
    terminated_at: time().nullable(),
  })
  .openapi('Kernel', { description: 'One process of a session.' })

const route = createRoute({
  method: 'get',
  path: '/v2/sessions/{id}/kernels',
  operationId: 'listKernels',
  summary: 'The kernels of a session',
  description: 'Its processes, `main` first: all at once.',
  tags: ['kernels'],
  request: { params: SessionIdParameter },
  responses: {
    200: json(z.object({ items: z.array(KernelResource) }).openapi('KernelList'), 'The kernels.'),
    ...COMMON_PROBLEMS,
    ...problems('SESSION_NOT_FOUND'),
  },
})

export function serveListKernels(app: RestApp): void {
  app.openapi(route, async (c) => {
    const kernels = await readKernels(c.get('context'), c.req.valid('param').id)
    return c.json({ items: kernels.map(toKernel) }, 200)
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
