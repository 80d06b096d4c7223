-- Retries of one kind of failure that hits many chains at once are held, but for single probes.
ALTER TYPE "hold_reason" ADD VALUE 'BREAKER';

ALTER TABLE "retry_switches"
  ADD COLUMN "breaker_failures" INTEGER,
  ADD COLUMN "breaker_chains" INTEGER,
  ADD COLUMN "breaker_window_seconds" INTEGER,
  ADD CONSTRAINT "retry_switches_breaker" CHECK (num_nulls("breaker_failures", "breaker_chains", "breaker_window_seconds") IN (0, 3));

CREATE TABLE "retry_breakers" (
  "group_id" UUID NOT NULL,
  "project_id" UUID NOT NULL,
  "opened_at" TIMESTAMPTZ(3) NOT NULL DEFAULT reprise_now(),
  -- The person who opened it; null if it opened by itself.
  "opened_by" TEXT,
  -- The failures in its window when it opened, and their chains.
  "failure_count" INTEGER NOT NULL,
  "chain_count" INTEGER NOT NULL,
  -- Children that were dispatched as probes, oldest first.
  "probes" UUID[] NOT NULL DEFAULT ARRAY[]::UUID[],
  "next_probe_at" TIMESTAMPTZ(3) NOT NULL,
  "closed_at" TIMESTAMPTZ(3),
  CONSTRAINT "retry_breakers_pkey" PRIMARY KEY ("group_id"),
  CONSTRAINT "retry_breakers_group_id_fkey" FOREIGN KEY ("group_id") REFERENCES "failure_groups"("id") ON DELETE CASCADE ON UPDATE CASCADE,
  CONSTRAINT "retry_breakers_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
-- Every dispatch of retries asks whether any is open.
CREATE INDEX "retry_breakers_open" ON "retry_breakers"("project_id") WHERE "closed_at" IS NULL;
