import { builder } from '../../builder.ts'
import { LabelInput } from '../session/values.types.ts'

const EVENT_TYPES =
  'Event names like `session.retry_exhausted`; a `*` at the end matches any rest: `session.retry_*`, `deployment.*`.'

export const CreateWebhookInput = builder.inputType('CreateWebhookInput', {
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

export const UpdateWebhookInput = builder.inputType('UpdateWebhookInput', {
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

export const DeleteWebhookInput = builder.inputType('DeleteWebhookInput', {
  description: 'Which webhook to delete.',
  fields: (t) => ({ webhookId: t.field({ type: 'UUID', required: true, description: 'Which.' }) }),
})

export const RotateWebhookSecretInput = builder.inputType('RotateWebhookSecretInput', {
  description: 'Which secret to replace.',
  fields: (t) => ({
    webhookId: t.field({ type: 'UUID', required: true, description: 'Of which webhook.' }),
    overlapSeconds: t.int({
      description: 'For how long requests are also signed with the old secret: a day by default, at most 7 days.',
    }),
  }),
})

export const SendTestEventInput = builder.inputType('SendTestEventInput', {
  description: 'Which webhook to test.',
  fields: (t) => ({ webhookId: t.field({ type: 'UUID', required: true, description: 'Which.' }) }),
})

export const ReplayDeliveryInput = builder.inputType('ReplayDeliveryInput', {
  description: 'The delivery to repeat.',
  fields: (t) => ({ deliveryId: t.field({ type: 'UUID', required: true, description: 'Which.' }) }),
})

export const ReplayWebhookInput = builder.inputType('ReplayWebhookInput', {
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
