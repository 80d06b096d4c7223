import { replayDelivery, replayWebhook } from '../../../services/webhook/replay-webhook.ts'
import { sendTestEvent } from '../../../services/webhook/send-test-event.ts'
import { builder } from '../../builder.ts'
import { asResult, ForbiddenError, InvalidStateError, NotFoundError, typeOf, ValidationError } from '../error.types.ts'
import { deliveryPayload, type DeliveryPayload, webhookPayload, type WebhookPayload } from './webhook-payload.ts'

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
