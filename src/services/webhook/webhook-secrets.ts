import { readPlainWebhooks, storeSealedSecrets } from '../../store/sql/webhook/webhooks.sql.ts'
import type { Database } from '../../store/database.ts'
import type { SecretBox } from '../access/secrets.ts'

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
