-- DropIndex
DROP INDEX "chains_project_id_state_newest_activity_at_chain_id_idx";
DROP INDEX "chains_project_id_state_attempts_chain_id_idx";
DROP INDEX "chains_project_id_state_total_key_chain_id_idx";
DROP INDEX "chains_project_id_state_name_chain_id_idx";
DROP INDEX "chains_project_id_state_created_at_chain_id_idx";

-- AlterTable
ALTER TABLE "chains" ADD COLUMN "replica" BOOLEAN NOT NULL DEFAULT false;

-- What Prisma's schema language cannot say.

UPDATE "chains" c SET "replica" = true FROM "sessions" s WHERE s.id = c.tail_id AND s.session_type = 'INFERENCE';

-- CreateIndex
CREATE INDEX "chains_by_activity" ON "chains"("project_id", "state", "replica", "newest_activity_at", "chain_id");

-- CreateIndex
CREATE INDEX "chains_by_attempts" ON "chains"("project_id", "state", "replica", "attempts", "chain_id");

-- CreateIndex
CREATE INDEX "chains_by_total" ON "chains"("project_id", "state", "replica", "total_key", "chain_id");

-- CreateIndex
CREATE INDEX "chains_by_name" ON "chains"("project_id", "state", "replica", "name", "chain_id");

-- CreateIndex
CREATE INDEX "chains_by_creation" ON "chains"("project_id", "state", "replica", "created_at", "chain_id");

CREATE OR REPLACE FUNCTION refresh_chains(ids uuid[]) RETURNS void LANGUAGE sql
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off SET enable_indexscan = off
SET enable_indexonlyscan = off AS $$
  DELETE FROM chains c WHERE c.chain_id = ANY(ids) AND NOT EXISTS (SELECT FROM sessions s WHERE s.chain_id = c.chain_id);
  INSERT INTO chains (chain_id, project_id, name, labels, tail_id, attempts, epoch, state, cause, created_at,
    newest_activity_at, ended_at, total_key, due_at, replica)
  SELECT root.id, root.project_id, root.name, root.labels, tail.id, tail.attempt, tail.epoch, now.state, failed.cause,
    root.created_at, greatest(tail.created_at, tail.terminated_at, d.decided_at), now.ended_at,
    chain_total_key(root.created_at, now.ended_at), chain_due_at(now.state, d.due_at),
    tail.session_type = 'INFERENCE'
  FROM unnest(ids) AS wanted(id) JOIN sessions root ON root.id = wanted.id
  CROSS JOIN LATERAL (SELECT * FROM sessions s WHERE s.chain_id = root.id ORDER BY s.attempt DESC LIMIT 1) AS tail
  LEFT JOIN retry_decisions d ON d.session_id = tail.id
  CROSS JOIN LATERAL (SELECT chain_state(tail.status, tail.result, tail.session_type, d.phase,
    (SELECT known.cancelled_at FROM chains known WHERE known.chain_id = root.id)) AS state) AS is_now
  CROSS JOIN LATERAL (SELECT is_now.state,
    chain_ended_at(is_now.state, tail.terminated_at, d.abandoned_at) AS ended_at) AS now
  LEFT JOIN LATERAL (SELECT s.failure_cause AS cause FROM sessions s
    WHERE s.chain_id = root.id AND s.failure_cause IS NOT NULL ORDER BY s.attempt DESC LIMIT 1) AS failed ON true
  WHERE root.attempt = 1
  ON CONFLICT (chain_id) DO UPDATE SET created_at = EXCLUDED.created_at, tail_id = EXCLUDED.tail_id, attempts = EXCLUDED.attempts,
    epoch = EXCLUDED.epoch, state = EXCLUDED.state, cause = EXCLUDED.cause,
    newest_activity_at = EXCLUDED.newest_activity_at, ended_at = EXCLUDED.ended_at, total_key = EXCLUDED.total_key,
    due_at = EXCLUDED.due_at;
$$;

