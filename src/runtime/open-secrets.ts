import type { Config } from '../config.ts'
import type { Logger } from '../observability/log.ts'
import { sealPlainWebhooks } from '../services/webhook/seal-webhook-secrets.ts'
import type { SecretBox } from '../services/access/secret-box.ts'
import { assertSharedKey, readSecretsKey } from '../services/access/secrets-key.ts'
import type { Database } from '../store/database.ts'

/** What encrypts secrets, once it is certain that it is what all servers of the database use. @throws Error for people */
export async function openSecrets(options: {
  config: Config
  dataDir: string
  db: Database
  log: Logger
}): Promise<SecretBox> {
  const { config, dataDir, db, log } = options
  const box = await readSecretsKey({ file: config.secretsKeyFile, dataDir })
  await assertSharedKey(db, box)
  const sealed = await sealPlainWebhooks(db, box)
  if (sealed > 0) log.info(`the secrets of ${sealed} webhooks are encrypted now`)
  return box
}
