-- AlterTable
ALTER TABLE "chains" ADD COLUMN "cancelled_at" TIMESTAMPTZ(3), ADD COLUMN "cancelled_by" TEXT;

-- What Prisma's schema language cannot say.

ALTER TABLE "chains"
  ADD CONSTRAINT "chains_cancelled_by_somebody" CHECK (("cancelled_at" IS NULL) = ("cancelled_by" IS NULL));

-- A cancelled chain whose newest attempt failed has not failed: somebody ended it.
CREATE FUNCTION chain_state(status session_status, result session_result, session_type session_type, phase retry_phase,
  cancelled_at timestamptz)
RETURNS chain_state LANGUAGE sql IMMUTABLE RETURN CASE
  WHEN cancelled_at IS NOT NULL AND chain_state(status, result, session_type, phase) = 'FAILED' THEN 'CANCELLED'::chain_state
  ELSE chain_state(status, result, session_type, phase) END;

CREATE OR REPLACE FUNCTION refresh_chains(ids uuid[]) RETURNS void LANGUAGE sql
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off SET enable_indexscan = off
SET enable_indexonlyscan = off AS $$
  DELETE FROM chains c WHERE c.chain_id = ANY(ids) AND NOT EXISTS (SELECT FROM sessions s WHERE s.chain_id = c.chain_id);
  INSERT INTO chains (chain_id, project_id, name, labels, tail_id, attempts, epoch, state, cause, created_at,
    newest_activity_at, ended_at, total_key, due_at)
  SELECT root.id, root.project_id, root.name, root.labels, tail.id, tail.attempt, tail.epoch, now.state, failed.cause,
    root.created_at, greatest(tail.created_at, tail.terminated_at, d.decided_at), now.ended_at,
    chain_total_key(root.created_at, now.ended_at), chain_due_at(now.state, d.due_at)
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
      CROSS JOIN LATERAL (SELECT chain_state(s.status, s.result, s.session_type, d.phase, before.cancelled_at) AS state) AS is_now) AS n
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

-- A resubmission clears the mark.
CREATE OR REPLACE FUNCTION chains_gain_attempts() RETURNS trigger LANGUAGE plpgsql
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off SET enable_indexscan = off
SET enable_indexonlyscan = off AS $$
BEGIN
  INSERT INTO chains (chain_id, project_id, name, labels, tail_id, attempts, epoch, state, created_at,
    newest_activity_at, ended_at, total_key)
  SELECT s.id, s.project_id, s.name, s.labels, s.id, 1, s.epoch, n.state, s.created_at,
    greatest(s.created_at, s.terminated_at), n.ended_at, chain_total_key(s.created_at, n.ended_at)
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
