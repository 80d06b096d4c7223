import { builder } from '../../builder.ts'
import { projectScope } from '../../../services/tenant-scope.ts'
import { isUuid, NO_UUID } from '../../uuid.ts'
import { Label, labelsOf } from '../session/pairs.type.ts'

/** Secrets are no part of it: they are told once, by the mutation that makes them. */
export const WebhookNode = builder.prismaNode('Webhook', {
  description: 'An endpoint that hears of events, after Standard Webhooks.',
  id: { field: 'id' },
  nullable: true,
  findUnique: (id, { viewer }) => ({ id: isUuid(id) ? id : NO_UUID, ...projectScope(viewer) }),
  select: { id: true },
  fields: (t) => ({
    webhookId: t.expose('id', { type: 'UUID', description: 'Its id.' }),
    project: t.relation('project', {
      nullable: true,
      description: 'Whose events it hears of; null for those of all projects.',
    }),
    url: t.exposeString('url', { description: 'Where events are sent.' }),
    description: t.exposeString('description', { description: 'What it is for, in words of its owner.' }),
    eventTypes: t.exposeStringList('eventTypes', {
      description: 'Events that it hears of, by their names on the wire; a `*` at the end stands for any rest.',
    }),
    chainId: t.expose('chainId', {
      type: 'UUID',
      nullable: true,
      description: 'The one chain of which it hears; null for all.',
    }),
    labels: t.field({
      type: [Label],
      description: 'Labels that a session or a deployment must have for it to hear of it.',
      select: { labels: true },
      resolve: ({ labels }) => labelsOf(labels),
    }),
    enabled: t.exposeBoolean('enabled', { description: 'Whether anything is sent to it.' }),
    disabledReason: t.exposeString('disabledReason', {
      nullable: true,
      description: 'Why it is not enabled, where the server saw to that.',
    }),
    disabledAt: t.expose('disabledAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Since when it is not enabled.',
    }),
    failingSince: t.expose('failingSince', {
      type: 'DateTime',
      nullable: true,
      description: 'Since when every attempt has failed; null where the last one did not.',
    }),
    lastDeliveredAt: t.expose('lastDeliveredAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When something was last delivered, to the minute.',
    }),
    restingUntil: t.expose('restingUntil', {
      type: 'DateTime',
      nullable: true,
      description: 'Until when it asked to be left alone, by Retry-After.',
    }),
    previousSecretExpiresAt: t.expose('previousSecretExpiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Until when the secret before the last rotation signs, too.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
  }),
})
