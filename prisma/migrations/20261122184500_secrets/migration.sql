-- [{ name, sealed, digest }]: encrypted by the server.
ALTER TABLE "sessions" ADD COLUMN "secret_environ" JSONB NOT NULL DEFAULT '[]';
ALTER TABLE "deployment_revisions" ADD COLUMN "secret_environ" JSONB NOT NULL DEFAULT '[]';

-- False for what was stored before secrets were encrypted: the next start of a server, which has the key, does that.
ALTER TABLE "webhooks" ADD COLUMN "secret_sealed" BOOLEAN NOT NULL DEFAULT false;
-- Encrypted, they have 36 bytes more: the id of the key, a nonce and a tag.
ALTER TABLE "webhooks" DROP CONSTRAINT "webhooks_secret";
ALTER TABLE "webhooks" ADD CONSTRAINT "webhooks_secret" CHECK (
  octet_length("secret") BETWEEN 24 + CASE WHEN "secret_sealed" THEN 36 ELSE 0 END AND 64 + CASE WHEN "secret_sealed" THEN 36 ELSE 0 END);
