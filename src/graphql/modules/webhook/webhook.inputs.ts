import { builder } from '../../builder.ts'
import { LabelInput } from '../session/values.types.ts'
import { reasonField, repeatableFields } from '../mutation.ts'

const EVENT_TYPES =
  'Event names such as `session.retry_exhausted`. A `*` at the end matches any ending: `session.retry_*`, `deployment.*`.'

export const CreateWebhookInput = builder.inputType('CreateWebhookInput', {
  description: 'A webhook: an endpoint, and the events to send to it.',
  fields: (t) => ({
    url: t.string({
      required: true,
      description:
        'URL of the endpoint: http:// or https://, with port 80, 443 or one above 1023. Deliveries to private addresses are refused.',
    }),
    project: t.string({
      description:
        "Name of the project whose events are sent. By default the token's project, or all projects if the token has none.",
    }),
    eventTypes: t.stringList({ required: true, description: EVENT_TYPES }),
    description: t.string({ description: 'Description, for people.' }),
    chainId: t.field({ type: 'UUID', description: 'Only events of this chain.' }),
    labels: t.field({
      type: [LabelInput],
      description: 'Only events of sessions and deployments that have all of these labels.',
    }),
    skipGroupMembers: t.boolean({
      description:
        'True: no events of sessions whose chain is a member of a group, only `group.ended` for all of them.',
    }),
    ...reasonField(t),
  }),
})

export const UpdateWebhookInput = builder.inputType('UpdateWebhookInput', {
  description: 'Changes of a webhook. Missing fields stay as they are.',
  fields: (t) => ({
    webhookId: t.field({ type: 'UUID', required: true, description: 'Id of the webhook.' }),
    url: t.string({ description: 'URL of the endpoint; waiting deliveries are sent there, too.' }),
    eventTypes: t.stringList({ description: EVENT_TYPES }),
    description: t.string({ description: 'Description, for people. Null removes it.' }),
    chainId: t.field({ type: 'UUID', description: 'Only events of this chain. Null means all chains.' }),
    labels: t.field({
      type: [LabelInput],
      description: 'Only events of sessions and deployments that have all of these labels. Null means all.',
    }),
    skipGroupMembers: t.boolean({
      description:
        'True: no events of sessions whose chain is a member of a group, only `group.ended` for all of them.',
    }),
    enabled: t.boolean({
      description:
        'False disables it: nothing is sent and no new deliveries are stored. Waiting deliveries continue when it is enabled again; `replayWebhook` sends the events that it missed.',
    }),
    ...repeatableFields(t),
  }),
})

export const DeleteWebhookInput = builder.inputType('DeleteWebhookInput', {
  description: 'The webhook to delete.',
  fields: (t) => ({
    webhookId: t.field({ type: 'UUID', required: true, description: 'Id of the webhook.' }),
    ...reasonField(t),
  }),
})

export const RotateWebhookSecretInput = builder.inputType('RotateWebhookSecretInput', {
  description: 'The webhook whose secret is replaced.',
  fields: (t) => ({
    webhookId: t.field({ type: 'UUID', required: true, description: 'Id of the webhook.' }),
    overlapSeconds: t.int({
      description: 'Seconds for which requests are also signed with the old secret: a day by default, at most 7 days.',
    }),
    ...reasonField(t),
  }),
})

export const SendTestEventInput = builder.inputType('SendTestEventInput', {
  description: 'The webhook to test.',
  fields: (t) => ({
    webhookId: t.field({ type: 'UUID', required: true, description: 'Id of the webhook.' }),
    ...repeatableFields(t),
  }),
})

export const ReplayDeliveryInput = builder.inputType('ReplayDeliveryInput', {
  description: 'The delivery to repeat.',
  fields: (t) => ({
    deliveryId: t.field({ type: 'UUID', required: true, description: 'Id of the delivery.' }),
    ...repeatableFields(t),
  }),
})

export const ReplayWebhookInput = builder.inputType('ReplayWebhookInput', {
  description: 'The events to send again.',
  fields: (t) => ({
    webhookId: t.field({ type: 'UUID', required: true, description: 'Id of the webhook.' }),
    since: t.field({
      type: 'DateTime',
      required: true,
      description: 'Send events since this time, at most 14 days ago.',
    }),
    ...repeatableFields(t),
  }),
})
