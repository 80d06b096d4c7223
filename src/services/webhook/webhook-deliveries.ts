import { validate } from 'uuid'
import { newId } from '../../store/new-id.ts'
import { RepriseError } from '../../domain/errors.ts'
import { WEBHOOK_REPLAY_MAX, WEBHOOK_RETENTION_SECONDS } from '../../domain/limits.ts'
import { recordAudit } from '../../store/sql/access/audit.sql.ts'
import { readNow } from '../../store/sql/server.sql.ts'
import {
  addMissed,
  insertTestDelivery,
  lockDelivery,
  restartDelivery,
  restartFailed,
} from '../../store/sql/webhook/fan-out-webhooks.sql.ts'
import { actorOf, assertMayChange } from '../access/authorize.ts'
import { refuseInput } from '../input/parse-input.ts'
import type { ServiceContext } from '../service-context.ts'
import { assertEnabled, changeWebhook } from './webhooks.ts'

/**
 * Sends everything since a given time that the endpoint has missed: failed deliveries, and events that happened while
 * it was disabled or selected other events. Delivered events are not sent again. `more` means that there may be more
 * than the maximum of one call.
 * @throws RepriseError FORBIDDEN, VALIDATION_FAILED, WEBHOOK_NOT_FOUND, WEBHOOK_DISABLED
 */
export async function replayWebhook(
  context: ServiceContext,
  { webhookId, since }: { webhookId: string; since: Date },
): Promise<{ webhookId: string; replayed: number; more: boolean }> {
  assertMayChange(context.viewer)
  const now = await readNow(context.db)
  if (since.getTime() < now.getTime() - WEBHOOK_RETENTION_SECONDS * 1000) {
    refuseInput([{ path: 'since', message: `must be less than ${WEBHOOK_RETENTION_SECONDS / 86_400} days ago` }])
  }
  const { replayed } = await changeWebhook(context, webhookId, 'webhook.replay', async (tx, { enabled }) => {
    assertEnabled(webhookId, enabled)
    const failed = await restartFailed(tx, webhookId, since, WEBHOOK_REPLAY_MAX)
    const missed = await addMissed(tx, webhookId, since, WEBHOOK_REPLAY_MAX - failed)
    return { since, replayed: failed + missed }
  })
  context.wake.wake('deliver-webhooks')
  return { webhookId, replayed, more: replayed === WEBHOOK_REPLAY_MAX }
}

/**
 * Repeats a delivery at once, on a new schedule, under the same webhook-id, regardless of its earlier outcome.
 * @throws RepriseError FORBIDDEN, WEBHOOK_DELIVERY_NOT_FOUND, WEBHOOK_DISABLED
 */
export async function replayDelivery(
  { db, viewer, wake }: ServiceContext,
  { deliveryId }: { deliveryId: string },
): Promise<{ deliveryId: string }> {
  assertMayChange(viewer)
  await db.transaction(async (tx) => {
    const delivery = validate(deliveryId) ? await lockDelivery(tx, deliveryId, viewer.projectId) : undefined
    if (!delivery) throw new RepriseError('WEBHOOK_DELIVERY_NOT_FOUND', `no delivery ${deliveryId.slice(0, 100)}`)
    const { webhookId, projectId, enabled } = delivery
    assertEnabled(webhookId, enabled)
    await restartDelivery(tx, deliveryId)
    const details = { webhookId, deliveryId }
    await recordAudit(tx, { actor: actorOf(viewer), action: 'webhook.replay_delivery', projectId, details })
  })
  wake.wake('deliver-webhooks')
  return { deliveryId }
}

/**
 * Sends a `webhook.test` event with a single attempt.
 * @throws RepriseError FORBIDDEN, WEBHOOK_NOT_FOUND, WEBHOOK_DISABLED
 */
export async function sendTestEvent(
  context: ServiceContext,
  { webhookId }: { webhookId: string },
): Promise<{ deliveryId: string }> {
  const { deliveryId } = await changeWebhook(context, webhookId, 'webhook.send_test', async (tx, { enabled }) => {
    assertEnabled(webhookId, enabled)
    const id = newId()
    await insertTestDelivery(tx, id, webhookId)
    return { deliveryId: id }
  })
  context.wake.wake('deliver-webhooks')
  return { deliveryId }
}
