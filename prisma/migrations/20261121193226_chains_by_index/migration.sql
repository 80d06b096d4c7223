-- Chains of these ids, once each, by index: a plan that also serves "all chains" reads every session from the sixth call
-- of a connection on.
CREATE OR REPLACE FUNCTION refresh_chains(ids uuid[]) RETURNS void LANGUAGE sql
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off AS $$
  DELETE FROM chains c WHERE c.chain_id = ANY(ids) AND NOT EXISTS (SELECT FROM sessions s WHERE s.chain_id = c.chain_id);
  INSERT INTO chains (chain_id, project_id, name, labels, tail_id, attempts, epoch, state, cause, created_at,
    newest_activity_at, ended_at, total_key)
  SELECT root.id, root.project_id, root.name, root.labels, tail.id, tail.attempt, tail.epoch, now.state, failed.cause,
    root.created_at, greatest(tail.created_at, tail.terminated_at, d.decided_at), now.ended_at,
    chain_total_key(root.created_at, now.ended_at)
  FROM unnest(ids) AS wanted(id) JOIN sessions root ON root.id = wanted.id
  CROSS JOIN LATERAL (SELECT * FROM sessions s WHERE s.chain_id = root.id ORDER BY s.attempt DESC LIMIT 1) AS tail
  LEFT JOIN retry_decisions d ON d.session_id = tail.id
  CROSS JOIN LATERAL (SELECT chain_state(tail.status, tail.result, tail.session_type, d.phase) AS state) AS is_now
  CROSS JOIN LATERAL (SELECT is_now.state,
    CASE WHEN chain_is_over(is_now.state) THEN tail.terminated_at END AS ended_at) AS now
  LEFT JOIN LATERAL (SELECT s.failure_cause AS cause FROM sessions s
    WHERE s.chain_id = root.id AND s.failure_cause IS NOT NULL ORDER BY s.attempt DESC LIMIT 1) AS failed ON true
  WHERE root.attempt = 1
  ON CONFLICT (chain_id) DO UPDATE SET created_at = EXCLUDED.created_at, tail_id = EXCLUDED.tail_id, attempts = EXCLUDED.attempts,
    epoch = EXCLUDED.epoch, state = EXCLUDED.state, cause = EXCLUDED.cause,
    newest_activity_at = EXCLUDED.newest_activity_at, ended_at = EXCLUDED.ended_at, total_key = EXCLUDED.total_key;
$$;
