-- What a browser downloads without a header: good once, for one path, and no longer than the browser's login.
CREATE TABLE "download_links" (
  "hash" BYTEA NOT NULL,
  "token_id" UUID NOT NULL,
  "expires_at" TIMESTAMPTZ(3) NOT NULL,
  CONSTRAINT "download_links_pkey" PRIMARY KEY ("hash")
);
CREATE INDEX "download_links_token_id_idx" ON "download_links"("token_id");
ALTER TABLE "download_links" ADD CONSTRAINT "download_links_token_id_fkey"
  FOREIGN KEY ("token_id") REFERENCES "api_tokens"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- The cookies of earlier servers were enough by themselves: browsers log in again.
DELETE FROM "api_tokens" WHERE "parent_id" IS NOT NULL;
