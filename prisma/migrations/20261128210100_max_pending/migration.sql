-- AlterTable
ALTER TABLE "sessions" ADD COLUMN "max_pending" DOUBLE PRECISION;

-- What Prisma's schema language cannot say.

ALTER TABLE "sessions" ADD CONSTRAINT "sessions_max_pending_positive" CHECK ("max_pending" > 0);

-- Waiting sessions with a limit, in the order in which they reach it. In UTC, because only that is immutable.
CREATE INDEX "sessions_max_pending" ON "sessions"
  ("resource_group", (("status_changed_at" AT TIME ZONE 'UTC') + make_interval(secs => "max_pending")))
  WHERE "status" = 'PENDING' AND "max_pending" IS NOT NULL;
