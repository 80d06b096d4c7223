-- Groups of sessions: their members are chains.
CREATE TYPE "group_outcome" AS ENUM ('SUCCEEDED', 'FAILED', 'CANCELLED');
CREATE TYPE "group_rest" AS ENUM ('LET_RUN', 'STOP');

CREATE TABLE "session_groups" (
  "id" UUID NOT NULL,
  "project_id" UUID NOT NULL,
  "user_id" UUID,
  "key" TEXT,
  "name" TEXT NOT NULL,
  "is_open" BOOLEAN NOT NULL,
  "creation_digest" TEXT,
  "max_failed" INTEGER,
  "max_failed_percent" DOUBLE PRECISION,
  "min_succeeded" INTEGER,
  "max_running" INTEGER,
  "on_failure" "group_rest" NOT NULL,
  "total" INTEGER NOT NULL DEFAULT 0,
  "live" INTEGER NOT NULL DEFAULT 0,
  "waiting" INTEGER NOT NULL DEFAULT 0,
  "succeeded" INTEGER NOT NULL DEFAULT 0,
  "failed" INTEGER NOT NULL DEFAULT 0,
  "cancelled" INTEGER NOT NULL DEFAULT 0,
  "epoch" INTEGER NOT NULL DEFAULT 0,
  "outcome" "group_outcome",
  "reason" TEXT,
  "cancelled_by" TEXT,
  "created_by" TEXT,
  "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT reprise_now(),
  "ended_at" TIMESTAMPTZ(3),
  CONSTRAINT "session_groups_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "session_groups_outcome" CHECK ("ended_at" IS NULL OR "outcome" IS NOT NULL),
  CONSTRAINT "session_groups_limits" CHECK ("max_failed" >= 0 AND "max_failed_percent" BETWEEN 0 AND 100
    AND "min_succeeded" >= 1 AND "max_running" >= 1 AND "total" >= 0),
  CONSTRAINT "session_groups_project_id_fkey" FOREIGN KEY ("project_id") REFERENCES "projects"("id") ON DELETE CASCADE ON UPDATE CASCADE,
  CONSTRAINT "session_groups_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "users"("id") ON DELETE SET NULL ON UPDATE CASCADE
);
CREATE UNIQUE INDEX "session_groups_project_id_key_key" ON "session_groups"("project_id", "key");
CREATE INDEX "session_groups_project_id_created_at_id_idx" ON "session_groups"("project_id", "created_at" DESC, "id" DESC);
CREATE INDEX "session_groups_created_at_id_idx" ON "session_groups"("created_at" DESC, "id" DESC);

-- Changes of counts that settle-groups has not added to the group yet. Each statement that changes chains adds a row for
-- each group, so that transactions do not wait for each other's group. The counts of a group are its own and these.
CREATE TABLE "group_changes" (
  "id" BIGSERIAL NOT NULL,
  "group_id" UUID NOT NULL,
  "live" INTEGER NOT NULL DEFAULT 0,
  "waiting" INTEGER NOT NULL DEFAULT 0,
  "succeeded" INTEGER NOT NULL DEFAULT 0,
  "failed" INTEGER NOT NULL DEFAULT 0,
  "cancelled" INTEGER NOT NULL DEFAULT 0,
  CONSTRAINT "group_changes_pkey" PRIMARY KEY ("id"),
  CONSTRAINT "group_changes_group_id_fkey" FOREIGN KEY ("group_id") REFERENCES "session_groups"("id") ON DELETE CASCADE ON UPDATE CASCADE
);
CREATE INDEX "group_changes_group_id_idx" ON "group_changes"("group_id");

ALTER TABLE "sessions" ADD COLUMN "group_id" UUID, ADD COLUMN "group_index" INTEGER,
  ADD CONSTRAINT "sessions_group" CHECK (("group_id" IS NULL) = ("group_index" IS NULL)),
  ADD CONSTRAINT "sessions_group_id_fkey" FOREIGN KEY ("group_id") REFERENCES "session_groups"("id") ON DELETE RESTRICT ON UPDATE CASCADE;
ALTER TABLE "chains" ADD COLUMN "group_id" UUID, ADD COLUMN "group_index" INTEGER;

-- Members by index, of which each exists once, and by state.
CREATE UNIQUE INDEX "chains_of_groups" ON "chains" ("group_id", "group_index") WHERE "group_id" IS NOT NULL;
CREATE INDEX "chains_of_groups_by_state" ON "chains" ("group_id", "state", "group_index") WHERE "group_id" IS NOT NULL;

