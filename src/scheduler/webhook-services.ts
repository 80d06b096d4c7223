import {
  WEBHOOK_DELIVERY_INTERVAL_MS,
  WEBHOOK_FAN_OUT_INTERVAL_MS,
  WEBHOOK_RETENTION_BATCH_MAX,
  WEBHOOK_RETENTION_INTERVAL_MS,
  WEBHOOK_RETENTION_SECONDS,
} from '../domain/limits.ts'
import { createDeliveryPool, type DeliveryContext, fanOutWebhooks } from '../events/deliver-webhooks.ts'
import { expireWebhookDeliveries } from '../store/sql/webhook/webhook-deliveries.sql.ts'
import { type BackgroundService, defineMeasuredService, type RunReport } from './background-service.ts'

export type WebhookServiceName = 'fan-out-webhooks' | 'deliver-webhooks' | 'expire-webhook-deliveries'

/** The background services that deliver events to webhooks. */
export function createWebhookServices(context: DeliveryContext): Record<WebhookServiceName, BackgroundService> {
  const { db } = context
  const service = (name: WebhookServiceName, intervalMs: number, runOnce: () => Promise<RunReport>) =>
    defineMeasuredService(context, name, intervalMs, runOnce)
  const pool = createDeliveryPool(context)
  const deliver = service('deliver-webhooks', WEBHOOK_DELIVERY_INTERVAL_MS, pool.fill)
  return {
    'fan-out-webhooks': service('fan-out-webhooks', WEBHOOK_FAN_OUT_INTERVAL_MS, () => fanOutWebhooks(context)),
    'deliver-webhooks': {
      ...deliver,
      async stop() {
        await deliver.stop()
        await pool.drain()
      },
    },
    'expire-webhook-deliveries': service('expire-webhook-deliveries', WEBHOOK_RETENTION_INTERVAL_MS, async () => {
      const done = await expireWebhookDeliveries(db, WEBHOOK_RETENTION_SECONDS, WEBHOOK_RETENTION_BATCH_MAX)
      return { done, more: done === WEBHOOK_RETENTION_BATCH_MAX }
    }),
  }
}
