-- AlterTable
ALTER TABLE "retry_decisions" ADD COLUMN "event_position" xid8;

-- What Prisma's schema language cannot say.

UPDATE "retry_decisions" d SET "event_position" = s."event_position" FROM "sessions" s
WHERE s."id" = d."session_id" AND d."phase" IN ('SCHEDULED', 'HELD');

-- The events of a chain come after those of its newest attempt.
CREATE OR REPLACE FUNCTION chains_follow_decisions() RETURNS trigger LANGUAGE plpgsql
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off SET enable_indexscan = off
SET enable_indexonlyscan = off AS $$
BEGIN
  WITH changed AS (
    UPDATE chains c SET state = n.state, cause = coalesce(n.cause, c.cause),
      newest_activity_at = greatest(c.newest_activity_at, CASE TG_OP WHEN 'INSERT' THEN n.decided_at ELSE reprise_now() END),
      ended_at = n.ended_at, total_key = chain_total_key(c.created_at, n.ended_at), due_at = n.due_at
    FROM (SELECT d.chain_id, d.session_id, d.decided_at, d.cause, d.explanation, greatest(d.event_position, s.event_position) AS position,
        is_now.state, before.state AS state_before,
        chain_ended_at(is_now.state, s.terminated_at, d.abandoned_at) AS ended_at, chain_due_at(is_now.state, d.due_at) AS due_at
      FROM new_decisions d JOIN sessions s ON s.id = d.session_id JOIN chains before ON before.chain_id = d.chain_id
      CROSS JOIN LATERAL (SELECT chain_state(s.status, s.result, s.session_type, d.phase, before.cancelled_at) AS state) AS is_now) AS n
    WHERE c.chain_id = n.chain_id AND c.tail_id = n.session_id
      AND (c.state <> n.state OR n.cause IS NOT NULL AND c.cause IS DISTINCT FROM n.cause
        OR c.due_at IS DISTINCT FROM n.due_at)
    RETURNING c.chain_id, c.project_id, c.tail_id, c.epoch, c.attempts, c.state, n.cause, n.explanation, n.position, n.state_before,
      extract(epoch FROM c.ended_at - c.created_at) AS total
  )
  INSERT INTO session_events (xid, type, session_id, chain_id, project_id, data)
  SELECT greatest(c.position, outbox_position(pg_current_xact_id())), 'chain.' || lower(c.state::text), c.tail_id, c.chain_id, c.project_id, jsonb_build_object('epoch', c.epoch,
    'attempts', c.attempts, 'cause', c.cause, 'reason', c.explanation, 'runningSeconds', ran.seconds,
    'waitingSeconds', greatest(0, c.total - ran.seconds))
  FROM changed c CROSS JOIN LATERAL (
    SELECT coalesce(sum(extract(epoch FROM s.terminated_at - s.started_at)), 0) AS seconds
    FROM sessions s WHERE s.chain_id = c.chain_id) AS ran
  WHERE chain_is_over(c.state) AND NOT chain_is_over(c.state_before);
  RETURN NULL;
END $$;

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
    RETURNING c.tail_id, c.chain_id, c.project_id, c.epoch, c.attempts, s.origin, s.event_position
  )
  INSERT INTO session_events (xid, type, session_id, chain_id, project_id, data)
  SELECT event_position, 'chain.reopened', tail_id, chain_id, project_id, jsonb_build_object('epoch', epoch, 'attempts', attempts)
  FROM changed WHERE origin = 'RESUBMISSION';
  RETURN NULL;
END $$;
