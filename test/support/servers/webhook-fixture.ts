import { pino } from 'pino'
import { createWakeHub } from '../../../src/events/wake-hub.ts'
import { createAddressGuard } from '../../../src/machine/address-guard.ts'
import { resolveHost } from '../../../src/machine/resolve-host.ts'
import { createWebhookSender } from '../../../src/events/send-webhook.ts'
import { createMetrics } from '../../../src/observability/metrics.ts'
import { NO_SYNC_POINTS, type SyncPoints } from '../../../src/observability/sync-points.ts'
import { createWebhookServices, type WebhookServiceName } from '../../../src/scheduler/webhook-services.ts'
import { createWebhook, type CreateWebhookInput } from '../../../src/services/webhook/webhooks.ts'
import type { ServiceContext } from '../../../src/services/service-context.ts'
import type { Database } from '../../../src/store/database.ts'
import { eventually } from '../eventually.ts'
import { ADMIN } from './test-server.ts'
import { TEST_SECRETS } from './test-secrets.ts'

/** The parts of a server that webhooks need. Nothing runs unless a test calls it. Endpoints may be on this machine. */
export function webhookServer(db: Database, options: { sync?: SyncPoints; attemptTimeoutMs?: number } = {}) {
  const { sync = NO_SYNC_POINTS, attemptTimeoutMs = 20_000 } = options
  const hub = createWakeHub()
  const log = pino({ enabled: false })
  const metrics = createMetrics()
  const sendWebhook = createWebhookSender({
    mayConnect: createAddressGuard(['127.0.0.0/8']),
    resolveHost,
    connectTimeoutMs: 5_000,
    attemptTimeoutMs,
  })
  const services = createWebhookServices({ db, wake: hub, log, metrics, sync, sendWebhook, secrets: TEST_SECRETS })
  const context: ServiceContext = { db, wake: hub, log, metrics, secrets: TEST_SECRETS, viewer: ADMIN }
  const run = async (name: WebhookServiceName) => (await services[name].runOnce()).done

  async function idle(): Promise<void> {
    await eventually(async () => (await db.query('SELECT FROM webhook_deliveries WHERE under_way')).rowCount === 0)
  }

  /** Transactions in other databases may hold the horizon while one of them fills tables. */
  async function fanOut(): Promise<void> {
    const left = `SELECT FROM settings WHERE key = 'webhooks.cursor' AND EXISTS (
      SELECT FROM session_events WHERE (xid, id) > ((value ->> 'xid')::xid8, (value ->> 'id')::int8))`
    await eventually(async () => {
      await run('fan-out-webhooks')
      return (await db.query(left)).rowCount === 0
    })
  }

  return {
    services,
    context,
    metrics,
    run,
    idle,
    create: (input: Partial<CreateWebhookInput> & { url: string }) =>
      createWebhook(context, { eventTypes: ['*'], ...input }),
    /** Turns all events of the outbox into deliveries. Needs an enabled webhook. */
    fanOut,
    /** The same, then attempts every due delivery until none is left. */
    async deliver() {
      await fanOut()
      while ((await run('deliver-webhooks')) > 0) await idle()
    },
  }
}

export type WebhookServer = ReturnType<typeof webhookServer>

export interface DeliveryRow {
  id: string
  webhookId: string
  eventType: string
  status: string
  attempts: number
  failures: number
  underWay: boolean
  dueInMs: number
}

/** In the order of their events. */
export async function deliveryRows(db: Database, webhookId?: string): Promise<DeliveryRow[]> {
  const statement = `SELECT id, webhook_id AS "webhookId", event_type AS "eventType", status, attempts, failures,
    under_way AS "underWay", round(extract(epoch FROM next_attempt_at - reprise_now()) * 1000)::float8 AS "dueInMs"
    FROM webhook_deliveries WHERE $1::uuid IS NULL OR webhook_id = $1 ORDER BY event_id, id`
  const { rows } = await db.query<DeliveryRow & { [column: string]: unknown }>(statement, [webhookId ?? null])
  return rows
}

export async function webhookRow(db: Database, id: string) {
  const statement = `SELECT enabled, disabled_reason AS "disabledReason", failing_since AS "failingSince",
    last_delivered_at AS "lastDeliveredAt", resting_until AS "restingUntil" FROM webhooks WHERE id = $1`
  return (await db.query(statement, [id])).rows[0]!
}
