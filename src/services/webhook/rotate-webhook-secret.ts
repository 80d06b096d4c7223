import { WEBHOOK_SECRET_OVERLAP_SECONDS_DEFAULT, WEBHOOK_SECRET_OVERLAP_SECONDS_MAX } from '../../domain/limits.ts'
import { formatSecret } from '../../domain/webhook/signature.ts'
import { rotateSecret } from '../../store/sql/webhook/webhooks.sql.ts'
import { newSecret } from './create-webhook.ts'
import { refuseInput } from '../input/parse-input.ts'
import { changeWebhook } from './change-webhook.ts'
import { sealWebhookSecret } from './seal-webhook-secrets.ts'
import type { ServiceContext } from '../service-context.ts'

/**
 * A new secret, returned only once. During the overlap, requests are also signed with the previous one.
 * @throws RepriseError FORBIDDEN, VALIDATION_FAILED, WEBHOOK_NOT_FOUND
 */
export async function rotateWebhookSecret(
  context: ServiceContext,
  input: { webhookId: string; overlapSeconds?: number | null },
): Promise<{ webhookId: string; secret: string }> {
  const { webhookId, overlapSeconds: given } = input
  const overlapSeconds = given ?? WEBHOOK_SECRET_OVERLAP_SECONDS_DEFAULT
  if (!(overlapSeconds >= 0 && overlapSeconds <= WEBHOOK_SECRET_OVERLAP_SECONDS_MAX)) {
    refuseInput([{ path: 'overlapSeconds', message: `must be 0 to ${WEBHOOK_SECRET_OVERLAP_SECONDS_MAX}` }])
  }
  const secret = newSecret()
  await changeWebhook(context, webhookId, 'webhook.rotate_secret', async (tx) => {
    await rotateSecret(tx, webhookId, sealWebhookSecret(context.secrets, webhookId, secret), overlapSeconds)
    return { overlapSeconds }
  })
  return { webhookId, secret: formatSecret(secret) }
}
