import { createWebhook } from '../../../services/create-webhook.ts'
import { deleteWebhook } from '../../../services/delete-webhook.ts'
import { updateWebhook } from '../../../services/update-webhook.ts'
import { builder } from '../../builder.ts'
import { ForbiddenError, NotFoundError, QuotaExceededError, ValidationError } from '../error/error.type.ts'
import { asResult, typeOf } from '../error/result.ts'
import { LabelInput } from '../session/pairs.inputs.ts'
import { webhookPayload, type WebhookPayload } from './webhook-payload.ts'

const EVENT_TYPES =
  'Names on the wire, like `session.retry_exhausted`; a `*` at the end stands for any rest: `session.retry_*`, `deployment.*`.'

const CreateWebhookInput = builder.inputType('CreateWebhookInput', {
  description: 'An endpoint, and of what it is to hear.',
  fields: (t) => ({
    url: t.string({
      required: true,
      description:
        'http:// or https://, with port 80, 443 or one above 1023. Private addresses are refused when it is sent to.',
    }),
    project: t.string({
      description:
        'Whose events. Without it: those of the project of the token; with a token for all projects, those of all.',
    }),
    eventTypes: t.stringList({ required: true, description: EVENT_TYPES }),
    description: t.string({ description: 'What it is for, for people.' }),
    chainId: t.field({ type: 'UUID', description: 'Of this chain alone.' }),
    labels: t.field({
      type: [LabelInput],
      description: 'Of sessions and deployments alone that have all of these labels.',
    }),
  }),
})

interface CreateShape extends WebhookPayload<'CreateWebhookPayload'> {
  secret: string
}

const CreateWebhookPayload = webhookPayload<CreateShape>('CreateWebhookPayload', 'A webhook that was created.')
builder.objectField(CreateWebhookPayload, 'secret', (t) =>
  t.exposeString('secret', { description: 'Requests are signed with it. Keep it: it is not shown again.' }),
)

const CreateWebhookResult = builder.unionType('CreateWebhookResult', {
  description: 'The webhook, or what the caller can mend.',
  types: [CreateWebhookPayload, ValidationError, NotFoundError, QuotaExceededError, ForbiddenError],
  resolveType: typeOf,
})

builder.mutationField('createWebhook', (t) =>
  t.field({
    type: CreateWebhookResult,
    description: 'Has events sent to an endpoint from now on.',
    args: { input: t.arg({ type: CreateWebhookInput, required: true, description: 'Where, and what.' }) },
    resolve: (_root, { input }, context) =>
      asResult(async () => ({ __typename: 'CreateWebhookPayload' as const, ...(await createWebhook(context, input)) })),
  }),
)

const UpdateWebhookInput = builder.inputType('UpdateWebhookInput', {
  description: 'What to change. What is not given stays as it is.',
  fields: (t) => ({
    webhookId: t.field({ type: 'UUID', required: true, description: 'Which.' }),
    url: t.string({ description: 'Where events are sent; what waits goes there, too.' }),
    eventTypes: t.stringList({ description: EVENT_TYPES }),
    description: t.string({ description: 'What it is for. Null clears it.' }),
    chainId: t.field({ type: 'UUID', description: 'Of this chain alone. Null: of all.' }),
    labels: t.field({
      type: [LabelInput],
      description: 'Of sessions and deployments alone that have all of these. Null: of all.',
    }),
    enabled: t.boolean({
      description:
        'While it is not, nothing is sent to it and nothing new is kept for it. What waited goes on when it is again; `replayWebhook` brings the rest.',
    }),
  }),
})

type UpdateShape = WebhookPayload<'UpdateWebhookPayload'>

const UpdateWebhookPayload = webhookPayload<UpdateShape>('UpdateWebhookPayload', 'A webhook that was changed.')

const UpdateWebhookResult = builder.unionType('UpdateWebhookResult', {
  description: 'The webhook, or what the caller can mend.',
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
    description: 'A webhook that is no more.',
    fields: (t) => ({ webhookId: t.expose('webhookId', { type: 'UUID', description: 'The id that it had.' }) }),
  })

const DeleteWebhookResult = builder.unionType('DeleteWebhookResult', {
  description: 'Which webhook was deleted, or what the caller can mend.',
  types: [DeleteWebhookPayload, NotFoundError, ForbiddenError],
  resolveType: typeOf,
})

builder.mutationField('deleteWebhook', (t) =>
  t.field({
    type: DeleteWebhookResult,
    description: 'Deletes a webhook with its deliveries, also those that wait.',
    args: { input: t.arg({ type: DeleteWebhookInput, required: true, description: 'Which.' }) },
    resolve: (_root, { input }, context) =>
      asResult(async () => ({ __typename: 'DeleteWebhookPayload' as const, ...(await deleteWebhook(context, input)) })),
  }),
)
