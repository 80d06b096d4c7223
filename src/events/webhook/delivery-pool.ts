import {
  WEBHOOK_ATTEMPTS_AT_ONCE_MAX,
  WEBHOOK_ENDPOINT_ATTEMPTS_AT_ONCE_MAX,
  WEBHOOK_FAILING_ATTEMPTS_AT_ONCE_MAX,
  WEBHOOK_LEASE_MS,
  WEBHOOK_PROJECT_ATTEMPTS_AT_ONCE_MAX,
  WEBHOOK_PROMPT_ATTEMPTS_AT_ONCE_MAX,
  WEBHOOK_PROMPT_MS,
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
 *
 * There are few places, and an attempt has one only while it is prompt: whatever takes longer goes on without one. So
 * the others are kept waiting for a second at most, however many endpoints hang.
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
  const underWay = new Set<Promise<void>>()
  const prompt = new Set<ClaimedDelivery>()

  function begin(delivery: ClaimedDelivery): void {
    prompt.add(delivery)
    const leaves = () => {
      if (prompt.delete(delivery)) wake.wake('deliver-webhooks')
    }
    const timer = setTimeout(leaves, WEBHOOK_PROMPT_MS).unref()
    const attempt = makeAttempt(context, delivery, stopping.signal)
      .catch((error) => log.warn({ err: error, deliveryId: delivery.id }, 'a webhook attempt could not be recorded'))
      .finally(() => {
        clearTimeout(timer)
        prompt.delete(delivery)
        underWay.delete(attempt)
        wake.wake('deliver-webhooks')
      })
    underWay.add(attempt)
  }

  return {
    async fill() {
      const total = Math.min(
        WEBHOOK_PROMPT_ATTEMPTS_AT_ONCE_MAX - prompt.size,
        WEBHOOK_ATTEMPTS_AT_ONCE_MAX - underWay.size,
      )
      if (total <= 0) return { done: 0 }
      const failing = [...prompt].filter((delivery) => delivery.failing).length
      const claimed = await claimWebhookDeliveries(
        db,
        {
          total,
          failing: Math.max(0, WEBHOOK_FAILING_ATTEMPTS_AT_ONCE_MAX - failing),
          perEndpoint: WEBHOOK_ENDPOINT_ATTEMPTS_AT_ONCE_MAX,
          perProject: WEBHOOK_PROJECT_ATTEMPTS_AT_ONCE_MAX,
          perServer: WEBHOOK_ATTEMPTS_AT_ONCE_MAX,
          promptMs: WEBHOOK_PROMPT_MS,
        },
        WEBHOOK_LEASE_MS,
      )
      claimed.forEach(begin)
      return { done: claimed.length }
    },
    async drain() {
      const ended = Promise.all(underWay)
      await within(WEBHOOK_STOP_GRACE_MS, ended)
      stopping.abort()
      await ended
    },
  }
}
