import { WEBHOOK_ATTEMPTS_KEPT_MAX } from '../../domain/limits.ts'
import type { Wake } from '../../domain/wake.ts'
import { payloadOf } from '../../domain/webhook/payload.ts'
import { judgeAttempt } from '../../domain/webhook/redelivery.ts'
import { parseRetryAfter } from '../../domain/webhook/retry-after.ts'
import { signedHeaders } from '../../domain/webhook/signature.ts'
import type { Logger } from '../../observability/log.ts'
import type { Metrics } from '../../observability/metrics.ts'
import type { SyncPoints } from '../../observability/sync-points.ts'
import { openWebhookSecret } from '../../services/webhook/seal-webhook-secrets.ts'
import { SecretKeyError, type SecretBox } from '../../services/access/secret-box.ts'
import type { Database } from '../../store/database.ts'
import type { ClaimedDelivery } from '../../store/sql/webhook/claim-webhook-deliveries.sql.ts'
import { releaseWebhookDelivery, settleWebhookAttempt } from '../../store/sql/webhook/settle-webhook-attempt.sql.ts'
import type { SendResult, SendWebhook } from './send-webhook.ts'

export interface DeliveryContext {
  db: Database
  wake: Wake
  log: Logger
  metrics: Metrics
  sync: SyncPoints
  sendWebhook: SendWebhook
  secrets: SecretBox
}

/** Sends a claimed delivery once and records how that ended. */
export async function makeAttempt(
  context: DeliveryContext,
  delivery: ClaimedDelivery,
  signal: AbortSignal,
): Promise<void> {
  const result = await send(context, delivery, signal)
  // The race: the endpoint has the webhook, but the server crashes or the lease expires before that is recorded.
  await context.sync.reached('webhook:before-settle')
  if (result.outcome === 'cut') return releaseWebhookDelivery(context.db, delivery.id, delivery.attempt)
  await settle(context, delivery, result)
}

/** What cannot be signed has failed like what cannot be sent: it is tried again, by whichever server has the key. */
function send(context: DeliveryContext, delivery: ClaimedDelivery, signal: AbortSignal): Promise<SendResult> {
  try {
    return context.sendWebhook(compose(delivery, context.secrets), signal)
  } catch (error) {
    if (!(error instanceof SecretKeyError)) throw error
    context.log.error({ err: error, webhookId: delivery.webhookId }, "a webhook's secret could not be read")
    const message = `its secret could not be read: ${error.message}`
    const nothing = { durationMs: 0, statusCode: null, response: null, retryAfter: undefined }
    return Promise.resolve({ outcome: 'failed', error: message, ...nothing })
  }
}

function compose(delivery: ClaimedDelivery, box: SecretBox) {
  const { id, webhookId, secret, previousSecret, secretSealed, now, eventType: type } = delivery
  const body = payloadOf({ ...delivery, type })
  const stored = previousSecret ? [secret, previousSecret] : [secret]
  const secrets = secretSealed ? stored.map((sealed) => openWebhookSecret(box, webhookId, sealed)) : stored
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
  const label = verdict.kind === 'delivered' ? 'delivered' : outcome === 'answered' ? 'status' : outcome
  metrics.webhooks.attempts.inc({ outcome: label })
  metrics.webhooks.seconds.observe(durationMs / 1000)
  const ids = { webhookId: delivery.webhookId, deliveryId: delivery.id, attempt: delivery.attempt }
  log.debug({ ...ids, outcome: label, statusCode, verdict: verdict.kind }, `webhook ${label}`)
  if (!booked?.disabledReason) return
  metrics.webhooks.disabled.inc()
  log.warn({ ...ids, reason: booked.disabledReason }, 'a webhook was disabled')
}
