-- The time for everything that decides by time or records it. PostgreSQL inlines both functions wherever they are called,
-- so plans show `now()` and `clock_timestamp()`. Tests replace them to let time pass for all connections at once.

-- When the transaction began.
CREATE FUNCTION "reprise_now"() RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE AS $$ SELECT now() $$;

-- The time of the call itself, which goes on within a transaction.
CREATE FUNCTION "reprise_clock"() RETURNS timestamptz LANGUAGE sql VOLATILE PARALLEL SAFE AS $$ SELECT clock_timestamp() $$;

-- AlterTable
ALTER TABLE "domains" ALTER COLUMN "created_at" SET DEFAULT reprise_now();

-- AlterTable
ALTER TABLE "projects" ALTER COLUMN "created_at" SET DEFAULT reprise_now();

-- AlterTable
ALTER TABLE "users" ALTER COLUMN "created_at" SET DEFAULT reprise_now();

-- AlterTable
ALTER TABLE "api_tokens" ALTER COLUMN "created_at" SET DEFAULT reprise_now();

-- AlterTable
ALTER TABLE "servers" ALTER COLUMN "started_at" SET DEFAULT reprise_now(),
ALTER COLUMN "last_seen_at" SET DEFAULT reprise_now();

-- AlterTable
ALTER TABLE "resource_groups" ALTER COLUMN "created_at" SET DEFAULT reprise_now();

-- AlterTable
ALTER TABLE "agents" ALTER COLUMN "registered_at" SET DEFAULT reprise_now(),
ALTER COLUMN "last_heard_at" SET DEFAULT reprise_now(),
ALTER COLUMN "lease_from" SET DEFAULT reprise_now();

-- AlterTable
ALTER TABLE "freed_concurrency_keys" ALTER COLUMN "due_at" SET DEFAULT reprise_now();

-- AlterTable
ALTER TABLE "sessions" ALTER COLUMN "epoch_started_at" SET DEFAULT reprise_now(),
ALTER COLUMN "created_at" SET DEFAULT reprise_now(),
ALTER COLUMN "status_changed_at" SET DEFAULT reprise_now();

-- AlterTable
ALTER TABLE "code_archives" ALTER COLUMN "created_at" SET DEFAULT reprise_now(),
ALTER COLUMN "last_used_at" SET DEFAULT reprise_now();

-- AlterTable
ALTER TABLE "schedules" ALTER COLUMN "created_at" SET DEFAULT reprise_now(),
ALTER COLUMN "updated_at" SET DEFAULT reprise_now();

-- AlterTable
ALTER TABLE "schedule_runs" ALTER COLUMN "decided_at" SET DEFAULT reprise_now();

-- AlterTable
ALTER TABLE "kernels" ALTER COLUMN "created_at" SET DEFAULT reprise_now(),
ALTER COLUMN "status_changed_at" SET DEFAULT reprise_now();

-- AlterTable
ALTER TABLE "retry_decisions" ALTER COLUMN "decided_at" SET DEFAULT reprise_now();

-- AlterTable
ALTER TABLE "retry_waits" ALTER COLUMN "from_at" SET DEFAULT reprise_now();

-- AlterTable
ALTER TABLE "retry_switches" ALTER COLUMN "refilled_at" SET DEFAULT reprise_now();

-- AlterTable
ALTER TABLE "resubmissions" ALTER COLUMN "created_at" SET DEFAULT reprise_now(),
ALTER COLUMN "progressed_at" SET DEFAULT reprise_now();

-- AlterTable
ALTER TABLE "scheduling_history" ALTER COLUMN "first_at" SET DEFAULT reprise_now(),
ALTER COLUMN "last_at" SET DEFAULT reprise_now();

-- AlterTable
ALTER TABLE "deployments" ALTER COLUMN "created_at" SET DEFAULT reprise_now(),
ALTER COLUMN "status_changed_at" SET DEFAULT reprise_now();

-- AlterTable
ALTER TABLE "deployment_revisions" ALTER COLUMN "created_at" SET DEFAULT reprise_now();

-- AlterTable
ALTER TABLE "routes" ALTER COLUMN "created_at" SET DEFAULT reprise_now(),
ALTER COLUMN "status_changed_at" SET DEFAULT reprise_now();

-- AlterTable
ALTER TABLE "session_events" ALTER COLUMN "occurred_at" SET DEFAULT reprise_now();

-- AlterTable
ALTER TABLE "audit_log" ALTER COLUMN "at" SET DEFAULT reprise_now();

-- AlterTable
ALTER TABLE "settings" ALTER COLUMN "updated_at" SET DEFAULT reprise_now();

-- AlterTable
ALTER TABLE "resource_policies" ALTER COLUMN "created_at" SET DEFAULT reprise_now(),
ALTER COLUMN "updated_at" SET DEFAULT reprise_now();

-- AlterTable
ALTER TABLE "webhooks" ALTER COLUMN "created_at" SET DEFAULT reprise_now();

-- AlterTable
ALTER TABLE "webhook_deliveries" ALTER COLUMN "next_attempt_at" SET DEFAULT reprise_now(),
ALTER COLUMN "created_at" SET DEFAULT reprise_now();

CREATE OR REPLACE FUNCTION chains_follow_decisions() RETURNS trigger LANGUAGE plpgsql
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off SET enable_indexscan = off
SET enable_indexonlyscan = off AS $$
BEGIN
  WITH changed AS (
    UPDATE chains c SET state = n.state, cause = coalesce(n.cause, c.cause),
      newest_activity_at = greatest(c.newest_activity_at, CASE TG_OP WHEN 'INSERT' THEN n.decided_at ELSE reprise_now() END),
      ended_at = n.ended_at, total_key = chain_total_key(c.created_at, n.ended_at), due_at = n.due_at
    FROM (SELECT d.chain_id, d.session_id, d.decided_at, d.cause, d.explanation, is_now.state, before.state AS state_before,
        chain_ended_at(is_now.state, s.terminated_at, d.abandoned_at) AS ended_at, chain_due_at(is_now.state, d.due_at) AS due_at
      FROM new_decisions d JOIN sessions s ON s.id = d.session_id JOIN chains before ON before.chain_id = d.chain_id
      CROSS JOIN LATERAL (SELECT chain_state(s.status, s.result, s.session_type, d.phase) AS state) AS is_now) AS n
    WHERE c.chain_id = n.chain_id AND c.tail_id = n.session_id
      AND (c.state <> n.state OR n.cause IS NOT NULL AND c.cause IS DISTINCT FROM n.cause
        OR c.due_at IS DISTINCT FROM n.due_at)
    RETURNING c.chain_id, c.project_id, c.tail_id, c.epoch, c.attempts, c.state, n.cause, n.explanation, n.state_before,
      extract(epoch FROM c.ended_at - c.created_at) AS total
  )
  INSERT INTO session_events (type, session_id, chain_id, project_id, data)
  SELECT 'chain.' || lower(c.state::text), c.tail_id, c.chain_id, c.project_id, jsonb_build_object('epoch', c.epoch,
    'attempts', c.attempts, 'cause', c.cause, 'reason', c.explanation, 'runningSeconds', ran.seconds,
    'waitingSeconds', greatest(0, c.total - ran.seconds))
  FROM changed c CROSS JOIN LATERAL (
    SELECT coalesce(sum(extract(epoch FROM s.terminated_at - s.started_at)), 0) AS seconds
    FROM sessions s WHERE s.chain_id = c.chain_id) AS ran
  WHERE chain_is_over(c.state) AND NOT chain_is_over(c.state_before);
  RETURN NULL;
END $$;
