-- CreateEnum
CREATE TYPE "outputs_state" AS ENUM ('WAITING', 'COLLECTING', 'COMPLETE', 'PARTIAL', 'LOST', 'NONE', 'EXPIRED');

-- AlterTable
ALTER TABLE "sessions" ADD COLUMN "outputs" JSONB,
  ADD COLUMN "inputs" JSONB NOT NULL DEFAULT '[]';

-- AlterTable
ALTER TABLE "resource_policies" ADD COLUMN "max_output_bytes" BIGINT;

-- CreateTable
CREATE TABLE "session_outputs" (
    "session_id" UUID NOT NULL,
    "project_id" UUID NOT NULL,
    "state" "outputs_state" NOT NULL DEFAULT 'WAITING',
    "assignment" INTEGER,
    "manifest" TEXT,
    "bytes" BIGINT NOT NULL DEFAULT 0,
    "files" INTEGER NOT NULL DEFAULT 0,
    "reasons" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "heard_at" TIMESTAMPTZ(3),
    "completed_at" TIMESTAMPTZ(3),
    "expires_at" TIMESTAMPTZ(3),
    "pinned_at" TIMESTAMPTZ(3),

    CONSTRAINT "session_outputs_pkey" PRIMARY KEY ("session_id")
);

-- CreateTable
CREATE TABLE "output_files" (
    "session_id" UUID NOT NULL,
    "path" TEXT COLLATE "C" NOT NULL,
    "project_id" UUID NOT NULL,
    "sha256" TEXT NOT NULL,
    "bytes" BIGINT NOT NULL,
    "mode" INTEGER NOT NULL,
    "target" TEXT,
    "modified_at" TIMESTAMPTZ(3),

    CONSTRAINT "output_files_pkey" PRIMARY KEY ("session_id","path")
);

-- CreateIndex
CREATE INDEX "output_files_project_id_sha256_idx" ON "output_files"("project_id", "sha256");

-- AddForeignKey
ALTER TABLE "session_outputs" ADD CONSTRAINT "session_outputs_session_id_fkey"
  FOREIGN KEY ("session_id") REFERENCES "sessions"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "output_files" ADD CONSTRAINT "output_files_session_id_fkey"
  FOREIGN KEY ("session_id") REFERENCES "session_outputs"("session_id") ON DELETE CASCADE ON UPDATE CASCADE;

-- What Prisma's schema language cannot say.

ALTER TABLE "output_files" ADD CONSTRAINT "output_files_sha256" CHECK ("sha256" ~ '^[0-9a-f]{64}$');
ALTER TABLE "output_files" ADD CONSTRAINT "output_files_size" CHECK ("bytes" >= 0);

-- For the pass that finds outputs that no agent will send any more.
CREATE INDEX "session_outputs_open" ON "session_outputs" ("session_id") WHERE "state" IN ('WAITING', 'COLLECTING');
-- For the quota, and for the pass that removes expired outputs.
CREATE INDEX "session_outputs_kept" ON "session_outputs" ("project_id", "expires_at") WHERE "files" > 0;

ALTER TABLE "resource_policies"
  ADD CONSTRAINT "resource_policies_output_bytes" CHECK ("max_output_bytes" >= 0),
  DROP CONSTRAINT "resource_policies_limit_something",
  ADD CONSTRAINT "resource_policies_limit_something"
    CHECK ("max_running" IS NOT NULL OR "max_pending" IS NOT NULL OR "max_checkpoint_bytes" IS NOT NULL
      OR "max_output_bytes" IS NOT NULL OR "slots" <> '{}');
