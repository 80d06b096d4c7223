import { rotateWebhookSecret } from '../../../services/webhook/rotate-webhook-secret.ts'
import { builder } from '../../builder.ts'
import { asResult, ForbiddenError, NotFoundError, typeOf, ValidationError } from '../error.types.ts'
import { webhookPayload, type WebhookPayload } from './webhook-payload.ts'

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
