import { builder } from '../../builder.ts'
import { stillThere } from '../../loaders/load-session.ts'
import { projectScope } from '../../../services/access/tenant-scope.ts'
import { WebhookDeliveryNode, WebhookDeliveryStatusEnum, WebhookNode } from './webhook.types.ts'
import type { Prisma } from '../../../generated/prisma/client.ts'
import { edgeQuery, pageComplexity } from '../../paging.ts'
import { ID_PREFIX_WORDS, idsBeginningWith } from '../../../services/input/id-prefix.ts'
import { keysetPage } from '../../../services/paging/keyset.ts'
import { NEWEST_FIRST } from '../../../services/paging/orders.ts'
import { encodeGlobalID } from '@pothos/plugin-relay'
import { createWebhook } from '../../../services/webhook/create-webhook.ts'
import { deleteWebhook } from '../../../services/webhook/delete-webhook.ts'
import { updateWebhook } from '../../../services/webhook/update-webhook.ts'
import {
  asResult,
  ForbiddenError,
  InvalidStateError,
  NotFoundError,
  QuotaExceededError,
  typeOf,
  ValidationError,
} from '../error.types.ts'
import { LabelInput } from '../session/values.types.ts'
import { rotateWebhookSecret } from '../../../services/webhook/rotate-webhook-secret.ts'
import { replayDelivery, replayWebhook } from '../../../services/webhook/replay-webhook.ts'
import { sendTestEvent } from '../../../services/webhook/send-test-event.ts'

/** Payloads whose subject is read after the commit, in one read shaped by the selection. */

interface WebhookPayload<Name extends string = string> {
  __typename: Name
  webhookId: string
}

function webhookPayload<Shape extends WebhookPayload>(name: Shape['__typename'], description: string) {
  const payload = builder.objectRef<Shape>(name).implement({ description })
  builder.objectField(payload, 'webhook', (t) =>
    t.prismaField({
      type: WebhookNode,
      description: 'The webhook, as it is now.',
      resolve: (query, { webhookId }: WebhookPayload, _args, { services, viewer }) =>
        stillThere(
          services.prisma.webhook.findFirst({ ...query, where: { id: webhookId, ...projectScope(viewer) } }),
          'WEBHOOK_NOT_FOUND',
        ),
    }),
  )
  return payload
}

interface DeliveryPayload<Name extends string = string> {
  __typename: Name
  deliveryId: string
}

