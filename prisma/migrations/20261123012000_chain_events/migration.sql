-- The end of a chain is an event, written by whatever makes it end, in the same transaction: a chain ends when the
-- state of its row becomes a final one, and only a resubmission makes it go on. So each epoch that ends does so once.

CREATE OR REPLACE FUNCTION chains_follow_decisions() RETURNS trigger LANGUAGE plpgsql
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off SET enable_indexscan = off
SET enable_indexonlyscan = off AS $$
BEGIN
  WITH changed AS (
    UPDATE chains c SET state = n.state, cause = coalesce(n.cause, c.cause),
      newest_activity_at = greatest(c.newest_activity_at, CASE TG_OP WHEN 'INSERT' THEN n.decided_at ELSE now() END),
      ended_at = n.ended_at, total_key = chain_total_key(c.created_at, n.ended_at)
    FROM (SELECT d.chain_id, d.session_id, d.decided_at, d.cause, d.explanation, is_now.state, before.state AS state_before,
        chain_ended_at(is_now.state, s.terminated_at, d.abandoned_at) AS ended_at
      FROM new_decisions d JOIN sessions s ON s.id = d.session_id JOIN chains before ON before.chain_id = d.chain_id
      CROSS JOIN LATERAL (SELECT chain_state(s.status, s.result, s.session_type, d.phase) AS state) AS is_now) AS n
    WHERE c.chain_id = n.chain_id AND c.tail_id = n.session_id
      AND (c.state <> n.state OR n.cause IS NOT NULL AND c.cause IS DISTINCT FROM n.cause)
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

-- Sessions that are not BATCH have no decision: their end is the chain's.
CREATE OR REPLACE FUNCTION chain_ends() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM refresh_chains(ARRAY[NEW.chain_id]);
  INSERT INTO session_events (type, session_id, chain_id, project_id, data)
  SELECT 'chain.' || lower(c.state::text), c.tail_id, c.chain_id, c.project_id, jsonb_build_object('epoch', c.epoch,
    'attempts', c.attempts, 'cause', NEW.failure_cause, 'reason', NEW.status_reason, 'runningSeconds', ran.seconds,
    'waitingSeconds', greatest(0, extract(epoch FROM c.ended_at - c.created_at) - ran.seconds))
  FROM chains c CROSS JOIN LATERAL (
    SELECT coalesce(sum(extract(epoch FROM s.terminated_at - s.started_at)), 0) AS seconds
    FROM sessions s WHERE s.chain_id = c.chain_id) AS ran
  WHERE c.chain_id = NEW.chain_id AND c.tail_id = NEW.id AND chain_is_over(c.state);
  RETURN NULL;
END $$;

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
      total_key = chain_total_key(c.created_at, n.ended_at)
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
