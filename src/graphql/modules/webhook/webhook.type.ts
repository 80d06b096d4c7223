import { builder } from '../../builder.ts'
import { projectScope } from '../../../services/access/tenant-scope.ts'
import { isUuid, NO_UUID } from '../../ids.ts'
import { Label, labelsOf } from '../session/values.types.ts'

/** Without secrets, which are returned only once, by the mutation that creates them. */
export const WebhookNode = builder.prismaNode('Webhook', {
  description: 'An endpoint to which events are sent, according to Standard Webhooks.',
  id: { field: 'id' },
  nullable: true,
  findUnique: (id, { viewer }) => ({ id: isUuid(id) ? id : NO_UUID, ...projectScope(viewer) }),
  select: { id: true },
  fields: (t) => ({
    webhookId: t.expose('id', { type: 'UUID', description: 'Its id.' }),
    project: t.relation('project', {
      nullable: true,
      description: 'The project whose events it receives; null for all projects.',
    }),
    url: t.exposeString('url', { description: 'Where events are sent.' }),
    description: t.exposeString('description', { description: 'Description given by its owner.' }),
    eventTypes: t.exposeStringList('eventTypes', {
      description: 'Names of the events that it receives; a `*` at the end matches any rest.',
    }),
    chainId: t.expose('chainId', {
      type: 'UUID',
      nullable: true,
      description: 'The only chain whose events it receives; null for all.',
    }),
    labels: t.field({
      type: [Label],
      description: 'Labels that a session or deployment must have for its events to be sent.',
      select: { labels: true },
      resolve: ({ labels }) => labelsOf(labels),
    }),
    enabled: t.exposeBoolean('enabled', { description: 'Whether anything is sent to it.' }),
    disabledReason: t.exposeString('disabledReason', {
      nullable: true,
      description: 'Why the server disabled it, if it did.',
    }),
    disabledAt: t.expose('disabledAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was disabled.',
    }),
    failingSince: t.expose('failingSince', {
      type: 'DateTime',
      nullable: true,
      description: 'Since when every attempt has failed; null if the last one succeeded.',
    }),
    lastDeliveredAt: t.expose('lastDeliveredAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When something was last delivered, to the minute.',
    }),
    restingUntil: t.expose('restingUntil', {
      type: 'DateTime',
      nullable: true,
      description: 'Until when it has asked, by Retry-After, for no deliveries.',
    }),
    previousSecretExpiresAt: t.expose('previousSecretExpiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Until when the previous secret also signs.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
  }),
})
