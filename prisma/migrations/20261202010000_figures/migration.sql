-- What attempts cost and what retries bring, summed up by day. Decisions only note which attempts have changed; a
-- background service sums them up.
CREATE TYPE "attempt_outcome" AS ENUM ('SUCCEEDED', 'FAILED', 'STOPPED');
CREATE TYPE "figure_grouping" AS ENUM ('PROJECT', 'NAME', 'USER', 'RESOURCE_GROUP', 'IMAGE', 'AGENT', 'SESSION_GROUP', 'LABEL',
  'CAUSE', 'EXIT_CODE', 'RULE', 'FAILURE_GROUP');

-- Attempts whose figures may have changed. The transaction that changes them adds a row; one attempt may have several.
CREATE TABLE "figures_due" (
  "id" BIGSERIAL NOT NULL,
  "session_id" UUID NOT NULL,
  CONSTRAINT "figures_due_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "figures_due_session_id_idx" ON "figures_due"("session_id");

-- What each attempt has added to the sums.
CREATE TABLE "attempt_figures" (
  "session_id" UUID NOT NULL,
  "project_id" UUID NOT NULL,
  "chain_id" UUID NOT NULL,
  "attempt" INTEGER NOT NULL,
  -- Whether it is a BATCH session, which can be retried.
  "batch" BOOLEAN NOT NULL,
  "started_at" TIMESTAMPTZ(3),
  "ended_at" TIMESTAMPTZ(3) NOT NULL,
  "name" TEXT NOT NULL,
  "user_id" UUID,
  "resource_group" TEXT NOT NULL,
  "image" TEXT,
  -- The agent of the kernel that decided how it ended.
  "agent_id" UUID,
  "group_id" UUID,
  "labels" JSONB NOT NULL,
  "outcome" "attempt_outcome" NOT NULL,
  "cause" "failure_cause",
  "exit_code" INTEGER,
  -- The rule of the policy that decided about its failure, as JSON.
  "rule" TEXT,
  "failure_group_id" UUID,
  -- Retries in its epoch before it: 0 for a first attempt.
  "retry" SMALLINT NOT NULL,
  -- How its automatic retry ended; null if it has none that has ended.
  "retry_outcome" "attempt_outcome",
  -- Whether it is the last attempt of an epoch that failed in spite of retries.
  "lost" BOOLEAN NOT NULL,
  -- From the first attempt of the epoch to the success of its retry.
  "saved_after_ms" BIGINT,
  "waited_ms" BIGINT NOT NULL,
  -- What all of its kernels requested.
  "cpus" DOUBLE PRECISION NOT NULL,
  "memory_bytes" DOUBLE PRECISION NOT NULL,
  "gpus" DOUBLE PRECISION NOT NULL,
  -- What they used; null if unknown. The peak is that of one kernel.
  "used_cpu_ms" BIGINT,
  "peak_memory_bytes" BIGINT,
  CONSTRAINT "attempt_figures_pkey" PRIMARY KEY ("session_id"),
  CONSTRAINT "attempt_figures_session_id_fkey" FOREIGN KEY ("session_id") REFERENCES "sessions"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "attempt_figures_project_id_ended_at_idx" ON "attempt_figures"("project_id", "ended_at");

-- Sums over the attempts of one project with one value of a property, by day (UTC). They stay when the sessions are deleted.
CREATE TABLE "rolled_figures" (
  "project_id" UUID NOT NULL,
  "grouping" "figure_grouping" NOT NULL,
  -- The key of a label; empty for other properties.
  "label" TEXT NOT NULL,
  "at" TIMESTAMPTZ(3) NOT NULL,
  -- The value of the property; empty for none.
  "key" TEXT NOT NULL,
  -- Of sessions of all types. Times are in milliseconds. All of them are whole numbers, whose sums are
  -- exact. Of the day in which they were spent.
  "sessions" DOUBLE PRECISION NOT NULL,
  "running_ms" DOUBLE PRECISION NOT NULL,
  "cpu_ms" DOUBLE PRECISION NOT NULL,
  "memory_mib_ms" DOUBLE PRECISION NOT NULL,
  "gpu_ms" DOUBLE PRECISION NOT NULL,
  "used_cpu_ms" DOUBLE PRECISION NOT NULL,
  -- Of BATCH sessions that ended on that day.
  "attempts" DOUBLE PRECISION NOT NULL,
  "failed" DOUBLE PRECISION NOT NULL,
  "retries" DOUBLE PRECISION NOT NULL,
  "saved" DOUBLE PRECISION NOT NULL,
  "retries_failed" DOUBLE PRECISION NOT NULL,
  "lost" DOUBLE PRECISION NOT NULL,
  "waited_ms" DOUBLE PRECISION NOT NULL,
  "useful_ms" DOUBLE PRECISION NOT NULL,
  "spent_ms" DOUBLE PRECISION NOT NULL,
  "lost_ms" DOUBLE PRECISION NOT NULL,
  "lost_cpu_ms" DOUBLE PRECISION NOT NULL,
  "lost_memory_mib_ms" DOUBLE PRECISION NOT NULL,
  "lost_gpu_ms" DOUBLE PRECISION NOT NULL,
  CONSTRAINT "rolled_figures_pkey" PRIMARY KEY ("project_id", "grouping", "label", "at", "key"),
  CONSTRAINT "rolled_figures_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- How the retries of these attempts ended.
CREATE TABLE "rolled_retries" (
  "project_id" UUID NOT NULL,
  "grouping" "figure_grouping" NOT NULL,
  "label" TEXT NOT NULL,
  "at" TIMESTAMPTZ(3) NOT NULL,
  "key" TEXT NOT NULL,
  -- Retries in their epoch before these attempts: 0 for first attempts. -1 in rows for a class of times to success.
  "retry" SMALLINT NOT NULL,
  -- The class of times from the first attempt of the epoch to the success. -1 in rows for a number of retries.
  "bucket" SMALLINT NOT NULL,
  "retries" DOUBLE PRECISION NOT NULL,
  "saved" DOUBLE PRECISION NOT NULL,
  "retries_failed" DOUBLE PRECISION NOT NULL,
  CONSTRAINT "rolled_retries_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
-- Reads need the index alone. Its condition, which all rows meet, hides from Prisma what it cannot express.
CREATE UNIQUE INDEX "rolled_retries_key" ON "rolled_retries" ("project_id", "grouping", "label", "key", "at", "retry", "bucket")
  INCLUDE ("retries", "saved", "retries_failed") WHERE "retry" >= -1;

-- One trigger notes what a decision is about, both for its log and for its figures.
CREATE OR REPLACE FUNCTION note_failures() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO failures_due (session_id)
  SELECT session_id FROM new_decisions WHERE cause IS NOT NULL AND cause <> 'USER_CANCELLED'
  ON CONFLICT DO NOTHING;
  INSERT INTO figures_due (session_id) SELECT session_id FROM new_decisions;
  RETURN NULL;
END $$;

CREATE FUNCTION note_figures() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO figures_due (session_id) VALUES (NEW.session_id);
  RETURN NULL;
END $$;

-- Retries that were decided are cancelled or refused, or decided again.
CREATE TRIGGER retry_decisions_note_figures AFTER UPDATE ON "retry_decisions" FOR EACH ROW
  WHEN (NEW.phase <> OLD.phase AND NEW.phase <> 'DISPATCHED' AND NEW.phase <> 'HELD'
    OR NEW.cause IS DISTINCT FROM OLD.cause OR NEW.matched_rule IS DISTINCT FROM OLD.matched_rule)
  EXECUTE FUNCTION note_figures();

-- Usage that is reported after the end.
CREATE TRIGGER kernels_note_figures AFTER UPDATE ON "kernels" FOR EACH ROW
  WHEN (OLD.status IN ('TERMINATED', 'ERROR', 'CANCELLED') AND (NEW.cpu_seconds IS DISTINCT FROM OLD.cpu_seconds
    OR NEW.peak_memory_bytes IS DISTINCT FROM OLD.peak_memory_bytes))
  EXECUTE FUNCTION note_figures();

CREATE TRIGGER failures_note_figures AFTER INSERT OR UPDATE ON "failures" FOR EACH ROW EXECUTE FUNCTION note_figures();

-- Sessions of other types have no decision.
CREATE FUNCTION note_ended_figures() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO figures_due (session_id) VALUES (NEW.id);
  RETURN NULL;
END $$;

CREATE TRIGGER sessions_note_figures AFTER UPDATE ON "sessions" FOR EACH ROW
  WHEN (NEW.session_type <> 'BATCH' AND NEW.terminated_at IS NOT NULL AND OLD.terminated_at IS NULL)
  EXECUTE FUNCTION note_ended_figures();

-- The attempts so far.
INSERT INTO figures_due (session_id)
SELECT id FROM sessions WHERE terminated_at IS NOT NULL AND retry_decided ORDER BY terminated_at;
