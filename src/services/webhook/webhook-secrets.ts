import { WEBHOOK_SECRET_OVERLAP_SECONDS_DEFAULT, WEBHOOK_SECRET_OVERLAP_SECONDS_MAX } from '../../domain/limits.ts'
import { formatSecret } from '../../domain/webhook.ts'
import { readPlainWebhooks, rotateSecret, storeSealedSecrets } from '../../store/sql/webhook/webhooks.sql.ts'
import { changeWebhook, newSecret } from './webhooks.ts'
import { refuseInput } from '../input/parse-input.ts'
import type { ServiceContext } from '../service-context.ts'
import type { Database } from '../../store/database.ts'
import type { SecretBox } from '../access/secrets.ts'

/**
 * Rotates the secret and returns the new one, only this once. During the overlap, requests are also signed with the
 * previous one.
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

/** Webhooks whose secrets are encrypted in one transaction. */
const BATCH_WEBHOOKS = 500

export function sealWebhookSecret(box: SecretBox, webhookId: string, secret: Uint8Array): Buffer {
  return box.seal(secret, about(webhookId))
}

/** @throws SecretKeyError */
export function openWebhookSecret(box: SecretBox, webhookId: string, sealed: Uint8Array): Buffer {
  return box.open(sealed, about(webhookId))
}

/**
 * Encrypts the secrets of webhooks that were created before secrets were encrypted; returns the number of these
 * webhooks.
 */
export async function sealPlainWebhooks(db: Database, box: SecretBox): Promise<number> {
  for (let sealed = 0; ;) {
    const count = await db.transaction(async (tx) => {
      const plain = await readPlainWebhooks(tx, BATCH_WEBHOOKS)
      await storeSealedSecrets(
        tx,
        plain.map(({ id, secret, previousSecret }) => ({
          id,
          secret: sealWebhookSecret(box, id, secret),
          previousSecret: previousSecret && sealWebhookSecret(box, id, previousSecret),
        })),
      )
      return plain.length
    })
    sealed += count
    if (count < BATCH_WEBHOOKS) return sealed
  }
}

function about(webhookId: string): string {
  return `webhook ${webhookId}`
}
