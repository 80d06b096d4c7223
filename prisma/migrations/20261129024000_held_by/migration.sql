-- AlterTable
ALTER TABLE "retry_decisions" ADD COLUMN "held_by" JSONB;
ALTER TABLE "retry_waits" ADD COLUMN "held_by" JSONB;
