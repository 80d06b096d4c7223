import { v7 as uuidv7 } from 'uuid'
import { insertTestDelivery } from '../../store/sql/webhook/replay-webhook.sql.ts'
import { assertEnabled, changeWebhook } from './change-webhook.ts'
import type { ServiceContext } from '../service-context.ts'

/**
 * A delivery of `webhook.test` with a single attempt.
 * @throws RepriseError FORBIDDEN, WEBHOOK_NOT_FOUND, WEBHOOK_DISABLED
 */
export async function sendTestEvent(
  context: ServiceContext,
  { webhookId }: { webhookId: string },
): Promise<{ deliveryId: string }> {
  const { deliveryId } = await changeWebhook(context, webhookId, 'webhook.send_test', async (tx, { enabled }) => {
    assertEnabled(webhookId, enabled)
    const id = uuidv7()
    await insertTestDelivery(tx, id, webhookId)
    return { deliveryId: id }
  })
  context.wake.wake('deliver-webhooks')
  return { deliveryId }
}