CREATE OR REPLACE FUNCTION chains_gain_attempts() RETURNS trigger LANGUAGE plpgsql
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off SET enable_indexscan = off
SET enable_indexonlyscan = off AS $$
BEGIN
  INSERT INTO chains (chain_id, project_id, name, labels, tail_id, attempts, epoch, state, created_at,
    newest_activity_at, ended_at, total_key, replica)
  SELECT s.id, s.project_id, s.name, s.labels, s.id, 1, s.epoch, n.state, s.created_at,
    greatest(s.created_at, s.terminated_at), n.ended_at, chain_total_key(s.created_at, n.ended_at),
    s.session_type = 'INFERENCE'
  FROM (SELECT s.*, chain_state(s.status, s.result, s.session_type, NULL) AS state FROM new_sessions s) AS s
  CROSS JOIN LATERAL (SELECT s.state, CASE WHEN chain_is_over(s.state) THEN s.terminated_at END AS ended_at) AS n
  WHERE s.attempt = 1;

  WITH changed AS (
    UPDATE chains c SET tail_id = s.id, attempts = s.attempt, epoch = s.epoch, state = n.state,
      newest_activity_at = greatest(c.newest_activity_at, s.created_at, s.terminated_at), ended_at = n.ended_at,
      total_key = chain_total_key(c.created_at, n.ended_at), due_at = NULL,
      cancelled_at = CASE WHEN s.origin <> 'RESUBMISSION' THEN c.cancelled_at END,
      cancelled_by = CASE WHEN s.origin <> 'RESUBMISSION' THEN c.cancelled_by END
    FROM (SELECT DISTINCT ON (s.chain_id) s.*, chain_state(s.status, s.result, s.session_type, NULL) AS state
      FROM new_sessions s WHERE s.attempt > 1 ORDER BY s.chain_id, s.attempt DESC) AS s
    CROSS JOIN LATERAL (SELECT s.state, CASE WHEN chain_is_over(s.state) THEN s.terminated_at END AS ended_at) AS n
    WHERE c.chain_id = s.chain_id AND c.project_id = s.project_id AND c.attempts < s.attempt
    RETURNING c.tail_id, c.chain_id, c.project_id, c.epoch, c.attempts, s.origin
  )
  INSERT INTO session_events (type, session_id, chain_id, project_id, data)
  SELECT 'chain.reopened', tail_id, chain_id, project_id, jsonb_build_object('epoch', epoch, 'attempts', attempts)
  FROM changed WHERE origin = 'RESUBMISSION';
  RETURN NULL;
END $$;

-- Whether the batch timeout ended it: a failure of its own kind, although its cause is KERNEL_NONZERO_EXIT.
ALTER TABLE "sessions" ADD COLUMN "timed_out" BOOLEAN NOT NULL DEFAULT false;

CREATE FUNCTION session_times_out() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.timed_out := coalesce(NEW.status_data #>> '{error,name}' = 'task-timeout' AND NEW.terminated_by IS NULL, false);
  RETURN NEW;
END $$;
-- Sessions that end without an error cost only the condition.
CREATE TRIGGER sessions_inserted_time_out BEFORE INSERT ON "sessions" FOR EACH ROW
  WHEN (NEW.status_data IS NOT NULL) EXECUTE FUNCTION session_times_out();
CREATE TRIGGER sessions_time_out BEFORE UPDATE ON "sessions" FOR EACH ROW
  WHEN (NEW.status_data IS NOT NULL OR OLD.timed_out) EXECUTE FUNCTION session_times_out();

UPDATE "sessions" SET "timed_out" = true
WHERE "status_data" #>> '{error,name}' = 'task-timeout' AND "terminated_by" IS NULL;

-- The few that timed out, newest first.
CREATE INDEX "sessions_timed_out" ON "sessions" ("project_id", "created_at" DESC, "id" DESC) WHERE "timed_out";

-- Statistics count timeouts apart, and can leave out replicas.
DROP INDEX "sessions_over";
CREATE INDEX "sessions_over" ON "sessions" ("project_id", "terminated_at")
  INCLUDE ("status", "result", "origin", "failure_cause", "retry_cause", "session_type", "timed_out")
  WHERE "status" IN ('TERMINATED', 'ERROR', 'CANCELLED');

-- Finds the distinct demands of pending sessions, and the sessions of each: whether any agent could ever take a session
-- depends on nothing else.
CREATE INDEX "sessions_demands" ON "sessions" ("project_id", "resource_group",
    (scheduling_lane("project_id", "user_id", "priority", "resource_slots", "cluster_size",
      "cluster_mode" = 'SINGLE_NODE', "session_type" <> 'BATCH', "allow_agents", "exclude_agents", "agent_labels",
      "mounts")))
  WHERE "status" = 'PENDING';
