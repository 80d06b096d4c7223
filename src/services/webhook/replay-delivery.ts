import { validate } from 'uuid'
import { RepriseError } from '../../domain/errors.ts'
import { recordAudit } from '../../store/sql/access/record-audit.sql.ts'
import { lockDelivery, restartDelivery } from '../../store/sql/webhook/replay-webhook.sql.ts'
import { assertMayChange } from '../access/authorize.ts'
import { assertEnabled } from './change-webhook.ts'
import type { ServiceContext } from '../service-context.ts'
import { actorOf } from '../access/actor.ts'

/**
 * Repeats a delivery at once, on a new schedule, under the same webhook-id, whatever its earlier outcome.
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
