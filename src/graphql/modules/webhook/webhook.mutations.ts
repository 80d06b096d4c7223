import { encodeGlobalID } from '@pothos/plugin-relay'
import { createWebhook } from '../../../services/webhook/create-webhook.ts'
import { deleteWebhook } from '../../../services/webhook/delete-webhook.ts'
import { updateWebhook } from '../../../services/webhook/update-webhook.ts'
import { builder } from '../../builder.ts'
import { asResult, ForbiddenError, NotFoundError, QuotaExceededError, typeOf, ValidationError } from '../error.types.ts'
import { LabelInput } from '../session/values.types.ts'
import { webhookPayload, type WebhookPayload } from './webhook-payload.ts'

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
