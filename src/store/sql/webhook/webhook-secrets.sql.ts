import type { Queryable } from '../../database.ts'

export interface WebhookSecrets {
  id: string
  secret: Buffer
  previousSecret: Buffer | null
}

const PLAIN_SQL = `
SELECT id, secret, previous_secret AS "previousSecret" FROM webhooks WHERE NOT secret_sealed
ORDER BY id LIMIT $1 FOR UPDATE`

/** Webhooks whose secrets are stored as they are. The transaction holds them. */
export async function readPlainWebhooks(tx: Queryable, limit: number): Promise<WebhookSecrets[]> {
  return (await tx.query<WebhookSecrets>(PLAIN_SQL, [limit])).rows
}

const STORE_SQL = `
UPDATE webhooks w SET secret = s.secret, previous_secret = s.previous_secret, secret_sealed = true
FROM unnest($1::uuid[], $2::bytea[], $3::bytea[]) AS s(id, secret, previous_secret) WHERE w.id = s.id`

export async function storeSealedSecrets(tx: Queryable, sealed: readonly WebhookSecrets[]): Promise<void> {
  if (sealed.length === 0) return
  await tx.query(STORE_SQL, [
    sealed.map(({ id }) => id),
    sealed.map(({ secret }) => secret),
    sealed.map(({ previousSecret }) => previousSecret),
  ])
}
