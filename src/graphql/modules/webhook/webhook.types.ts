import { type DeliveryFacts, payloadOf, webhookId } from '../../../domain/webhook.ts'
import type { WebhookDelivery } from '../../../generated/prisma/client.ts'
import { projectScope } from '../../../services/access/tenants.ts'
import { builder } from '../../builder.ts'
import { isUuid, NO_UUID } from '../../ids.ts'
import { stillThere } from '../../loaders/load-session.ts'
import { Label, labelsOf } from '../session/values.types.ts'

/** Type of webhooks. It has no secrets: only the mutation that creates a secret returns it. */
export const WebhookNode = builder.prismaNode('Webhook', {
  description: 'A webhook: an endpoint to which events are sent, according to Standard Webhooks.',
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
      description: 'Names of the events that it receives; a `*` at the end matches any ending.',
    }),
    chainId: t.expose('chainId', {
      type: 'UUID',
      nullable: true,
      description: 'The only chain whose events it receives; null for all.',
    }),
    labels: t.field({
      type: [Label],
      description: 'Labels that a session or deployment must have, so that its events are sent.',
      select: { labels: true },
      resolve: ({ labels }) => labelsOf(labels),
    }),
    skipGroupMembers: t.exposeBoolean('skipGroupMembers', {
      description: 'Whether it receives no events of members of groups, only `group.ended`.',
    }),
    enabled: t.exposeBoolean('enabled', { description: 'Whether it is enabled.' }),
    disabledReason: t.exposeString('disabledReason', {
      nullable: true,
      description: 'Why the server disabled it; null if the server did not.',
    }),
    disabledAt: t.expose('disabledAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was disabled.',
    }),
    failingSince: t.expose('failingSince', {
      type: 'DateTime',
      nullable: true,
      description: 'When its attempts began to fail without a success since; null if the last attempt succeeded.',
    }),
    lastDeliveredAt: t.expose('lastDeliveredAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When something was last delivered, to the minute.',
    }),
    restingUntil: t.expose('restingUntil', {
      type: 'DateTime',
      nullable: true,
      description: 'Time until which the endpoint has asked for no deliveries, by a Retry-After header.',
    }),
    previousSecretExpiresAt: t.expose('previousSecretExpiresAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Time until which requests are also signed with the previous secret.',
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
  }),
})

export const WebhookDeliveryStatusEnum = builder.enumType('WebhookDeliveryStatus', {
  description: 'Status of a delivery.',
  values: {
    PENDING: { description: 'It waits for its next attempt, or one is in progress.' },
    DELIVERED: { description: 'The endpoint responded with a status of 200 to 299.' },
    FAILED: { description: 'All scheduled attempts failed, or the endpoint is gone.' },
  } as const,
})

const WebhookAttemptType = builder.prismaObject('WebhookAttempt', {
  description: 'A completed attempt. An attempt cut off by a crash is missing.',
  select: { deliveryId: true, number: true },
  fields: (t) => ({
    number: t.exposeInt('number', { description: 'Its number among the attempts, from 1.' }),
    startedAt: t.expose('startedAt', { type: 'DateTime', description: 'When it started.' }),
    durationSeconds: t.float({
      description: 'Its duration.',
      select: { durationMs: true },
      resolve: ({ durationMs }) => durationMs / 1000,
    }),
    statusCode: t.exposeInt('statusCode', {
      nullable: true,
      description: 'Status of the response; null if there was none.',
    }),
    error: t.exposeString('error', { nullable: true, description: 'Why there was no response.' }),
    response: t.exposeString('response', { nullable: true, description: 'The first KiB of the response body.' }),
  }),
})

export const WebhookDeliveryNode = builder.prismaNode('WebhookDelivery', {
  description: 'A delivery of one event to one webhook.',
  id: { field: 'id' },
  nullable: true,
  findUnique: (id, { viewer }) => ({ id: isUuid(id) ? id : NO_UUID, webhook: projectScope(viewer) }),
  select: { id: true },
  fields: (t) => ({
    deliveryId: t.expose('id', { type: 'UUID', description: 'Its id.' }),
    webhook: t.prismaField({
      type: WebhookNode,
      description: 'The webhook that it is sent to.',
      select: { webhookId: true },
      // Prisma reads all that are requested in the same tick with one statement.
      resolve: (query, { webhookId: id }, _args, { services }) =>
        stillThere(services.prisma.webhook.findUnique({ ...query, where: { id } }), 'WEBHOOK_NOT_FOUND'),
    }),
    messageId: t.string({
      description: 'The `webhook-id` header of its requests, the same in all of them.',
      resolve: ({ id }) => webhookId(id),
    }),
    eventType: t.exposeString('eventType', { description: 'The name of the event.' }),
    occurredAt: t.expose('occurredAt', { type: 'DateTime', description: 'When it happened.' }),
    sessionId: t.expose('sessionId', {
      type: 'UUID',
      nullable: true,
      description: 'The session that the event is about.',
    }),
    chainId: t.expose('chainId', { type: 'UUID', nullable: true, description: 'The chain that the event is about.' }),
    deploymentId: t.field({
      type: 'UUID',
      nullable: true,
      description: 'The deployment that the event is about, directly or through a route.',
      select: { facts: true },
      resolve: ({ facts }) => deploymentIdOf(facts as unknown as DeliveryFacts | null),
    }),
    body: t.field({
      type: 'JSON',
      description: 'The body of its requests.',
      select: { webhookId: true, eventType: true, occurredAt: true, sessionId: true, chainId: true, facts: true },
      resolve: (row): unknown => JSON.parse(payloadOf(asEvent(row))),
    }),
    payload: t.string({
      description: 'The body of its requests, as JSON in a text.',
      deprecationReason: 'Use `body`.',
      select: { webhookId: true, eventType: true, occurredAt: true, sessionId: true, chainId: true, facts: true },
      resolve: (row) => payloadOf(asEvent(row)),
    }),
    status: t.expose('status', { type: WebhookDeliveryStatusEnum, description: 'Its state.' }),
    nextAttemptAt: t.field({
      type: 'DateTime',
      nullable: true,
      description: 'When the next attempt is due; null if there is none, or if an attempt is in progress.',
      select: { status: true, underWay: true, nextAttemptAt: true },
      resolve: ({ status, underWay, nextAttemptAt }) => (status === 'PENDING' && !underWay ? nextAttemptAt : null),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'When it was created.' }),
    finishedAt: t.expose('finishedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was delivered or given up.',
    }),
    attempts: t.relation('history', {
      type: WebhookAttemptType,
      description: 'Its last attempts, at most 50, oldest first.',
      query: { orderBy: { number: 'asc' } },
    }),
  }),
})

type EventRow = Pick<WebhookDelivery, 'webhookId' | 'eventType' | 'occurredAt' | 'sessionId' | 'chainId' | 'facts'>

function asEvent({ eventType, facts, ...row }: EventRow) {
  return { ...row, type: eventType, facts: facts as unknown as DeliveryFacts | null }
}

function deploymentIdOf(facts: DeliveryFacts | null): string | null {
  return facts && 'deployment' in facts ? facts.deployment.id : null
}
