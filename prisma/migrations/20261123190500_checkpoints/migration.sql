-- CreateEnum
CREATE TYPE "checkpoint_state" AS ENUM ('HERE', 'FETCHED', 'MISSING');

-- AlterTable
ALTER TABLE "agents" ADD COLUMN "chain_store" UUID;

-- CreateTable
CREATE TABLE "checkpoints" (
    "chain_id" UUID NOT NULL,
    "project_id" UUID NOT NULL,
    "generation" INTEGER NOT NULL DEFAULT 0,
    "attempt" INTEGER,
    "store" UUID,
    "files" INTEGER,
    "bytes" BIGINT,
    "newest_at" TIMESTAMPTZ(3),
    "published_at" TIMESTAMPTZ(3),
    "dropped_at" TIMESTAMPTZ(3),

    CONSTRAINT "checkpoints_pkey" PRIMARY KEY ("chain_id")
);

-- CreateTable
CREATE TABLE "session_checkpoints" (
    "session_id" UUID NOT NULL,
    "state" "checkpoint_state" NOT NULL,
    "from_attempt" INTEGER,
    "store" UUID,
    "bytes" BIGINT,
    "note" TEXT,

    CONSTRAINT "session_checkpoints_pkey" PRIMARY KEY ("session_id")
);

-- CreateIndex
CREATE INDEX "checkpoints_project_id_idx" ON "checkpoints"("project_id");

-- AddForeignKey
ALTER TABLE "checkpoints" ADD CONSTRAINT "checkpoints_chain_id_fkey" FOREIGN KEY ("chain_id") REFERENCES "sessions"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "session_checkpoints" ADD CONSTRAINT "session_checkpoints_session_id_fkey" FOREIGN KEY ("session_id") REFERENCES "sessions"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- What Prisma's schema language cannot say.

ALTER TABLE "checkpoints"
  ADD CONSTRAINT "checkpoints_newest" CHECK (("attempt" IS NULL) = ("store" IS NULL) AND ("attempt" IS NULL) = ("published_at" IS NULL)
    AND "attempt" >= 1 AND "generation" >= 0 AND "files" >= 0 AND "bytes" >= 0);
