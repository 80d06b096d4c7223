/**
 * Parts of the statement that records an agent's report, for reports that say something about checkpoints: few do. They
 * read `locked`, the changes of the report with `found_checkpoint` and `left_checkpoint`, and `changed`, the ids of
 * those that took effect; $4 is the agent.
 */

/** Of these agents, in words: the one most likely to be had, and how many there are beside it. */
const WHO_HAS_IT = `(SELECT 'agent ' || (array_agg(a.name ORDER BY a.status, a.last_heard_at DESC))[1]
    || CASE count(*) WHEN 1 THEN '' WHEN 2 THEN ' and another one' ELSE ' and ' || count(*) - 1 || ' others' END
    || CASE count(*) WHEN 1 THEN ' has it and is ' || min(a.status::text)
      ELSE ' have it; the first is ' || (array_agg(a.status::text ORDER BY a.status, a.last_heard_at DESC))[1] END
  FROM agents a WHERE a.chain_store = c.store AND a.status <> 'TERMINATED')`

/** Why a session on the agent with $4 starts without it. */
const WHY_MISSING = `CASE WHEN c.dropped_at IS NOT NULL THEN 'it has been removed, long after the chain had ended'
  WHEN c.store = here.chain_store THEN 'it is no longer where it was'
  ELSE coalesce(${WHO_HAS_IT}, 'no agent has it any more') END`

/**
 * What a session found is written once. Of a checkpoint that is missing, its event is written, too, and the decision
 * that made the session ends with it. No session can have found what a later attempt left; one that was put back may
 * have found what it left itself.
 */
const FOUND = `found AS (
  INSERT INTO session_checkpoints (session_id, state, from_attempt, store, bytes, published_at, note)
  SELECT s.id, f.state, f.attempt, CASE WHEN f.attempt = c.attempt THEN c.store END, CASE WHEN f.attempt = c.attempt THEN c.bytes END,
    CASE WHEN f.attempt = c.attempt THEN CASE f.state WHEN 'FETCHED' THEN c.relay_at ELSE c.published_at END END,
    CASE f.state WHEN 'MISSING' THEN 'starts without the checkpoint of attempt ' || f.attempt || ': ' || ${WHY_MISSING}
      || coalesce('; the servers have a copy, but ' || (l.found_checkpoint ->> 'reason'), '') END
  FROM changed JOIN locked l USING (id) JOIN kernels k USING (id) JOIN sessions s ON s.id = k.session_id
  JOIN agents here ON here.id = $4
  LEFT JOIN checkpoints c ON c.chain_id = s.chain_id
  CROSS JOIN LATERAL (SELECT (l.found_checkpoint ->> 'state')::checkpoint_state AS state,
    (l.found_checkpoint ->> 'attempt')::int AS attempt) AS f
  WHERE f.state IS NOT NULL AND k.role = 'main' AND k.index = 1 AND coalesce(f.attempt, 0) <= s.attempt
    AND (f.state <> 'MISSING' OR f.attempt IS NOT NULL)
  ON CONFLICT (session_id) DO NOTHING
  RETURNING session_id, state, from_attempt, note
), missing AS (
  SELECT s.id, s.chain_id, s.project_id, s.parent_session_id, found.note, found.from_attempt
  FROM found JOIN sessions s ON s.id = found.session_id WHERE found.state = 'MISSING'
), missing_events AS (
  INSERT INTO session_events (type, session_id, chain_id, project_id, data)
  SELECT 'session.checkpoint_missing', id, chain_id, project_id, jsonb_build_object('attempt', from_attempt, 'reason', note)
  FROM missing
), explained AS (
  UPDATE retry_decisions d SET explanation = d.explanation || '; ' || missing.note
  FROM missing WHERE d.session_id = missing.parent_session_id AND d.child_session_id = missing.id
)`

/** The copy on record is of this attempt, before it was put back. */
const OF_EARLIER_TRY = `(c.relay_attempt = excluded.attempt AND c.assignment <> excluded.assignment)`
const keptUnlessEarlier = (column: string) => `${column} = CASE WHEN ${OF_EARLIER_TRY} THEN NULL ELSE c.${column} END`

/**
 * The newest attempt counts, however late its end is known. One that has left nothing says something only of the store
 * whose checkpoint is on record: elsewhere it never had it. What it left in a generation that is over is nobody's, and
 * no report begins one. A copy of what the attempt left before it was put back is not the newest. A directory that was
 * too large to be looked through has the size that was last measured there.
 */
const LEFT = `stored AS (
  INSERT INTO checkpoints AS c (chain_id, project_id, generation, attempt, assignment, store, files, bytes, newest_at, published_at)
  SELECT s.chain_id, s.project_id, o.generation, s.attempt, k.assignment, here.chain_store, o.files, o.bytes, o."newestAt", reprise_now()
  FROM changed JOIN locked l USING (id) JOIN kernels k USING (id) JOIN sessions s ON s.id = k.session_id
  JOIN agents here ON here.id = $4
  CROSS JOIN LATERAL jsonb_to_record(l.left_checkpoint) AS o("generation" int, "files" int, "bytes" bigint, "newestAt" timestamptz)
  LEFT JOIN checkpoints r ON r.chain_id = s.chain_id
  WHERE l.left_checkpoint IS NOT NULL AND k.role = 'main' AND k.index = 1 AND here.chain_store IS NOT NULL
    AND o.generation = coalesce(r.generation, 0) AND (o.files IS DISTINCT FROM 0 OR r.store = here.chain_store)
  ORDER BY s.chain_id
  ON CONFLICT (chain_id) DO UPDATE SET attempt = excluded.attempt, store = excluded.store, files = excluded.files,
    bytes = coalesce(excluded.bytes, CASE WHEN coalesce(c.store = excluded.store, true) THEN c.bytes END), newest_at = excluded.newest_at, published_at = excluded.published_at, dropped_at = NULL,
    assignment = excluded.assignment, ${['relay_attempt', 'relay_sha256', 'relay_bytes', 'relay_at'].map(keptUnlessEarlier).join(', ')}
  WHERE c.generation = excluded.generation AND coalesce(c.attempt, 0) <= excluded.attempt
)`

export const CHECKPOINT_CHANGES = `, ${FOUND}, ${LEFT}`
export const MISSING_CHECKPOINTS = `(SELECT count(*)::int FROM missing)`