CREATE OR REPLACE FUNCTION chains_gain_attempts() RETURNS trigger LANGUAGE plpgsql
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off SET enable_indexscan = off
SET enable_indexonlyscan = off AS $$
BEGIN
  INSERT INTO chains (chain_id, project_id, name, labels, tail_id, attempts, epoch, state, created_at,
    newest_activity_at, ended_at, total_key, replica, group_id, group_index)
  SELECT s.id, s.project_id, s.name, s.labels, s.id, 1, s.epoch, n.state, s.created_at,
    greatest(s.created_at, s.terminated_at), n.ended_at, chain_total_key(s.created_at, n.ended_at),
    s.session_type = 'INFERENCE', s.group_id, s.group_index
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
    RETURNING c.tail_id, c.chain_id, c.project_id, c.epoch, c.attempts, s.origin, s.event_position
  )
  INSERT INTO session_events (xid, type, session_id, chain_id, project_id, data)
  SELECT event_position, 'chain.reopened', tail_id, chain_id, project_id, jsonb_build_object('epoch', epoch, 'attempts', attempts)
  FROM changed WHERE origin = 'RESUBMISSION';
  RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION refresh_chains(ids uuid[]) RETURNS void LANGUAGE sql
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off SET enable_indexscan = off
SET enable_indexonlyscan = off AS $$
  DELETE FROM chains c WHERE c.chain_id = ANY(ids) AND NOT EXISTS (SELECT FROM sessions s WHERE s.chain_id = c.chain_id);
  INSERT INTO chains (chain_id, project_id, name, labels, tail_id, attempts, epoch, state, cause, created_at,
    newest_activity_at, ended_at, total_key, due_at, replica, group_id, group_index)
  SELECT root.id, root.project_id, root.name, root.labels, tail.id, tail.attempt, tail.epoch, now.state, failed.cause,
    root.created_at, greatest(tail.created_at, tail.terminated_at, d.decided_at), now.ended_at,
    chain_total_key(root.created_at, now.ended_at), chain_due_at(now.state, d.due_at),
    tail.session_type = 'INFERENCE', root.group_id, root.group_index
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

-- Adds the changes of members, in the transaction that changes them. Removed chains stay counted.
CREATE FUNCTION count_new_members() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO group_changes (group_id, live, waiting, succeeded, failed, cancelled)
  SELECT group_id, count(*) FILTER (WHERE state = 'LIVE'), count(*) FILTER (WHERE state IN ('WAITING_RETRY', 'HELD')),
    count(*) FILTER (WHERE state = 'SUCCEEDED'), count(*) FILTER (WHERE state = 'FAILED'),
    count(*) FILTER (WHERE state = 'CANCELLED')
  FROM new_chains WHERE group_id IS NOT NULL GROUP BY group_id;
  RETURN NULL;
END $$;

CREATE FUNCTION count_changed_members() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO group_changes (group_id, live, waiting, succeeded, failed, cancelled)
  SELECT n.group_id, sum((n.state = 'LIVE')::int - (o.state = 'LIVE')::int),
    sum((n.state IN ('WAITING_RETRY', 'HELD'))::int - (o.state IN ('WAITING_RETRY', 'HELD'))::int),
    sum((n.state = 'SUCCEEDED')::int - (o.state = 'SUCCEEDED')::int),
    sum((n.state = 'FAILED')::int - (o.state = 'FAILED')::int),
    sum((n.state = 'CANCELLED')::int - (o.state = 'CANCELLED')::int)
  FROM new_chains n JOIN old_chains o ON o.chain_id = n.chain_id
  WHERE n.group_id IS NOT NULL AND n.state <> o.state GROUP BY n.group_id;
  RETURN NULL;
END $$;

CREATE TRIGGER chains_join_groups AFTER INSERT ON "chains"
  REFERENCING NEW TABLE AS new_chains FOR EACH STATEMENT EXECUTE FUNCTION count_new_members();
CREATE TRIGGER chains_change_groups AFTER UPDATE ON "chains"
  REFERENCING OLD TABLE AS old_chains NEW TABLE AS new_chains FOR EACH STATEMENT EXECUTE FUNCTION count_changed_members();

-- An event is of a session, of a deployment, or of a group.
ALTER TABLE "session_events" ADD COLUMN "group_id" UUID;
ALTER TABLE "session_events" DROP CONSTRAINT "session_events_subject";
ALTER TABLE "session_events" ADD CONSTRAINT "session_events_subject" CHECK (
  CASE WHEN "session_id" IS NOT NULL THEN "chain_id" IS NOT NULL AND "deployment_id" IS NULL AND "route_id" IS NULL AND "group_id" IS NULL
  ELSE "chain_id" IS NULL AND ("deployment_id" IS NULL) <> ("group_id" IS NULL) AND ("group_id" IS NULL OR "route_id" IS NULL) END) NOT VALID;
ALTER TABLE "session_events" VALIDATE CONSTRAINT "session_events_subject";

-- Groups whose rest is being ended.
CREATE INDEX "session_groups_ending" ON "session_groups" ("id") WHERE "outcome" IS NOT NULL AND "ended_at" IS NULL;

-- A webhook that gets the ends of groups instead of those of their members.
ALTER TABLE "webhooks" ADD COLUMN "skip_group_members" BOOLEAN NOT NULL DEFAULT false;
