import { createRoute, z } from '@hono/zod-openapi'
import { assertMayChange } from '../services/access/authorize.ts'
import { sendTestEvent } from '../services/webhook/webhook-deliveries.ts'
import {
  createWebhook,
  type CreateWebhookInput,
  deleteWebhook,
  readWebhook,
  readWebhooks,
  updateWebhook,
  type WebhookRecord,
} from '../services/webhook/webhooks.ts'
import { refuseInput } from '../services/input/parse-input.ts'
import { labels, time, toLabels, toTime } from './fields.ts'
import { readChange, REASON, reasonParameter, withReason } from './json-body.ts'
import { component, type JsonSchema } from './openapi.ts'
import { flag, WebhookIdParameter } from './parameters.ts'
import type { RestApp } from './rest-app.ts'
import {
  BODY_PROBLEMS,
  COMMON_PROBLEMS,
  json,
  jsonBody,
  nextLink,
  PAGE_PARAMETERS,
  pageOf,
  problems,
  toPage,
} from './route-parts.ts'

const fields = {
  id: z.uuid(),
  project: z.string().nullable().openapi({ description: 'The project whose events it receives; null for all.' }),
  url: z.string(),
  description: z.string(),
  event_types: z.array(z.string()),
  chain_id: z.uuid().nullable().openapi({ description: 'The only chain whose events it receives; null for all.' }),
  labels: labels().openapi({ description: 'Labels that a session or deployment must have.' }),
  skip_group_members: z.boolean().openapi({
    description: 'Whether it receives no events of members of groups, only `group.ended`.',
  }),
  enabled: z.boolean(),
  disabled_reason: z.string().nullable().openapi({ description: 'Why the server disabled it.' }),
  disabled_at: time().nullable(),
  failing_since: time().nullable().openapi({ description: 'When its attempts began to fail without a success since.' }),
  last_delivered_at: time().nullable().openapi({ description: 'To the minute.' }),
  resting_until: time().nullable().openapi({ description: 'Until when the endpoint has asked for no deliveries.' }),
  previous_secret_expires_at: time().nullable(),
  created_at: time(),
}
const WebhookResource = z.object(fields).openapi('Webhook', { description: 'An endpoint to which events are sent.' })
const NewWebhookResource = z
  .object({
    ...fields,
    secret: z.string().openapi({ description: 'The secret that signs requests, shown only once.' }),
  })
  .openapi('NewWebhook')
const WebhookPage = pageOf(WebhookResource).openapi('WebhookPage')

const SETTINGS: Record<string, JsonSchema> = {
  url: { type: 'string', description: 'URL of the endpoint. Deliveries to private addresses are refused.' },
  event_types: {
    type: 'array',
    items: { type: 'string' },
    minItems: 1,
    description: 'Names of events; a `*` at the end matches any ending: `session.retry_*`, `group.ended`.',
  },
  description: { type: ['string', 'null'], description: 'Description, for people.' },
  chain_id: { type: ['string', 'null'], format: 'uuid', description: 'Only events of this chain.' },
  labels: {
    type: ['array', 'null'],
    items: {
      type: 'object',
      properties: { key: { type: 'string' }, value: { type: 'string' } },
      required: ['key', 'value'],
      additionalProperties: false,
    },
    description: 'Only events of sessions and deployments that have all of these labels.',
  },
  skip_group_members: { type: ['boolean', 'null'], description: 'True: no events of members of groups.' },
}

const WEBHOOK_INPUT = component('WebhookInput', {
  type: 'object',
  properties: {
    ...SETTINGS,
    project: {
      type: ['string', 'null'],
      description: "The project whose events are sent. Missing: the token's project, or all.",
    },
    reason: REASON,
  },
  required: ['url', 'event_types'],
  additionalProperties: false,
})

const WEBHOOK_CHANGE = component('WebhookChange', {
  type: 'object',
  description: 'Missing fields stay as they are; null removes `description`, `chain_id` and `labels`.',
  properties: {
    ...SETTINGS,
    enabled: { type: ['boolean', 'null'], description: 'False: nothing is sent until it is enabled again.' },
    reason: REASON,
  },
  additionalProperties: false,
})

const FIELDS_OF_CHANGE: ReadonlySet<string> = new Set([
  'url',
  'eventTypes',
  'description',
  'chainId',
  'labels',
  'skipGroupMembers',
  'enabled',
])

const tags = ['webhooks']

const listRoute = createRoute({
  method: 'get',
  path: '/v2/webhooks',
  operationId: 'listWebhooks',
  summary: 'List webhooks',
  description: 'Newest first.',
  tags,
  request: {
    query: z.strictObject({
      ...PAGE_PARAMETERS,
      project: z.string().optional().openapi({ description: 'Of the project of this name.' }),
      enabled: flag('True: only enabled webhooks; false: only disabled ones.'),
    }),
  },
  responses: { 200: json(WebhookPage, 'A page of webhooks.'), ...COMMON_PROBLEMS },
})

const createWebhookRoute = createRoute({
  method: 'post',
  path: '/v2/webhooks',
  operationId: 'createWebhook',
  summary: 'Create a webhook',
  description: 'The endpoint receives events from now on.',
  tags,
  request: {
    body: jsonBody(WEBHOOK_INPUT, { url: 'https://example.com/reprise', event_types: ['group.ended'] }),
  },
  responses: {
    201: json(NewWebhookResource, 'The webhook, with its secret.'),
    ...COMMON_PROBLEMS,
    ...problems(...BODY_PROBLEMS, 'PROJECT_NOT_FOUND', 'QUOTA_EXCEEDED'),
  },
})

