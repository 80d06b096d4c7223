import {
  WEBHOOK_ATTEMPTS_AT_ONCE_MAX,
  WEBHOOK_ENDPOINT_ATTEMPTS_AT_ONCE_MAX,
  WEBHOOK_FAILING_ATTEMPTS_AT_ONCE_MAX,
  WEBHOOK_LEASE_MS,
  WEBHOOK_STOP_GRACE_MS,
} from '../../domain/limits.ts'
import { claimWebhookDeliveries, type ClaimedDelivery } from '../../store/sql/webhook/claim-webhook-deliveries.sql.ts'
import { within } from '../../waiting/wait.ts'
import { makeAttempt, type DeliveryContext } from './make-attempt.ts'

/**
 * The webhook attempts in flight in this process. A delivery that is PENDING and due is claimed with a lease, sent, and
 * settled: DELIVERED, FAILED, or PENDING and due later. A crash leaves a claim whose lease expires by the database's
 * clock; the delivery is then repeated with the same webhook-id. Settling an attempt that is not the newest has no
 * effect.
 */
export interface DeliveryPool {
  /** Claims as many due deliveries as there are free places for, and starts their attempts without waiting for them. */
  fill(): Promise<{ done: number }>
  /** Waits for the attempts in flight, then aborts the rest, which become due at once for another server. */
  drain(): Promise<void>
}

export function createDeliveryPool(context: DeliveryContext): DeliveryPool {
  const { db, wake, log } = context
  const stopping = new AbortController()
  const underWay = new Map<Promise<void>, ClaimedDelivery>()

  function begin(delivery: ClaimedDelivery): void {
    const attempt = makeAttempt(context, delivery, stopping.signal)
      .catch((error) => log.warn({ err: error, deliveryId: delivery.id }, 'a webhook attempt could not be recorded'))
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
      await within(WEBHOOK_STOP_GRACE_MS, ended)
      stopping.abort()
      await ended
    },
  }
}
