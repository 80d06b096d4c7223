-- A browser that somebody has logged in with a token has a token of its own, the child of that one, and valid no longer.
ALTER TABLE "api_tokens" ADD COLUMN "parent_id" UUID;
ALTER TABLE "api_tokens" ADD CONSTRAINT "api_tokens_parent_id_fkey"
  FOREIGN KEY ("parent_id") REFERENCES "api_tokens"("id") ON DELETE CASCADE ON UPDATE CASCADE;
CREATE INDEX "api_tokens_parent_id_idx" ON "api_tokens"("parent_id");

-- What a program with a token gives a browser instead of it.
CREATE TABLE "login_codes" (
  "hash" BYTEA NOT NULL,
  "token_id" UUID NOT NULL,
  "expires_at" TIMESTAMPTZ(3) NOT NULL,
  CONSTRAINT "login_codes_pkey" PRIMARY KEY ("hash")
);
CREATE UNIQUE INDEX "login_codes_token_id_key" ON "login_codes"("token_id");
ALTER TABLE "login_codes" ADD CONSTRAINT "login_codes_token_id_fkey"
  FOREIGN KEY ("token_id") REFERENCES "api_tokens"("id") ON DELETE CASCADE ON UPDATE CASCADE;
