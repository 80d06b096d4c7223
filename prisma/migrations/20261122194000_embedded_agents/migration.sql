-- AlterTable
ALTER TABLE "agents" ADD COLUMN "embedded" BOOLEAN NOT NULL DEFAULT false;

-- Those that came without a token; each says it again when it registers.
UPDATE "agents" SET "embedded" = true WHERE "token_id" IS NULL;