function deliveryPayload<Shape extends DeliveryPayload>(name: Shape['__typename'], description: string) {
  const payload = builder.objectRef<Shape>(name).implement({ description })
  builder.objectField(payload, 'delivery', (t) =>
    t.prismaField({
      type: WebhookDeliveryNode,
      description: 'The delivery, as it is now.',
      resolve: (query, { deliveryId }: DeliveryPayload, _args, { services, viewer }) =>
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

builder.queryField('webhooks', (t) =>
  t.connection(
    {
      type: WebhookNode,
      description: "The webhooks of the token's project, or all; newest first.",
      args: {
        project: t.arg.string({ description: 'Those of the project of this name.' }),
        enabled: t.arg.boolean({ description: 'Enabled ones, or disabled ones.' }),
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
    { name: 'WebhookEdge', description: 'One webhook and its place.' },
  ),
)

builder.queryField('webhookDeliveries', (t) =>
  t.connection(
    {
      type: WebhookDeliveryNode,
      description: 'Deliveries of one webhook in the last 14 days, newest first.',
      args: {
        webhookId: t.arg({ type: 'UUID', required: true, description: 'Which webhook.' }),
        status: t.arg({ type: [WebhookDeliveryStatusEnum], description: 'With one of these statuses.' }),
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
    { name: 'WebhookDeliveryEdge', description: 'One delivery and its place.' },
  ),
)

const EVENT_TYPES =
  'Event names like `session.retry_exhausted`; a `*` at the end matches any rest: `session.retry_*`, `deployment.*`.'

const CreateWebhookInput = builder.inputType('CreateWebhookInput', {
  description: 'An endpoint, and the events to send to it.',
  fields: (t) => ({
    url: t.string({
      required: true,
      description:
        'http:// or https://, with port 80, 443 or one above 1023. Private addresses are refused when it is sent to.',
    }),
    project: t.string({
      description:
        "Project whose events to send. By default the token's project, or all projects if the token is for all.",
    }),
    eventTypes: t.stringList({ required: true, description: EVENT_TYPES }),
    description: t.string({ description: 'Description, for people.' }),
    chainId: t.field({ type: 'UUID', description: 'Only events of this chain.' }),
    labels: t.field({
      type: [LabelInput],
      description: 'Only events of sessions and deployments that have all of these labels.',
    }),
  }),
})

interface CreateShape extends WebhookPayload<'CreateWebhookPayload'> {
  secret: string
}

const CreateWebhookPayload = webhookPayload<CreateShape>('CreateWebhookPayload', 'A webhook that was created.')
builder.objectField(CreateWebhookPayload, 'secret', (t) =>
  t.exposeString('secret', { description: 'Secret with which requests are signed. Store it: it is not shown again.' }),
)

const CreateWebhookResult = builder.unionType('CreateWebhookResult', {
  description: 'The webhook, or an error that the caller can correct.',
  types: [CreateWebhookPayload, ValidationError, NotFoundError, QuotaExceededError, ForbiddenError],
  resolveType: typeOf,
})

builder.mutationField('createWebhook', (t) =>
  t.field({
    type: CreateWebhookResult,
    description: 'Sends events to an endpoint from now on.',
    args: { input: t.arg({ type: CreateWebhookInput, required: true, description: 'Where, and what.' }) },
    resolve: (_root, { input }, context) =>
      asResult(async () => ({ __typename: 'CreateWebhookPayload' as const, ...(await createWebhook(context, input)) })),
  }),
)

const UpdateWebhookInput = builder.inputType('UpdateWebhookInput', {
  description: 'What to change. Missing fields stay as they are.',
  fields: (t) => ({
    webhookId: t.field({ type: 'UUID', required: true, description: 'Which.' }),
    url: t.string({ description: 'The endpoint; waiting deliveries go there, too.' }),
    eventTypes: t.stringList({ description: EVENT_TYPES }),
    description: t.string({ description: 'What it is for. Null clears it.' }),
    chainId: t.field({ type: 'UUID', description: 'Only events of this chain. Null: of all chains.' }),
    labels: t.field({
      type: [LabelInput],
      description: 'Only events of sessions and deployments that have all of these labels. Null: of all.',
    }),
    enabled: t.boolean({
      description:
        'While it is disabled, nothing is sent and no new deliveries are stored. Waiting deliveries continue when it is enabled again; `replayWebhook` sends the rest.',
    }),
  }),
})

type UpdateShape = WebhookPayload<'UpdateWebhookPayload'>

const UpdateWebhookPayload = webhookPayload<UpdateShape>('UpdateWebhookPayload', 'A webhook that was changed.')

const UpdateWebhookResult = builder.unionType('UpdateWebhookResult', {
  description: 'The webhook, or an error that the caller can correct.',
  types: [UpdateWebhookPayload, ValidationError, NotFoundError, ForbiddenError],
  resolveType: typeOf,
})

builder.mutationField('updateWebhook', (t) =>
  t.field({
    type: UpdateWebhookResult,
    description: 'Changes a webhook, enables or disables it.',
    args: { input: t.arg({ type: UpdateWebhookInput, required: true, description: 'Which, and what.' }) },
    resolve: (_root, { input }, context) =>
      asResult(async () => ({ __typename: 'UpdateWebhookPayload' as const, ...(await updateWebhook(context, input)) })),
  }),
)

const DeleteWebhookInput = builder.inputType('DeleteWebhookInput', {
  description: 'Which webhook to delete.',
  fields: (t) => ({ webhookId: t.field({ type: 'UUID', required: true, description: 'Which.' }) }),
})

const DeleteWebhookPayload = builder
  .objectRef<WebhookPayload<'DeleteWebhookPayload'>>('DeleteWebhookPayload')
  .implement({
    description: 'A deleted webhook.',
    fields: (t) => ({
      webhookId: t.expose('webhookId', { type: 'UUID', description: 'The id that it had.' }),
      deletedId: t.id({
        description: 'The global id that it had, for caches.',
        resolve: ({ webhookId }) => encodeGlobalID('Webhook', webhookId),
      }),
    }),
  })

const DeleteWebhookResult = builder.unionType('DeleteWebhookResult', {
  description: 'The deleted webhook, or an error that the caller can correct.',
  types: [DeleteWebhookPayload, NotFoundError, ForbiddenError],
  resolveType: typeOf,
})

builder.mutationField('deleteWebhook', (t) =>
  t.field({
    type: DeleteWebhookResult,
    description: 'Deletes a webhook with its deliveries, including waiting ones.',
    args: { input: t.arg({ type: DeleteWebhookInput, required: true, description: 'Which.' }) },
    resolve: (_root, { input }, context) =>
      asResult(async () => ({ __typename: 'DeleteWebhookPayload' as const, ...(await deleteWebhook(context, input)) })),
  }),
)

const RotateWebhookSecretInput = builder.inputType('RotateWebhookSecretInput', {
  description: 'Which secret to replace.',
  fields: (t) => ({
    webhookId: t.field({ type: 'UUID', required: true, description: 'Of which webhook.' }),
    overlapSeconds: t.int({
      description: 'For how long requests are also signed with the old secret: a day by default, at most 7 days.',
    }),
  }),
})

interface RotateShape extends WebhookPayload<'RotateWebhookSecretPayload'> {
  secret: string
}

const RotateWebhookSecretPayload = webhookPayload<RotateShape>(
  'RotateWebhookSecretPayload',
  'A webhook with a new secret.',
)
builder.objectField(RotateWebhookSecretPayload, 'secret', (t) =>
  t.exposeString('secret', { description: 'The new secret. Store it: it is not shown again.' }),
)

const RotateWebhookSecretResult = builder.unionType('RotateWebhookSecretResult', {
  description: 'The new secret, or an error that the caller can correct.',
  types: [RotateWebhookSecretPayload, ValidationError, NotFoundError, ForbiddenError],
  resolveType: typeOf,
})

builder.mutationField('rotateWebhookSecret', (t) =>
  t.field({
    type: RotateWebhookSecretResult,
    description:
      'Creates a new secret. For a while requests carry both signatures, so that the receiver can switch over.',
    args: { input: t.arg({ type: RotateWebhookSecretInput, required: true, description: 'Which.' }) },
    resolve: (_root, { input }, context) =>
      asResult(async () => ({
        __typename: 'RotateWebhookSecretPayload' as const,
        ...(await rotateWebhookSecret(context, input)),
      })),
  }),
)

const SendTestEventInput = builder.inputType('SendTestEventInput', {
  description: 'Which webhook to test.',
  fields: (t) => ({ webhookId: t.field({ type: 'UUID', required: true, description: 'Which.' }) }),
})

const SendTestEventPayload = deliveryPayload<DeliveryPayload<'SendTestEventPayload'>>(
  'SendTestEventPayload',
  'A delivery of a test event.',
)

const SendTestEventResult = builder.unionType('SendTestEventResult', {
  description: 'The delivery, or an error that the caller can correct.',
  types: [SendTestEventPayload, NotFoundError, InvalidStateError, ForbiddenError],
  resolveType: typeOf,
})

builder.mutationField('sendTestEvent', (t) =>
  t.field({
    type: SendTestEventResult,
    description: 'Sends a `webhook.test` event, once. Its delivery shows the outcome.',
    args: { input: t.arg({ type: SendTestEventInput, required: true, description: 'Which.' }) },
    resolve: (_root, { input }, context) =>
      asResult(async () => ({ __typename: 'SendTestEventPayload' as const, ...(await sendTestEvent(context, input)) })),
  }),
)

const ReplayDeliveryInput = builder.inputType('ReplayDeliveryInput', {
  description: 'The delivery to repeat.',
  fields: (t) => ({ deliveryId: t.field({ type: 'UUID', required: true, description: 'Which.' }) }),
})

const ReplayDeliveryPayload = deliveryPayload<DeliveryPayload<'ReplayDeliveryPayload'>>(
  'ReplayDeliveryPayload',
  'A repeated delivery.',
)

const ReplayDeliveryResult = builder.unionType('ReplayDeliveryResult', {
  description: 'The delivery, or an error that the caller can correct.',
  types: [ReplayDeliveryPayload, NotFoundError, InvalidStateError, ForbiddenError],
  resolveType: typeOf,
})

builder.mutationField('replayDelivery', (t) =>
  t.field({
    type: ReplayDeliveryResult,
    description: 'Repeats a delivery at once, with a new schedule, under the same `webhook-id`.',
    args: { input: t.arg({ type: ReplayDeliveryInput, required: true, description: 'Which.' }) },
    resolve: (_root, { input }, context) =>
      asResult(async () => ({
        __typename: 'ReplayDeliveryPayload' as const,
        ...(await replayDelivery(context, input)),
      })),
  }),
)

const ReplayWebhookInput = builder.inputType('ReplayWebhookInput', {
  description: 'What to send again.',
  fields: (t) => ({
    webhookId: t.field({ type: 'UUID', required: true, description: 'To which webhook.' }),
    since: t.field({
      type: 'DateTime',
      required: true,
      description: 'Events from this moment on; at most 14 days ago.',
    }),
  }),
})

interface ReplayShape extends WebhookPayload<'ReplayWebhookPayload'> {
  replayed: number
  more: boolean
}

const ReplayWebhookPayload = webhookPayload<ReplayShape>('ReplayWebhookPayload', 'What is sent again.')
builder.objectField(ReplayWebhookPayload, 'replayed', (t) =>
  t.exposeInt('replayed', { description: 'How many deliveries; at most 10000 at once.' }),
)
builder.objectField(ReplayWebhookPayload, 'more', (t) =>
  t.exposeBoolean('more', { description: 'Whether there may be more; repeat the call to send them.' }),
)

const ReplayWebhookResult = builder.unionType('ReplayWebhookResult', {
  description: 'How much is sent again, or an error that the caller can correct.',
  types: [ReplayWebhookPayload, ValidationError, NotFoundError, InvalidStateError, ForbiddenError],
  resolveType: typeOf,
})

builder.mutationField('replayWebhook', (t) =>
  t.field({
    type: ReplayWebhookResult,
    description:
      'Sends what the endpoint has missed: failed deliveries, and events that happened while it was disabled.',
    args: { input: t.arg({ type: ReplayWebhookInput, required: true, description: 'To which, since when.' }) },
    resolve: (_root, { input }, context) =>
      asResult(async () => ({ __typename: 'ReplayWebhookPayload' as const, ...(await replayWebhook(context, input)) })),
  }),
)
