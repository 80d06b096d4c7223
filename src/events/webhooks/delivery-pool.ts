import { setTimeout as sleep } from 'node:timers/promises'
import {
  WEBHOOK_ATTEMPTS_AT_ONCE_MAX,
  WEBHOOK_ENDPOINT_ATTEMPTS_AT_ONCE_MAX,
  WEBHOOK_FAILING_ATTEMPTS_AT_ONCE_MAX,
  WEBHOOK_LEASE_MS,
  WEBHOOK_STOP_GRACE_MS,
} from '../../domain/limits.ts'
import { claimWebhookDeliveries, type ClaimedDelivery } from '../../store/sql/claim-webhook-deliveries.sql.ts'
import { makeAttempt, type DeliveryContext } from './make-attempt.ts'

/**
 * Attempts under way in this process. PENDING, due → claimed with a lease, sent, booked: DELIVERED, FAILED, or PENDING
 * and due later. A crash leaves a claim whose lease runs out by the database's clock; the delivery is then made again
 * under the same webhook-id. Whoever books with an attempt number that is not the newest books nothing.
 */
export interface DeliveryPool {
  /** Claims what is due and there is room for, and begins; does not wait for the ends. */
  fill(): Promise<{ done: number }>
  /** Waits for attempts under way, for a while; what is cut off then, is due at once for somebody else. */
  drain(): Promise<void>
}

export function createDeliveryPool(context: DeliveryContext): DeliveryPool {
  const { db, wake, log } = context
  const stopping = new AbortController()
  const underWay = new Map<Promise<void>, ClaimedDelivery>()

  function begin(delivery: ClaimedDelivery): void {
    const attempt = makeAttempt(context, delivery, stopping.signal)
      .catch((error) => log.warn({ err: error, deliveryId: delivery.id }, 'a webhook attempt could not be booked'))
      .finally(() => {
        underWay.delete(attempt)
        wake.wake('deliver-webhooks')
      })
    underWay.set(attempt, delivery)
  }

  return {
    async fill() {
      const deliveries = [...underWay.values()]
      const total = WEBHOOK_ATTEMPTS_AT_ONCE_MAX - deliveries.length
      if (total === 0) return { done: 0 }
      const byWebhook = Map.groupBy(deliveries, ({ webhookId }) => webhookId)
      const claimed = await claimWebhookDeliveries(
        db,
        {
          total,
          failing: WEBHOOK_FAILING_ATTEMPTS_AT_ONCE_MAX - deliveries.filter(({ failing }) => failing).length,
          perEndpoint: WEBHOOK_ENDPOINT_ATTEMPTS_AT_ONCE_MAX,
          running: new Map([...byWebhook].map(([webhookId, its]) => [webhookId, its.length])),
        },
        WEBHOOK_LEASE_MS,
      )
      claimed.forEach(begin)
      return { done: claimed.length }
    },
    async drain() {
      const ended = Promise.all(underWay.keys())
      const waiting = new AbortController()
      await Promise.race([ended, sleep(WEBHOOK_STOP_GRACE_MS, undefined, { signal: waiting.signal })])
      waiting.abort()
      stopping.abort()
      await ended
    },
  }
}