const getRoute = createRoute({
  method: 'get',
  path: '/v2/webhooks/{id}',
  operationId: 'getWebhook',
  summary: 'Get a webhook',
  tags,
  request: { params: WebhookIdParameter },
  responses: { 200: json(WebhookResource, 'The webhook.'), ...COMMON_PROBLEMS, ...problems('WEBHOOK_NOT_FOUND') },
})

const updateRoute = createRoute({
  method: 'patch',
  path: '/v2/webhooks/{id}',
  operationId: 'updateWebhook',
  summary: 'Change a webhook',
  tags,
  request: { params: WebhookIdParameter, body: jsonBody(WEBHOOK_CHANGE, { enabled: false }) },
  responses: {
    200: json(WebhookResource, 'The webhook after the change.'),
    ...COMMON_PROBLEMS,
    ...problems(...BODY_PROBLEMS, 'WEBHOOK_NOT_FOUND'),
  },
})

const deleteRoute = createRoute({
  method: 'delete',
  path: '/v2/webhooks/{id}',
  operationId: 'deleteWebhook',
  summary: 'Delete a webhook',
  description: 'Also deletes its deliveries, including waiting ones.',
  tags,
  request: { params: WebhookIdParameter, query: z.strictObject({ reason: reasonParameter() }) },
  responses: { 204: { description: 'Deleted.' }, ...COMMON_PROBLEMS, ...problems('WEBHOOK_NOT_FOUND') },
})

const testRoute = createRoute({
  method: 'post',
  path: '/v2/webhooks/{id}/test',
  operationId: 'testWebhook',
  summary: 'Send a test event to a webhook',
  description: 'Sends a `webhook.test` event once, without retries.',
  tags,
  request: { params: WebhookIdParameter },
  responses: {
    202: json(z.object({ delivery_id: z.uuid() }).openapi('TestDelivery'), 'The delivery, which is sent at once.'),
    ...COMMON_PROBLEMS,
    ...problems('WEBHOOK_NOT_FOUND', 'WEBHOOK_DISABLED'),
  },
})

export function serveWebhooks(app: RestApp): void {
  app.openapi(listRoute, async (c) => {
    const { limit, cursor, project, enabled } = c.req.valid('query')
    const page = { first: limit, after: cursor ?? null }
    const wanted = { ...(project !== undefined && { project }), ...(enabled !== undefined && { enabled }) }
    const body = toPage(await readWebhooks(c.get('context'), { ...wanted, page }), toWebhook)
    return c.json(body, 200, nextLink(c.req.url, body.next_cursor))
  })
  app.openapi(createWebhookRoute, async (c) => {
    assertMayChange(c.get('context').viewer)
    const { context, input } = await readChange(c.get('context'), c.env.incoming)
    const { webhookId, secret } = await createWebhook(context, withProject(input))
    const webhook = toWebhook(await readWebhook(context, webhookId))
    return c.json({ ...webhook, secret }, 201, { Location: `/v2/webhooks/${webhookId}` })
  })
  app.openapi(getRoute, async (c) => {
    return c.json(toWebhook(await readWebhook(c.get('context'), c.req.valid('param').id)), 200)
  })
  app.openapi(updateRoute, async (c) => {
    assertMayChange(c.get('context').viewer)
    const { context, input } = await readChange(c.get('context'), c.env.incoming)
    const { id: webhookId } = c.req.valid('param')
    await updateWebhook(context, { ...changeOf(input), webhookId })
    return c.json(toWebhook(await readWebhook(context, webhookId)), 200)
  })
  app.openapi(deleteRoute, async (c) => {
    const context = withReason(c.get('context'), c.req.valid('query').reason)
    await deleteWebhook(context, { webhookId: c.req.valid('param').id })
    return c.body(null, 204)
  })
  app.openapi(testRoute, async (c) => {
    const { deliveryId } = await sendTestEvent(c.get('context'), { webhookId: c.req.valid('param').id })
    return c.json({ delivery_id: deliveryId }, 202)
  })
}

/** The service checks everything but the type of the project. @throws RepriseError VALIDATION_FAILED */
function withProject(input: object): CreateWebhookInput {
  const { project = null } = input as { project?: unknown }
  if (project !== null && typeof project !== 'string') refuseInput([{ path: 'project', message: 'must be text' }])
  return input as CreateWebhookInput
}

/** The service checks everything but what it does not read. @throws RepriseError VALIDATION_FAILED */
function changeOf(input: object): object {
  const { enabled = null } = input as { enabled?: unknown }
  const unknown = Object.keys(input).filter((name) => !FIELDS_OF_CHANGE.has(name))
  const issues = unknown.map((path) => ({ path, message: 'Unknown field' }))
  if (enabled !== null && typeof enabled !== 'boolean')
    issues.push({ path: 'enabled', message: 'must be true or false' })
  if (issues.length > 0) refuseInput(issues)
  return input
}

function toWebhook(record: WebhookRecord): z.infer<typeof WebhookResource> {
  return {
    id: record.id,
    project: record.project?.name ?? null,
    url: record.url,
    description: record.description,
    event_types: record.eventTypes,
    chain_id: record.chainId,
    labels: toLabels(record.labels),
    skip_group_members: record.skipGroupMembers,
    enabled: record.enabled,
    disabled_reason: record.disabledReason,
    disabled_at: toTime(record.disabledAt),
    failing_since: toTime(record.failingSince),
    last_delivered_at: toTime(record.lastDeliveredAt),
    resting_until: toTime(record.restingUntil),
    previous_secret_expires_at: toTime(record.previousSecretExpiresAt),
    created_at: record.createdAt.toISOString(),
  }
}
