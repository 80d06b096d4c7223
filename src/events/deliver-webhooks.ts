import {
  WEBHOOK_ATTEMPTS_AT_ONCE_MAX,
  WEBHOOK_ATTEMPTS_KEPT_MAX,
  WEBHOOK_ENDPOINT_ATTEMPTS_AT_ONCE_MAX,
  WEBHOOK_FAILING_ATTEMPTS_AT_ONCE_MAX,
  WEBHOOK_FAN_OUT_EVENTS_MAX,
  WEBHOOK_LEASE_MS,
  WEBHOOK_PROJECT_ATTEMPTS_AT_ONCE_MAX,
  WEBHOOK_PROMPT_ATTEMPTS_AT_ONCE_MAX,
  WEBHOOK_PROMPT_MS,
  WEBHOOK_STOP_GRACE_MS,
} from '../domain/limits.ts'
import type { Wake } from '../domain/wake.ts'
import type { Database } from '../store/database.ts'
import { fanOutEvents, hasWaitingEvents, lockWebhookCursor } from '../store/sql/webhook/fan-out-webhooks.sql.ts'
import {
  type ClaimedDelivery,
  claimWebhookDeliveries,
  releaseWebhookDelivery,
  settleWebhookAttempt,
} from '../store/sql/webhook/webhook-deliveries.sql.ts'
import { within } from '../waiting/wait.ts'
import { judgeAttempt, parseRetryAfter, payloadOf, signedHeaders } from '../domain/webhook.ts'
import type { Logger } from '../observability/log.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { SyncPoints } from '../observability/sync-points.ts'
import { openWebhookSecret } from '../services/webhook/webhook-secrets.ts'
import { type SecretBox, SecretKeyError } from '../services/access/secrets.ts'
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

/**
 * Copies events from the outbox into deliveries. One server at a time reads the outbox from a cursor, which advances in
 * the transaction that adds the deliveries. Transactions that write events do not depend on webhooks.
 */
export async function fanOutWebhooks({ db, wake }: { db: Database; wake: Wake }) {
  if (!(await hasWaitingEvents(db))) return { done: 0 }
  const { read, added } = await db.transaction(async (tx) => {
    const after = await lockWebhookCursor(tx)
    return after ? fanOutEvents(tx, after, WEBHOOK_FAN_OUT_EVENTS_MAX) : { read: 0, added: 0 }
  })
  if (added > 0) wake.wake('deliver-webhooks')
  return { done: added, more: read === WEBHOOK_FAN_OUT_EVENTS_MAX }
}

/**
 * Makes the webhook attempts of this process. A delivery that is PENDING and due is claimed with a lease, sent, and
 * settled: DELIVERED, FAILED, or PENDING and due later. A crash leaves a claim whose lease expires by the database's
 * clock; the delivery is then repeated with the same webhook-id. Settling an attempt that is not the newest has no
 * effect.
 *
 * The number of places is small. An attempt gives its place back after a second and continues without one, so endpoints
 * that hang delay the others by a second at most.
 */
interface DeliveryPool {
  /** Claims due deliveries for all free places, and starts their attempts without waiting for them. */
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

/** Sends a claimed delivery once and records how that ended. */
async function makeAttempt(context: DeliveryContext, delivery: ClaimedDelivery, signal: AbortSignal): Promise<void> {
  const result = await send(context, delivery, signal)
  // The race: the endpoint has the webhook, but the server crashes or the lease expires before that is recorded.
  await context.sync.reached('webhook:before-settle')
  if (result.outcome === 'cut') return releaseWebhookDelivery(context.db, delivery.id, delivery.attempt)
  await settle(context, delivery, result)
}

/** If the secret cannot be read, the attempt fails and is repeated later, by a server that has the key. */
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
  const settled = await settleWebhookAttempt(
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
  if (!settled?.disabledReason) return
  metrics.webhooks.disabled.inc()
  log.warn({ ...ids, reason: settled.disabledReason }, 'a webhook was disabled')
}
