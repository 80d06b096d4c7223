import type { CallOptions, Connection } from './connection/connection.ts'
import {
  CreateWebhookDocument,
  DeleteWebhookDocument,
  ReplayDeliveryDocument,
  ReplayWebhookDocument,
  RotateWebhookSecretDocument,
  SendTestEventDocument,
  UpdateWebhookDocument,
  WebhookDeliveriesDocument,
  WebhooksDocument,
} from './operations.generated.ts'
import type {
  CreateWebhookInput,
  RotateWebhookSecretInput,
  UpdateWebhookInput,
  WebhookDeliveryStatus,
} from './schema-types.generated.ts'
import { allPages, payloadOf } from './answers.ts'

export function webhookOperations(connection: Connection) {
  const { request } = connection
  return {
    webhooks(filter: { project?: string; enabled?: boolean; idPrefix?: string } = {}, options?: CallOptions) {
      return allPages(async (page) => (await request(WebhooksDocument, { ...filter, ...page }, options)).webhooks)
    },

    /**
     * Creates a webhook. `secret` verifies signatures and is returned only once. @throws ValidationError,
     * NotFoundError, ForbiddenError
     */
    async createWebhook(input: CreateWebhookInput, options?: CallOptions) {
      const { secret, webhook } = payloadOf((await request(CreateWebhookDocument, { input }, options)).createWebhook)
      return { secret, webhook }
    },

    /** @throws ValidationError, NotFoundError, ForbiddenError */
    async updateWebhook(input: UpdateWebhookInput, options?: CallOptions) {
      const data = await request(UpdateWebhookDocument, { input }, { ...options, idempotent: true })
      return payloadOf(data.updateWebhook).webhook
    },

    /** @throws NotFoundError, ForbiddenError */
    async deleteWebhook(webhookId: string, options?: CallOptions) {
      const data = await request(DeleteWebhookDocument, { input: { webhookId } }, options)
      return payloadOf(data.deleteWebhook).webhookId
    },

    /** @throws ValidationError, NotFoundError, ForbiddenError */
    async rotateWebhookSecret(input: RotateWebhookSecretInput, options?: CallOptions) {
      const data = await request(RotateWebhookSecretDocument, { input }, options)
      const { secret, webhook } = payloadOf(data.rotateWebhookSecret)
      return { secret, webhook }
    },

    /** Sends a test event; its delivery has the outcome. @throws NotFoundError, InvalidStateError, ForbiddenError */
    async sendTestEvent(webhookId: string, options?: CallOptions) {
      const data = await request(SendTestEventDocument, { input: { webhookId } }, options)
      return payloadOf(data.sendTestEvent).delivery
    },

    /** Lists deliveries, newest first. @throws NotFoundError */
    webhookDeliveries(
      webhookId: string,
      filter: { status?: WebhookDeliveryStatus[]; idPrefix?: string } = {},
      options?: CallOptions,
    ) {
      return allPages(
        async (page) =>
          (await request(WebhookDeliveriesDocument, { webhookId, ...filter, ...page }, options)).webhookDeliveries,
      )
    },

    /** Repeats a delivery, under the same message id. @throws NotFoundError, InvalidStateError, ForbiddenError */
    async replayDelivery(deliveryId: string, options?: CallOptions) {
      const data = await request(ReplayDeliveryDocument, { input: { deliveryId } }, options)
      return payloadOf(data.replayDelivery).delivery
    },

    /**
     * Repeats failed deliveries since a time, and sends events that happened while the webhook was disabled. If `more`
     * is true, call it again for the rest.
     */
    async replayWebhook(webhookId: string, since: string, options?: CallOptions) {
      const data = await request(ReplayWebhookDocument, { input: { webhookId, since } }, options)
      const { replayed, more } = payloadOf(data.replayWebhook)
      return { replayed, more }
    },
  }
}
