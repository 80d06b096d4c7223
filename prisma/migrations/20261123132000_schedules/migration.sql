CREATE TYPE "schedule_overlap" AS ENUM ('SKIP', 'QUEUE', 'CANCEL_OTHER');
CREATE TYPE "schedule_run_outcome" AS ENUM ('STARTED', 'QUEUED', 'SKIPPED', 'MISSED', 'REFUSED');

CREATE TABLE "schedules" (
  "id" UUID NOT NULL,
  "project_id" UUID NOT NULL,
  "name" TEXT NOT NULL,
  "cron" TEXT,
  "every" DOUBLE PRECISION,
  "time_zone" TEXT NOT NULL,
  "anchor_at" TIMESTAMPTZ(3) NOT NULL,
  "overlap" "schedule_overlap" NOT NULL,
  "catch_up" INTEGER NOT NULL,
  "jitter" DOUBLE PRECISION NOT NULL,
  "template" JSONB NOT NULL,
  "secret_environ" JSONB NOT NULL DEFAULT '[]',
  "token_id" UUID NOT NULL,
  "user_id" UUID,
  "owner" TEXT NOT NULL,
  "planned_at" TIMESTAMPTZ(3),
  "due_at" TIMESTAMPTZ(3),
  "queued" INTEGER NOT NULL DEFAULT 0,
  "status_reason" TEXT,
  "paused_at" TIMESTAMPTZ(3),
  "paused_by" TEXT,
  "pause_reason" TEXT,
  "created_by" TEXT NOT NULL,
  "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
  "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

  CONSTRAINT "schedules_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "schedules_timing" CHECK (("cron" IS NULL) <> ("every" IS NULL)),
  CONSTRAINT "schedules_planned" CHECK (("planned_at" IS NULL) = ("due_at" IS NULL)),
  CONSTRAINT "schedules_queued" CHECK ("queued" >= 0)
);
CREATE UNIQUE INDEX "schedules_project_id_name_key" ON "schedules"("project_id", "name");
CREATE INDEX "schedules_created_at_id_idx" ON "schedules"("created_at" DESC, "id" DESC);
CREATE INDEX "schedules_project_id_created_at_id_idx" ON "schedules"("project_id", "created_at" DESC, "id" DESC);
ALTER TABLE "schedules" ADD CONSTRAINT "schedules_project_id_fkey"
  FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "schedules" ADD CONSTRAINT "schedules_user_id_fkey"
  FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- Those that are due, and those with runs that wait for an earlier one: both empty on an idle server.
CREATE INDEX "schedules_due" ON "schedules"("due_at") WHERE "paused_at" IS NULL AND "due_at" IS NOT NULL;
CREATE INDEX "schedules_waiting" ON "schedules"("id") WHERE "paused_at" IS NULL AND "queued" > 0;

CREATE TABLE "schedule_runs" (
  "id" UUID NOT NULL,
  "schedule_id" UUID NOT NULL,
  "planned_at" TIMESTAMPTZ(3) NOT NULL,
  "last_planned_at" TIMESTAMPTZ(3) NOT NULL,
  "count" INTEGER NOT NULL DEFAULT 1,
  "outcome" "schedule_run_outcome" NOT NULL,
  "asked_by" TEXT,
  "chain_id" UUID,
  "code" TEXT,
  "reason" TEXT,
  "decided_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

  CONSTRAINT "schedule_runs_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "schedule_runs_chain" CHECK (("outcome" = 'STARTED') = ("chain_id" IS NOT NULL)),
  CONSTRAINT "schedule_runs_several" CHECK ("count" = 1 OR "outcome" IN ('SKIPPED', 'MISSED', 'REFUSED'))
);
-- A run is made once, whatever crashes and however many servers there are.
CREATE UNIQUE INDEX "schedule_runs_schedule_id_planned_at_key" ON "schedule_runs"("schedule_id", "planned_at");
CREATE INDEX "schedule_runs_queued" ON "schedule_runs"("schedule_id", "planned_at") WHERE "outcome" = 'QUEUED';
ALTER TABLE "schedule_runs" ADD CONSTRAINT "schedule_runs_schedule_id_fkey"
  FOREIGN KEY ("schedule_id") REFERENCES "schedules"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- Written in the transaction that creates the chain; the triggers leave it alone.
ALTER TABLE "chains" ADD COLUMN "schedule_id" UUID;
ALTER TABLE "chains" ADD CONSTRAINT "chains_schedule_id_fkey"
  FOREIGN KEY ("schedule_id") REFERENCES "schedules"("id") ON DELETE SET NULL ON UPDATE CASCADE;
CREATE INDEX "chains_of_schedule" ON "chains"("schedule_id", "state") WHERE "schedule_id" IS NOT NULL;
