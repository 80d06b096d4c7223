-- What the attempts of the last month suggest to change. A background service finds it; people apply or dismiss it.
CREATE TYPE "advice_kind" AS ENUM ('NEVER_SUCCEEDS', 'RETRIES_UNUSED', 'MEMORY_TOO_LOW', 'MEMORY_TOO_HIGH', 'TIMEOUT_TOO_LOW',
  'OUTAGE_TOO_LONG', 'MANY_FAIL_AT_ONCE', 'BAD_AGENT', 'BAD_GPU');
CREATE TYPE "advice_state" AS ENUM ('OPEN', 'DISMISSED', 'APPLIED');

CREATE TABLE "retry_advice" (
  "id" UUID NOT NULL,
  -- Null for advice about machines, which concerns all projects.
  "project_id" UUID,
  "kind" "advice_kind" NOT NULL,
  -- What tells it from other advice of its kind.
  "subject" TEXT NOT NULL,
  "evidence" JSONB NOT NULL,
  "patch" JSONB NOT NULL,
  "examples" UUID[] NOT NULL,
  -- Grows with the evidence.
  "count" INTEGER NOT NULL,
  "slot_seconds" DOUBLE PRECISION NOT NULL,
  "gib_hours" DOUBLE PRECISION NOT NULL,
  -- On one scale, by which advice is ordered.
  "waste" DOUBLE PRECISION NOT NULL,
  "found_at" TIMESTAMPTZ(3) NOT NULL DEFAULT reprise_now(),
  -- When it was last found.
  "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT reprise_now(),
  "state" "advice_state" NOT NULL DEFAULT 'OPEN',
  "state_by" TEXT,
  "state_at" TIMESTAMPTZ(3),
  -- Its count at that time.
  "state_count" INTEGER,
  CONSTRAINT "retry_advice_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "retry_advice_place" CHECK (("project_id" IS NULL) = ("kind" IN ('BAD_AGENT', 'BAD_GPU'))),
  CONSTRAINT "retry_advice_state" CHECK (("state" = 'OPEN') = ("state_count" IS NULL)),
  CONSTRAINT "retry_advice_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "retry_advice_project_id_kind_subject_key" ON "retry_advice"("project_id", "kind", "subject") NULLS NOT DISTINCT;
