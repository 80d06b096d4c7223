-- Failed attempts, grouped by what they say.
CREATE TYPE "failure_group_state" AS ENUM ('OPEN', 'KNOWN', 'MUTED', 'RESOLVED');

CREATE TABLE "failure_groups" (
  "id" UUID NOT NULL,
  "project_id" UUID NOT NULL,
  "fingerprint" TEXT NOT NULL,
  "version" INTEGER NOT NULL,
  "title" TEXT NOT NULL,
  -- The name that a person gave it.
  "name" TEXT,
  "cause" "failure_cause",
  "exit_code" INTEGER,
  -- The lines that the fingerprint was made of, before and after masking.
  "lines" TEXT[] NOT NULL,
  "masked" TEXT[] NOT NULL,
  "state" "failure_group_state" NOT NULL DEFAULT 'OPEN',
  "note" TEXT,
  "link" TEXT,
  "muted_until" TIMESTAMPTZ(3),
  "state_by" TEXT,
  "state_at" TIMESTAMPTZ(3),
  -- When it occurred again after it was resolved.
  "regressed_at" TIMESTAMPTZ(3),
  -- The group that shows its failures.
  "merged_into" UUID,
  "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT reprise_now(),
  "last_at" TIMESTAMPTZ(3) NOT NULL DEFAULT reprise_now(),
  CONSTRAINT "failure_groups_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "failure_groups_merged" CHECK ("merged_into" <> "id"),
  CONSTRAINT "failure_groups_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE CASCADE,
  CONSTRAINT "failure_groups_merged_into_fkey" FOREIGN KEY ("merged_into") REFERENCES "failure_groups"("id") ON DELETE SET NULL ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "failure_groups_project_id_fingerprint_key" ON "failure_groups"("project_id", "fingerprint");
CREATE INDEX "failure_groups_merged_into_idx" ON "failure_groups"("merged_into") WHERE "merged_into" IS NOT NULL;
CREATE INDEX "failure_groups_project_id_created_at_idx" ON "failure_groups"("project_id", "created_at");
-- The groups of failures that got no group of their own: at most one for each project.
CREATE INDEX "failure_groups_overflow" ON "failure_groups"("last_at") WHERE "fingerprint" = 'overflow';
CREATE INDEX "failure_groups_project_id_last_at_idx" ON "failure_groups"("project_id", "last_at");

-- The group of each failed attempt.
CREATE TABLE "failures" (
  "session_id" UUID NOT NULL,
  "project_id" UUID NOT NULL,
  "chain_id" UUID NOT NULL,
  "group_id" UUID NOT NULL,
  "failed_at" TIMESTAMPTZ(3) NOT NULL,
  CONSTRAINT "failures_pkey" PRIMARY KEY ("session_id"),
  CONSTRAINT "failures_session_id_fkey" FOREIGN KEY ("session_id") REFERENCES "sessions"("id") ON DELETE CASCADE ON UPDATE CASCADE,
  CONSTRAINT "failures_group_id_fkey" FOREIGN KEY ("group_id") REFERENCES "failure_groups"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "failures_group_id_failed_at_idx" ON "failures"("group_id", "failed_at");
CREATE INDEX "failures_project_id_failed_at_idx" ON "failures"("project_id", "failed_at");

-- Failed attempts whose group is still to be found. The transaction that decides adds them: a decision never waits for a log.
CREATE TABLE "failures_due" (
  "session_id" UUID NOT NULL,
  "since" TIMESTAMPTZ(3) NOT NULL DEFAULT reprise_now(),
  CONSTRAINT "failures_due_pkey" PRIMARY KEY ("session_id"),
  CONSTRAINT "failures_due_session_id_fkey" FOREIGN KEY ("session_id") REFERENCES "sessions"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "failures_due_since_idx" ON "failures_due"("since");

CREATE FUNCTION note_failures() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO failures_due (session_id)
  SELECT session_id FROM new_decisions WHERE cause IS NOT NULL AND cause <> 'USER_CANCELLED'
  ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;

CREATE TRIGGER retry_decisions_note_failures AFTER INSERT ON "retry_decisions"
  REFERENCING NEW TABLE AS new_decisions FOR EACH STATEMENT EXECUTE FUNCTION note_failures();

-- Masked lines of successful runs that look like errors, by the name of the work: failures are not grouped by them.
CREATE TABLE "usual_lines" (
  "project_id" UUID NOT NULL,
  "name" TEXT NOT NULL,
  "session_id" UUID NOT NULL,
  "hashes" BIGINT[] NOT NULL,
  "read_at" TIMESTAMPTZ(3) NOT NULL DEFAULT reprise_now(),
  CONSTRAINT "usual_lines_pkey" PRIMARY KEY ("project_id", "name", "session_id"),
  CONSTRAINT "usual_lines_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "usual_lines_read_at_idx" ON "usual_lines"("read_at");
