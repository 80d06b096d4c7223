-- AlterTable
ALTER TABLE "resource_policies" ADD COLUMN     "max_checkpoint_bytes" BIGINT;

-- What Prisma's schema language cannot say.

ALTER TABLE "resource_policies"
  ADD CONSTRAINT "resource_policies_checkpoint_bytes" CHECK ("max_checkpoint_bytes" >= 0),
  DROP CONSTRAINT "resource_policies_limit_something",
  ADD CONSTRAINT "resource_policies_limit_something"
    CHECK ("max_running" IS NOT NULL OR "max_pending" IS NOT NULL OR "max_checkpoint_bytes" IS NOT NULL OR "slots" <> '{}');
