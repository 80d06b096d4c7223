import { createRoute, z } from '@hono/zod-openapi'
import { RepriseError } from '../domain/errors.ts'
import type { QuotaScope } from '../domain/quota.ts'
import { assertMayAdminister } from '../services/access/authorize.ts'
import { parseInput } from '../services/input/parse-input.ts'
import { allQuotas, quotaLimits, readQuota, setQuota, type SetQuotaInput, type UsedQuota } from '../services/quota.ts'
import { slots, toSlots } from './fields.ts'
import { readChange, REASON, reasonParameter, withReason } from './json-body.ts'
import { component, inputSchema } from './openapi.ts'
import type { RestApp } from './rest-app.ts'
import { BODY_PROBLEMS, COMMON_PROBLEMS, json, jsonBody, problems } from './route-parts.ts'

const SCOPES = ['USER', 'PROJECT', 'DOMAIN'] as const satisfies QuotaScope[]
const NOT_FOUND = { USER: 'USER_NOT_FOUND', PROJECT: 'PROJECT_NOT_FOUND', DOMAIN: 'DOMAIN_NOT_FOUND' } as const

const QuotaResource = z
  .object({
    scope: z.enum(SCOPES),
    name: z.string().openapi({ description: 'Name of its owner: the user, project or domain.' }),
    slots: slots().openapi({ description: 'Limits on the resources that all kernels together may hold.' }),
    max_running: z.int().nullable().openapi({ description: 'Limit on the number of placed sessions.' }),
    max_pending: z.int().nullable().openapi({ description: 'Limit on the number of PENDING sessions.' }),
    max_checkpoint_bytes: z.int().nullable(),
    max_output_bytes: z.int().nullable(),
    usage: z
      .object({
        slots: slots(),
        running: z.int(),
        pending: z.int(),
        checkpoint_bytes: z.int(),
        output_bytes: z.int(),
      })
      .openapi({ description: 'The present use. A retry that waits out its backoff does not count.' }),
  })
  .openapi('Quota', { description: 'Limits on what a user, a project or a domain may use at the same time.' })

const QUOTA_INPUT = component('QuotaInput', quotaInput())

function quotaInput() {
  const schema = inputSchema(quotaLimits)
  schema.properties!['reason'] = REASON
  return { ...schema, description: 'The limits. Missing ones, and null, mean no limit. Bytes may be text: `500g`.' }
}

const OwnerParameters = z.strictObject({
  scope: z
    .string()
    .toUpperCase()
    .pipe(z.enum(SCOPES))
    .openapi({
      param: { name: 'scope', in: 'path' },
      type: 'string',
      enum: [...SCOPES],
      description: 'Kind of its owner.',
    }),
  name: z.string().openapi({ param: { name: 'name', in: 'path' }, description: 'Name of its owner.' }),
})

const tags = ['quotas']
const MISSING = problems('USER_NOT_FOUND', 'PROJECT_NOT_FOUND', 'DOMAIN_NOT_FOUND')

const listRoute = createRoute({
  method: 'get',
  path: '/v2/quotas',
  operationId: 'listQuotas',
  summary: 'List quotas',
  description: 'Those with at least one limit. A token of a project sees those that apply to its project and user.',
  tags,
  responses: {
    200: json(z.object({ items: z.array(QuotaResource) }).openapi('Quotas'), 'The quotas.'),
    ...COMMON_PROBLEMS,
  },
})

const getRoute = createRoute({
  method: 'get',
  path: '/v2/quotas/{scope}/{name}',
  operationId: 'getQuota',
  summary: 'Get a quota',
  description: 'Also if nothing is limited.',
  tags,
  request: { params: OwnerParameters },
  responses: { 200: json(QuotaResource, 'The quota.'), ...COMMON_PROBLEMS, ...MISSING },
})

const putRoute = createRoute({
  method: 'put',
  path: '/v2/quotas/{scope}/{name}',
  operationId: 'setQuota',
  summary: 'Set the limits of a quota',
  description: 'Replaces all of its limits; for administrators of the cluster. Existing sessions stay.',
  tags,
  request: {
    params: OwnerParameters,
    body: jsonBody(QUOTA_INPUT, {
      slots: [{ slot: 'mem', amount: '64g' }],
      max_running: 100,
      max_output_bytes: '500g',
    }),
  },
  responses: {
    200: json(QuotaResource, 'The quota after the change.'),
    ...COMMON_PROBLEMS,
    ...problems(...BODY_PROBLEMS),
    ...MISSING,
  },
})

const deleteRoute = createRoute({
  method: 'delete',
  path: '/v2/quotas/{scope}/{name}',
  operationId: 'deleteQuota',
  summary: 'Remove all limits of a quota',
  tags,
  request: { params: OwnerParameters, query: z.strictObject({ reason: reasonParameter() }) },
  responses: { 204: { description: 'Nothing is limited any more.' }, ...COMMON_PROBLEMS, ...MISSING },
})

/** Every limit is given, because a missing one would stay as it is. */
const NO_LIMITS = {
  slots: null,
  maxRunning: null,
  maxPending: null,
  maxCheckpointBytes: null,
  maxOutputBytes: null,
} satisfies Omit<SetQuotaInput, 'scope' | 'name'>

export function serveQuotas(app: RestApp): void {
  app.openapi(listRoute, async (c) => {
    return c.json({ items: (await allQuotas(c.get('context'))).map(toQuota) }, 200)
  })
  app.openapi(getRoute, async (c) => {
    const { scope, name } = c.req.valid('param')
    const quota = await readQuota(c.get('context'), scope, name)
    if (quota === null) throw new RepriseError(NOT_FOUND[scope], `no ${scope.toLowerCase()} ${name.slice(0, 100)}`)
    return c.json(toQuota(quota), 200)
  })
  app.openapi(putRoute, async (c) => {
    assertMayAdminister(c.get('context').viewer, 'CLUSTER')
    const { context, input } = await readChange(c.get('context'), c.env.incoming)
    parseInput(quotaLimits, input)
    return c.json(toQuota(await setQuota(context, { ...NO_LIMITS, ...input, ...c.req.valid('param') })), 200)
  })
  app.openapi(deleteRoute, async (c) => {
    const context = withReason(c.get('context'), c.req.valid('query').reason)
    await setQuota(context, { ...NO_LIMITS, ...c.req.valid('param') })
    return c.body(null, 204)
  })
}

function toQuota(quota: UsedQuota): z.infer<typeof QuotaResource> {
  const { scope, name, maxRunning, maxPending, maxCheckpointBytes, maxOutputBytes, usage } = quota
  return {
    scope,
    name,
    slots: toSlots(quota.slots),
    max_running: maxRunning,
    max_pending: maxPending,
    max_checkpoint_bytes: maxCheckpointBytes,
    max_output_bytes: maxOutputBytes,
    usage: {
      slots: toSlots(usage.slots),
      running: usage.running,
      pending: usage.pending,
      checkpoint_bytes: usage.checkpointBytes,
      output_bytes: usage.outputBytes,
    },
  }
}
