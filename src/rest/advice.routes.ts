import { createRoute, z } from '@hono/zod-openapi'
import { ADVICE_KINDS, ADVICE_STATES } from '../domain/insight/advice/advice.ts'
import { sayAdvice } from '../domain/insight/advice/say-advice.ts'
import { type AdviceRow, applyRetryAdvice, dismissRetryAdvice, readRetryAdvice } from '../services/insight/advice.ts'
import { time, toTime } from './fields.ts'
import { AdviceIdParameter, several } from './parameters.ts'
import type { RestApp } from './rest-app.ts'
import { PartialRetryPolicyResource, toPartialRetryPolicy } from './retry.resource.ts'
import { COMMON_PROBLEMS, json, problems } from './route-parts.ts'

const AdviceResource = z
  .object({
    id: z.uuid(),
    kind: z.enum(ADVICE_KINDS),
    project: z.string().nullable().openapi({ description: 'Its project; null for advice about machines.' }),
    finding: z.string().openapi({ description: 'What was found, with its numbers.' }),
    change: z.string().openapi({ description: 'What would be changed.' }),
    evidence_count: z.int().openapi({ description: 'Retries, runs or chains that it rests on.' }),
    slot_seconds_wasted: z.number().openapi({ description: 'CPU seconds that the change would have saved, at most.' }),
    gib_hours_wasted: z.number().openapi({ description: 'For memory, the GiB hours that it would have saved.' }),
    example_chain_ids: z.array(z.uuid()),
    patch: z
      .object({
        policy: PartialRetryPolicyResource.nullable(),
        breaker: z.object({ failures: z.int(), chains: z.int(), window: z.int() }).nullable(),
        name: z.string().nullable(),
        memory_bytes: z.number().nullable(),
        batch_timeout: z.number().nullable(),
        drain_agent_id: z.uuid().nullable(),
        take_gpu: z.string().nullable(),
      })
      .openapi({ description: 'The change; only the fields of one kind of change are not null.' }),
    can_apply: z.boolean().openapi({ description: 'False for requests, which change where sessions are submitted.' }),
    found_at: time(),
    state: z.enum(ADVICE_STATES),
    state_by: z.string().nullable(),
    state_at: time().nullable(),
  })
  .openapi('RetryAdvice', { description: 'What the finished attempts of the last 30 days suggest to change.' })

const tags = ['insight']
const CHANGED = { 200: json(AdviceResource, 'The advice, as it is now.'), ...COMMON_PROBLEMS }

const listRoute = createRoute({
  method: 'get',
  path: '/v2/advice',
  operationId: 'listRetryAdvice',
  summary: 'Show what the last 30 days suggest to change',
  description: 'What wastes most comes first. It is looked for once an hour.',
  tags,
  request: {
    query: z.strictObject({
      project: z.string().optional().openapi({ description: 'Only of the project of this name.' }),
      state: several(ADVICE_STATES, 'In one of these states; open advice if missing.'),
    }),
  },
  responses: {
    200: json(z.object({ items: z.array(AdviceResource) }).openapi('RetryAdviceList'), 'The advice.'),
    ...COMMON_PROBLEMS,
  },
})

const applyRoute = createRoute({
  method: 'post',
  path: '/v2/advice/{id}/apply',
  operationId: 'applyRetryAdvice',
  summary: 'Make the change that advice suggests',
  description: 'Needs the role ADMIN: that of the project, or of all projects for machines.',
  tags,
  request: { params: AdviceIdParameter },
  responses: { ...CHANGED, ...problems('ADVICE_NOT_FOUND', 'AGENT_NOT_FOUND', 'GPU_NOT_FOUND') },
})

const dismissRoute = createRoute({
  method: 'post',
  path: '/v2/advice/{id}/dismiss',
  operationId: 'dismissRetryAdvice',
  summary: 'Hide advice until its evidence has doubled',
  description: 'Needs the role ADMIN.',
  tags,
  request: { params: AdviceIdParameter },
  responses: { ...CHANGED, ...problems('ADVICE_NOT_FOUND') },
})

export function serveAdvice(app: RestApp): void {
  app.openapi(listRoute, async (c) => {
    const { project, state } = c.req.valid('query')
    const scope =
      project === undefined ? ({ scope: 'CLUSTER' } as const) : ({ scope: 'PROJECT', name: project } as const)
    const rows = await readRetryAdvice(c.get('context'), { ...scope, states: state })
    return c.json({ items: rows.map(toAdvice) }, 200)
  })
  app.openapi(applyRoute, async (c) => {
    const row = await applyRetryAdvice(c.get('context'), { adviceId: c.req.valid('param').id })
    return c.json(toAdvice(row), 200)
  })
  app.openapi(dismissRoute, async (c) => {
    const row = await dismissRetryAdvice(c.get('context'), { adviceId: c.req.valid('param').id })
    return c.json(toAdvice(row), 200)
  })
}

function toAdvice({ evidence, patch, named, ...row }: AdviceRow): z.infer<typeof AdviceResource> {
  return {
    id: row.id,
    kind: evidence.kind,
    project: row.project,
    ...sayAdvice(evidence, patch, named),
    evidence_count: row.count,
    slot_seconds_wasted: row.slotSeconds,
    gib_hours_wasted: row.gibHours,
    example_chain_ids: row.examples,
    patch: {
      policy: patch.kind === 'POLICY' ? toPartialRetryPolicy(patch.policy) : null,
      breaker: patch.kind === 'BREAKER' ? patch.breaker : null,
      name: patch.kind === 'REQUEST' ? patch.name : null,
      memory_bytes: patch.kind === 'REQUEST' ? (patch.memoryBytes ?? null) : null,
      batch_timeout: patch.kind === 'REQUEST' ? (patch.timeoutSeconds ?? null) : null,
      drain_agent_id: patch.kind === 'DRAIN_AGENT' ? patch.agentId : null,
      take_gpu: patch.kind === 'TAKE_GPU' ? patch.uuid : null,
    },
    can_apply: patch.kind !== 'REQUEST',
    found_at: row.foundAt.toISOString(),
    state: row.state,
    state_by: row.stateBy,
    state_at: toTime(row.stateAt),
  }
}
