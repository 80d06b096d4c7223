-- AlterTable
ALTER TABLE "resource_groups" ADD COLUMN "queue_timeout_ms" INTEGER;

-- What Prisma's schema language cannot say.

ALTER TABLE "resource_groups" ADD CONSTRAINT "resource_groups_queue_timeout" CHECK ("queue_timeout_ms" > 0);
