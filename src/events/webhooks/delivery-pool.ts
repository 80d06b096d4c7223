import { setTimeout as sleep } from 'node:timers/promises'
import {
  WEBHOOK_ATTEMPTS_AT_ONCE_MAX,
  WEBHOOK_ATTEMPTS_KEPT_MAX,
  WEBHOOK_ENDPOINT_ATTEMPTS_AT_ONCE_MAX,
  WEBHOOK_FAILING_ATTEMPTS_AT_ONCE_MAX,
  WEBHOOK_LEASE_MS,
  WEBHOOK_STOP_GRACE_MS,
} from '../../domain/limits.ts'
import type { Wake } from '../../domain/wake.ts'
import { payloadOf } from '../../domain/webhooks/payload.ts'
import { judgeAttempt } from '../../domain/webhooks/redelivery.ts'
import { parseRetryAfter } from '../../domain/webhooks/retry-after.ts'
import { signedHeaders } from '../../domain/webhooks/signature.ts'
import type { Logger } from '../../observability/log.ts'
import type { Metrics } from '../../observability/metrics.ts'
import type { SyncPoints } from '../../observability/sync-points.ts'
import type { Database } from '../../store/database.ts'
import { claimWebhookDeliveries, type ClaimedDelivery } from '../../store/sql/claim-webhook-deliveries.sql.ts'
import { releaseWebhookDelivery, settleWebhookAttempt } from '../../store/sql/settle-webhook-attempt.sql.ts'
import type { SendResult, SendWebhook } from './send-webhook.ts'

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

export interface DeliveryContext {
  db: Database
  wake: Wake
  log: Logger
  metrics: Metrics
  sync: SyncPoints
  sendWebhook: SendWebhook
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

async function makeAttempt(context: DeliveryContext, delivery: ClaimedDelivery, signal: AbortSignal): Promise<void> {
  const result = await context.sendWebhook(compose(delivery), signal)
  // The endpoint has it, and nobody knows: a crash, or a lease that runs out.
  await context.sync.reached('webhook:before-settle')
  if (result.outcome === 'cut') return releaseWebhookDelivery(context.db, delivery.id, delivery.attempt)
  await settle(context, delivery, result)
}

function compose(delivery: ClaimedDelivery) {
  const { id, secret, previousSecret, now, eventType: type } = delivery
  const body = payloadOf({ ...delivery, type })
  const secrets = previousSecret ? [secret, previousSecret] : [secret]
  const headers = {
    'content-type': 'application/json',
    'user-agent': 'Reprise-Webhooks',
    ...signedHeaders({ deliveryId: id, at: now, body, secrets }),
  }
  return { url: delivery.url, headers, body }
}

async function settle(context: DeliveryContext, delivery: ClaimedDelivery, result: SendResult): Promise<void> {
  const { db, log, metrics } = context
  const { statusCode, durationMs, error, response, outcome } = result
  const verdict = judgeAttempt({
    deliveryId: delivery.id,
    statusCode,
    retryAfterMs: parseRetryAfter(result.retryAfter, new Date(delivery.now.getTime() + durationMs)),
    failures: delivery.failures,
    redelivered: delivery.eventId !== null,
  })
  const booked = await settleWebhookAttempt(
    db,
    {
      deliveryId: delivery.id,
      number: delivery.attempt,
      startedAt: delivery.now,
      durationMs,
      statusCode,
      error,
      response,
      verdict: verdict.kind,
      inMs: verdict.kind === 'again' ? verdict.inMs : 0,
      restMs: 'restMs' in verdict ? verdict.restMs : 0,
    },
    WEBHOOK_ATTEMPTS_KEPT_MAX,
  )
  const told = verdict.kind === 'delivered' ? 'delivered' : outcome === 'answered' ? 'status' : outcome
  metrics.webhooks.attempts.inc({ outcome: told })
  metrics.webhooks.seconds.observe(durationMs / 1000)
  const ids = { webhookId: delivery.webhookId, deliveryId: delivery.id, attempt: delivery.attempt }
  log.debug({ ...ids, outcome: told, statusCode, verdict: verdict.kind }, `webhook ${told}`)
  if (!booked?.disabledReason) return
  metrics.webhooks.disabled.inc()
  log.warn({ ...ids, reason: booked.disabledReason }, 'a webhook was disabled')
}
