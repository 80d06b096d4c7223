import { encodeGlobalID } from '@pothos/plugin-relay'
import type { Prisma } from '../../../generated/prisma/client.ts'
import { projectScope } from '../../../services/access/tenants.ts'
import { ID_PREFIX_WORDS, idsBeginningWith } from '../../../services/input/input-fields.ts'
import { keysetPage, NEWEST_FIRST } from '../../../services/paging.ts'
import { createWebhook, deleteWebhook, rotateWebhookSecret, updateWebhook } from '../../../services/webhook/webhooks.ts'
import { replayDelivery, replayWebhook, sendTestEvent } from '../../../services/webhook/webhook-deliveries.ts'
import { builder } from '../../builder.ts'
import { stillThere } from '../../loaders/load-session.ts'
import { edgeQuery, pageComplexity } from '../../paging.ts'
import {
  ForbiddenError,
  InvalidStateError,
  NotFoundError,
  QuotaExceededError,
  ValidationError,
} from '../error.types.ts'
import { mutation } from '../mutation.ts'
import {
  CreateWebhookInput,
  DeleteWebhookInput,
  ReplayDeliveryInput,
  ReplayWebhookInput,
  RotateWebhookSecretInput,
  SendTestEventInput,
  UpdateWebhookInput,
} from './webhook.inputs.ts'
import { WebhookDeliveryNode, WebhookDeliveryStatusEnum, WebhookNode } from './webhook.types.ts'

function webhookPayload<Extra extends object = object>(name: string, description: string) {
  const payload = builder.objectRef<{ webhookId: string } & Extra>(name).implement({ description })
  builder.objectField(payload, 'webhook', (t) =>
    t.prismaField({
      type: WebhookNode,
      description: 'The webhook after the change.',
      resolve: (query, { webhookId }: { webhookId: string }, _args, { services, viewer }) =>
        stillThere(
          services.prisma.webhook.findFirst({ ...query, where: { id: webhookId, ...projectScope(viewer) } }),
          'WEBHOOK_NOT_FOUND',
        ),
    }),
  )
  return payload
}

function deliveryPayload(name: string, description: string) {
  const payload = builder.objectRef<{ deliveryId: string }>(name).implement({ description })
  builder.objectField(payload, 'delivery', (t) =>
    t.prismaField({
      type: WebhookDeliveryNode,
      description: 'The delivery after the change.',
      resolve: (query, { deliveryId }, _args, { services, viewer }) =>
        stillThere(
          services.prisma.webhookDelivery.findFirst({
            ...query,
            where: { id: deliveryId, webhook: projectScope(viewer) },
          }),
          'WEBHOOK_DELIVERY_NOT_FOUND',
        ),
    }),
  )
  return payload
}

builder.queryField('webhook', (t) =>
  t.prismaField({
    type: WebhookNode,
    nullable: true,
    description: 'One webhook; null if there is none that you may see.',
    args: { id: t.arg({ type: 'UUID', required: true, description: 'Its `webhookId`.' }) },
    resolve: (query, _root, { id }, { services, viewer }) =>
      services.prisma.webhook.findFirst({ ...query, where: { id, ...projectScope(viewer) } }),
  }),
)

builder.queryField('webhooks', (t) =>
  t.connection(
    {
      type: WebhookNode,
      description: "The webhooks of the token's project, or all; newest first.",
      args: {
        project: t.arg.string({ description: 'Only webhooks of the project with this name.' }),
        enabled: t.arg.boolean({ description: 'True: only enabled webhooks; false: only disabled ones.' }),
        idPrefix: t.arg.string({ description: ID_PREFIX_WORDS }),
      },
      complexity: pageComplexity,
      resolve: (_root, { project, enabled, idPrefix, ...args }, context, info) => {
        const { prisma } = context.services
        const wanted: Prisma.WebhookWhereInput = {
          ...projectScope(context.viewer),
          ...(project != null && { project: { name: project } }),
          ...(enabled != null && { enabled }),
          ...(idPrefix != null && { id: idsBeginningWith(idPrefix, 'idPrefix') }),
        }
        const query = edgeQuery({ context, info, typeName: 'Webhook', order: NEWEST_FIRST })
        return keysetPage({
          args,
          order: NEWEST_FIRST,
          find: ({ where, ...page }) => prisma.webhook.findMany({ ...query, ...page, where: { AND: [wanted, where] } }),
          count: () => prisma.webhook.count({ where: wanted }),
        })
      },
    },
    { name: 'WebhookConnection', description: 'A page of webhooks.' },
    { name: 'WebhookEdge', description: 'One webhook with its cursor.' },
  ),
)

builder.queryField('webhookDeliveries', (t) =>
  t.connection(
    {
      type: WebhookDeliveryNode,
      description: 'Deliveries of one webhook in the last 14 days, newest first.',
      args: {
        webhookId: t.arg({ type: 'UUID', required: true, description: 'Id of the webhook.' }),
        status: t.arg({
          type: [WebhookDeliveryStatusEnum],
          description: 'Only deliveries with one of these statuses.',
        }),
        idPrefix: t.arg.string({ description: ID_PREFIX_WORDS }),
      },
      complexity: pageComplexity,
      resolve: (_root, { webhookId, status, idPrefix, ...args }, context, info) => {
        const { prisma } = context.services
        const wanted: Prisma.WebhookDeliveryWhereInput = {
          webhookId,
          webhook: projectScope(context.viewer),
          ...(status && { status: { in: status } }),
          ...(idPrefix != null && { id: idsBeginningWith(idPrefix, 'idPrefix') }),
        }
        const query = edgeQuery({ context, info, typeName: 'WebhookDelivery', order: NEWEST_FIRST })
        return keysetPage({
          args,
          order: NEWEST_FIRST,
          find: ({ where, ...page }) =>
            prisma.webhookDelivery.findMany({ ...query, ...page, where: { AND: [wanted, where] } }),
          count: () => prisma.webhookDelivery.count({ where: wanted }),
        })
      },
    },
    { name: 'WebhookDeliveryConnection', description: 'A page of deliveries.' },
    { name: 'WebhookDeliveryEdge', description: 'One delivery with its cursor.' },
  ),
)

