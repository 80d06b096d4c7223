-- With which token an agent registered: no other one speaks for it while this one is in force.
ALTER TABLE "agents" ADD COLUMN "token_id" UUID;
ALTER TABLE "agents" ADD CONSTRAINT "agents_token_id_fkey" FOREIGN KEY ("token_id") REFERENCES "api_tokens"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- Tokens are listed newest first.
CREATE INDEX "api_tokens_created_at_id_idx" ON "api_tokens"("created_at" DESC, "id" DESC);
