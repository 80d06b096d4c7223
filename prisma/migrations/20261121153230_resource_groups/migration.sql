-- AlterTable
ALTER TABLE "agents" ADD COLUMN "fence_after_ms" INTEGER NOT NULL DEFAULT 120000;
UPDATE "agents" a SET "fence_after_ms" = g."fence_after_ms" FROM "resource_groups" g WHERE g."name" = a."resource_group";

-- AlterTable
ALTER TABLE "resource_groups" ADD COLUMN "deleted_at" TIMESTAMPTZ(3);

-- What Prisma's schema language cannot say.

ALTER TABLE "resource_groups"
  ADD CONSTRAINT "resource_groups_counts" CHECK ("tries_max" >= 1 AND "reschedules_max" >= 0),
  ADD CONSTRAINT "resource_groups_timeouts" CHECK ("pending_timeout_ms" > 0 AND "prepare_timeout_ms" > 0
    AND "create_timeout_ms" > 0 AND "terminate_timeout_ms" > 0 AND "fence_after_ms" > 0 AND "stop_grace_ms" >= 0);
