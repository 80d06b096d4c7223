import { updateWebhookRow, type LockedWebhook } from '../../store/sql/webhook/webhooks.sql.ts'
import { changeWebhook } from './change-webhook.ts'
import type { ServiceContext } from '../service-context.ts'
import { parseWebhookSettings, type WebhookSettingsInput } from './webhook-input.ts'

export interface UpdateWebhookInput extends Partial<{
  [Field in keyof WebhookSettingsInput]: WebhookSettingsInput[Field] | null
}> {
  webhookId: string
  enabled?: boolean | null
}

/**
 * Missing fields stay; null clears optional ones. Waiting deliveries go to the new address. While a webhook is
 * disabled, nothing is sent and no new deliveries are recorded; waiting ones continue when it is enabled.
 * @throws RepriseError FORBIDDEN, VALIDATION_FAILED, WEBHOOK_NOT_FOUND
 */
export async function updateWebhook(
  context: ServiceContext,
  input: UpdateWebhookInput,
): Promise<{ webhookId: string }> {
  const { webhookId, enabled } = input
  await changeWebhook(context, webhookId, 'webhook.update', async (tx, before) => {
    const settings = parseWebhookSettings(merged(before, input))
    const after = { ...settings, enabled: enabled ?? before.enabled }
    await updateWebhookRow(tx, webhookId, settings, after.enabled)
    const { id: _id, projectId: _projectId, ...shown } = before
    return { before: shown, after }
  })
  context.wake.wake('deliver-webhooks')
  return { webhookId }
}

function merged(before: LockedWebhook, { url, eventTypes, description, chainId, labels }: UpdateWebhookInput) {
  const labelsBefore = Object.entries(before.labels).map(([key, value]) => ({ key, value }))
  return {
    url: url ?? before.url,
    eventTypes: eventTypes ?? before.eventTypes,
    description: description === undefined ? before.description : description,
    chainId: chainId === undefined ? before.chainId : chainId,
    labels: labels === undefined ? labelsBefore : labels,
  }
}
