import type { Queryable } from '../../database.ts'

const NOTE_SQL = `
WITH noted AS (
  INSERT INTO settings (key, value) VALUES ('secrets.key', to_jsonb($1::text)) ON CONFLICT (key) DO NOTHING RETURNING value
)
SELECT coalesce((SELECT value FROM noted), (SELECT value FROM settings WHERE key = 'secrets.key')) #>> '{}' AS id`

/** Notes the id of the key with which secrets are encrypted, unless one is noted; returns the one that is. */
export async function noteSecretsKey(db: Queryable, keyId: string): Promise<string> {
  const noted = (await db.query<{ id: string | null }>(NOTE_SQL, [keyId])).rows[0]!.id
  // Another server wrote it at the same moment: this statement's snapshot did not have it.
  return noted ?? noteSecretsKey(db, keyId)
}

const ADOPT_SQL = `UPDATE settings SET value = to_jsonb($1::text), updated_at = reprise_now() WHERE key = 'secrets.key' AND value #>> '{}' = $2`

export async function adoptSecretsKey(db: Queryable, keyId: string, before: string): Promise<void> {
  await db.query(ADOPT_SQL, [keyId, before])
}
