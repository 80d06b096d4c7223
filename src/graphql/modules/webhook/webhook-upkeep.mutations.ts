import { replayDelivery } from '../../../services/replay-delivery.ts'
import { replayWebhook } from '../../../services/replay-webhook.ts'
import { rotateWebhookSecret } from '../../../services/rotate-webhook-secret.ts'
import { sendTestEvent } from '../../../services/send-test-event.ts'
import { builder } from '../../builder.ts'
import { ForbiddenError, InvalidStateError, NotFoundError, ValidationError } from '../error/error.type.ts'
import { asResult, typeOf } from '../error/result.ts'
import { deliveryPayload, webhookPayload, type DeliveryPayload, type WebhookPayload } from './webhook-payload.ts'

const RotateWebhookSecretInput = builder.inputType('RotateWebhookSecretInput', {
  description: 'Which secret to replace.',
  fields: (t) => ({
    webhookId: t.field({ type: 'UUID', required: true, description: 'Of which webhook.' }),
    overlapSeconds: t.int({
      description:
        'For how long requests are signed with the old one, too: a day where it is not given, at most 7 days.',
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
  t.exposeString('secret', { description: 'The new one. Keep it: it is not shown again.' }),
)

const RotateWebhookSecretResult = builder.unionType('RotateWebhookSecretResult', {
  description: 'The new secret, or what the caller can mend.',
  types: [RotateWebhookSecretPayload, ValidationError, NotFoundError, ForbiddenError],
  resolveType: typeOf,
})

builder.mutationField('rotateWebhookSecret', (t) =>
  t.field({
    type: RotateWebhookSecretResult,
    description: 'Makes a new secret. For a while requests carry two signatures, so that the receiver can change over.',
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
  description: 'The delivery, or what the caller can mend.',
  types: [SendTestEventPayload, NotFoundError, InvalidStateError, ForbiddenError],
  resolveType: typeOf,
})

builder.mutationField('sendTestEvent', (t) =>
  t.field({
    type: SendTestEventResult,
    description: 'Sends an event `webhook.test`, once. What came of it shows in its delivery.',
    args: { input: t.arg({ type: SendTestEventInput, required: true, description: 'Which.' }) },
    resolve: (_root, { input }, context) =>
      asResult(async () => ({ __typename: 'SendTestEventPayload' as const, ...(await sendTestEvent(context, input)) })),
  }),
)

const ReplayDeliveryInput = builder.inputType('ReplayDeliveryInput', {
  description: 'Which delivery to make again.',
  fields: (t) => ({ deliveryId: t.field({ type: 'UUID', required: true, description: 'Which.' }) }),
})

const ReplayDeliveryPayload = deliveryPayload<DeliveryPayload<'ReplayDeliveryPayload'>>(
  'ReplayDeliveryPayload',
  'A delivery that is made again.',
)

const ReplayDeliveryResult = builder.unionType('ReplayDeliveryResult', {
  description: 'The delivery, or what the caller can mend.',
  types: [ReplayDeliveryPayload, NotFoundError, InvalidStateError, ForbiddenError],
  resolveType: typeOf,
})

builder.mutationField('replayDelivery', (t) =>
  t.field({
    type: ReplayDeliveryResult,
    description: 'Makes a delivery again, at once and with a new schedule, under the same `webhook-id`.',
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
  t.exposeBoolean('more', { description: 'Whether there may be more: the same call brings them.' }),
)

const ReplayWebhookResult = builder.unionType('ReplayWebhookResult', {
  description: 'How much is sent again, or what the caller can mend.',
  types: [ReplayWebhookPayload, ValidationError, NotFoundError, InvalidStateError, ForbiddenError],
  resolveType: typeOf,
})

builder.mutationField('replayWebhook', (t) =>
  t.field({
    type: ReplayWebhookResult,
    description:
      'Sends what the endpoint should have had and has not: what failed, and what happened while it was disabled.',
    args: { input: t.arg({ type: ReplayWebhookInput, required: true, description: 'To which, since when.' }) },
    resolve: (_root, { input }, context) =>
      asResult(async () => ({ __typename: 'ReplayWebhookPayload' as const, ...(await replayWebhook(context, input)) })),
  }),
)
