import { deleteWebhookRow } from '../../store/sql/webhook/webhooks.sql.ts'
import { changeWebhook } from './change-webhook.ts'
import type { ServiceContext } from '../service-context.ts'

/**
 * Deletes it together with its deliveries. An attempt in progress is completed.
 * @throws RepriseError FORBIDDEN, WEBHOOK_NOT_FOUND
 */
export async function deleteWebhook(
  context: ServiceContext,
  { webhookId }: { webhookId: string },
): Promise<{ webhookId: string }> {
  await changeWebhook(context, webhookId, 'webhook.delete', async (tx, { url }) => {
    await deleteWebhookRow(tx, webhookId)
    return { url }
  })
  return { webhookId }
}