const CreateWebhookPayload = webhookPayload<{ secret: string }>('CreateWebhookPayload', 'A webhook that was created.')
builder.objectField(CreateWebhookPayload, 'secret', (t) =>
  t.exposeString('secret', { description: 'The secret that signs requests. Store it: it is not shown again.' }),
)

mutation({
  name: 'createWebhook',
  description: 'Creates a webhook, which sends events to an endpoint from now on.',
  input: CreateWebhookInput,
  inputDescription: 'The webhook to create.',
  payload: CreateWebhookPayload,
  errors: [ValidationError, NotFoundError, QuotaExceededError, ForbiddenError],
  result: 'The webhook',
  run: createWebhook,
})

mutation({
  name: 'updateWebhook',
  description: 'Changes a webhook, enables or disables it.',
  input: UpdateWebhookInput,
  inputDescription: 'The webhook, and the changes.',
  payload: webhookPayload('UpdateWebhookPayload', 'A webhook that was changed.'),
  errors: [ValidationError, NotFoundError, ForbiddenError],
  result: 'The webhook',
  repeatable: true,
  run: updateWebhook,
})

const DeleteWebhookPayload = builder.objectRef<{ webhookId: string }>('DeleteWebhookPayload').implement({
  description: 'A deleted webhook.',
  fields: (t) => ({
    webhookId: t.expose('webhookId', { type: 'UUID', description: 'Its id.' }),
    deletedId: t.id({
      description: 'Its global id, for caches.',
      resolve: ({ webhookId }) => encodeGlobalID('Webhook', webhookId),
    }),
  }),
})

mutation({
  name: 'deleteWebhook',
  description: 'Deletes a webhook with its deliveries, including waiting ones.',
  input: DeleteWebhookInput,
  inputDescription: 'The webhook to delete.',
  payload: DeleteWebhookPayload,
  errors: [NotFoundError, ForbiddenError],
  result: 'The deleted webhook',
  run: deleteWebhook,
})

const RotateWebhookSecretPayload = webhookPayload<{ secret: string }>(
  'RotateWebhookSecretPayload',
  'A webhook with a new secret.',
)
builder.objectField(RotateWebhookSecretPayload, 'secret', (t) =>
  t.exposeString('secret', { description: 'The new secret. Store it: it is not shown again.' }),
)

mutation({
  name: 'rotateWebhookSecret',
  description:
    'Replaces the secret of a webhook. For a while requests have signatures with both secrets, so that the receiver can change over.',
  input: RotateWebhookSecretInput,
  inputDescription: 'The webhook whose secret is replaced.',
  payload: RotateWebhookSecretPayload,
  errors: [ValidationError, NotFoundError, ForbiddenError],
  result: 'The new secret',
  run: rotateWebhookSecret,
})

mutation({
  name: 'sendTestEvent',
  description: 'Sends a `webhook.test` event once, without retries. Its delivery has the outcome.',
  input: SendTestEventInput,
  inputDescription: 'The webhook to test.',
  payload: deliveryPayload('SendTestEventPayload', 'A delivery of a test event.'),
  errors: [NotFoundError, InvalidStateError, ForbiddenError],
  result: 'The delivery',
  repeatable: true,
  run: sendTestEvent,
})

mutation({
  name: 'replayDelivery',
  description: 'Repeats a delivery at once, with new attempts if it fails, under the same `webhook-id`.',
  input: ReplayDeliveryInput,
  inputDescription: 'The delivery to repeat.',
  payload: deliveryPayload('ReplayDeliveryPayload', 'A repeated delivery.'),
  errors: [NotFoundError, InvalidStateError, ForbiddenError],
  result: 'The delivery',
  repeatable: true,
  run: replayDelivery,
})

const ReplayWebhookPayload = webhookPayload<{ replayed: number; more: boolean }>(
  'ReplayWebhookPayload',
  'The number of deliveries that are sent again.',
)
builder.objectField(ReplayWebhookPayload, 'replayed', (t) =>
  t.exposeInt('replayed', { description: 'Number of deliveries, at most 10000 for each call.' }),
)
builder.objectField(ReplayWebhookPayload, 'more', (t) =>
  t.exposeBoolean('more', { description: 'Whether there may be more; repeat the call to send them.' }),
)

mutation({
  name: 'replayWebhook',
  description:
    'Sends the events that an endpoint has missed: failed deliveries, and events that happened while it was disabled.',
  input: ReplayWebhookInput,
  inputDescription: 'The webhook, and the start time.',
  payload: ReplayWebhookPayload,
  errors: [ValidationError, NotFoundError, InvalidStateError, ForbiddenError],
  result: 'The number of deliveries',
  repeatable: true,
  run: replayWebhook,
})
