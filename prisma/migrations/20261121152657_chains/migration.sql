-- CreateEnum
CREATE TYPE "chain_state" AS ENUM ('LIVE', 'WAITING_RETRY', 'HELD', 'SUCCEEDED', 'FAILED', 'CANCELLED');

-- AlterTable
ALTER TABLE "sessions" ADD COLUMN "created_by" TEXT;

-- CreateTable
CREATE TABLE "chains" (
    "chain_id" UUID NOT NULL,
    "project_id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "labels" JSONB NOT NULL,
    "tail_id" UUID NOT NULL,
    "attempts" INTEGER NOT NULL,
    "epoch" INTEGER NOT NULL,
    "state" "chain_state" NOT NULL,
    "cause" "failure_cause",
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "newest_activity_at" TIMESTAMPTZ(3) NOT NULL,
    "ended_at" TIMESTAMPTZ(3),
    "total_key" BIGINT NOT NULL,

    CONSTRAINT "chains_pkey" PRIMARY KEY ("chain_id")
);

-- CreateIndex
CREATE INDEX "chains_project_id_state_newest_activity_at_chain_id_idx" ON "chains"("project_id", "state", "newest_activity_at", "chain_id");

-- CreateIndex
CREATE INDEX "chains_project_id_state_attempts_chain_id_idx" ON "chains"("project_id", "state", "attempts", "chain_id");

-- CreateIndex
CREATE INDEX "chains_project_id_state_total_key_chain_id_idx" ON "chains"("project_id", "state", "total_key", "chain_id");

-- What Prisma's schema language cannot say.

-- The few that failed, by why.
CREATE INDEX "chains_failed" ON "chains" ("project_id", "cause", "newest_activity_at") WHERE "cause" IS NOT NULL;

-- Sessions that are over, by when: what statistics count. All they need stands in the index.
CREATE INDEX "sessions_over" ON "sessions" ("project_id", "terminated_at")
  INCLUDE ("status", "result", "origin", "failure_cause", "retry_cause")
  WHERE "status" IN ('TERMINATED', 'ERROR', 'CANCELLED');

-- Words of names and labels: runs of letters and digits, whatever stands between them. Texts that are compared go
-- through the same function, so that they are cut into words in the same way. The project is a word that no text has.
CREATE FUNCTION searchable(text) RETURNS text LANGUAGE sql IMMUTABLE
RETURN translate($1, '!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', '                                ');
CREATE FUNCTION chain_words(project_id uuid, name text, labels jsonb) RETURNS tsvector LANGUAGE sql IMMUTABLE
RETURN array_to_tsvector(ARRAY['@' || project_id::text])
  || to_tsvector('simple'::regconfig, searchable(name || ' ' || labels::text));
CREATE INDEX "chains_words" ON "chains" USING gin (chain_words("project_id", "name", "labels"));

-- All of these words, in any order; null where there is none.
CREATE FUNCTION words_query(search text) RETURNS tsquery LANGUAGE sql IMMUTABLE
RETURN CASE WHEN numnode(plainto_tsquery('simple'::regconfig, searchable(search))) > 0
  THEN plainto_tsquery('simple'::regconfig, searchable(search)) END;

-- The same for words of which perhaps only the beginning is given.
CREATE FUNCTION beginnings_query(search text) RETURNS tsquery LANGUAGE sql IMMUTABLE
RETURN (replace(words_query(search)::text, ''' & ''', ''':* & ''') || ':*')::tsquery;

-- At most so many chains with these words, in one project or in all. PostgreSQL knows too little of how rare the
-- beginning of a word is to be left to choose another way than the words' index.
CREATE FUNCTION chains_with_words(words tsquery, project uuid, most int) RETURNS SETOF uuid LANGUAGE sql STABLE
SET enable_seqscan = off SET enable_indexscan = off AS $$
  SELECT chain_id FROM chains WHERE chain_words(project_id, name, labels)
    @@ CASE WHEN project IS NULL THEN words ELSE words && ('''@' || project::text || '''')::tsquery END
  LIMIT most
$$;

ALTER TABLE "chains"
  ADD CONSTRAINT "chains_attempts" CHECK ("attempts" >= 1 AND "epoch" >= 0),
  ADD CONSTRAINT "chains_ended" CHECK (("ended_at" IS NULL) = ("state" IN ('LIVE', 'WAITING_RETRY', 'HELD')));

-- All of these functions are such that PostgreSQL puts their bodies in place of their calls.

-- What a chain's newest attempt, with the phase of its decision (null where there is none), makes of the chain.
CREATE FUNCTION chain_state(status session_status, result session_result, session_type session_type, phase retry_phase)
RETURNS chain_state LANGUAGE sql IMMUTABLE RETURN CASE
  WHEN phase = 'SCHEDULED' THEN 'WAITING_RETRY'::chain_state
  WHEN phase = 'HELD' THEN 'HELD'::chain_state
  WHEN status NOT IN ('TERMINATED', 'ERROR', 'CANCELLED') OR session_type = 'BATCH' AND phase IS NULL THEN 'LIVE'::chain_state
  WHEN result = 'SUCCESS' THEN 'SUCCEEDED'::chain_state
  WHEN result = 'FAILURE' THEN 'FAILED'::chain_state
  ELSE 'CANCELLED'::chain_state END;

CREATE FUNCTION chain_is_over(state chain_state)
RETURNS boolean LANGUAGE sql IMMUTABLE RETURN state NOT IN ('LIVE', 'WAITING_RETRY', 'HELD');

-- Milliseconds that it took, where it is over; else minus the time of its creation, which orders those that go on
-- by how long they have, whatever time it is: with the present time added it is the milliseconds so far.
CREATE FUNCTION chain_total_key(created_at timestamptz, ended_at timestamptz)
RETURNS bigint LANGUAGE sql IMMUTABLE
RETURN (extract(epoch FROM coalesce(ended_at, to_timestamp(0)) - created_at) * 1000)::bigint;

-- Chains as their sessions and decisions are, from nothing; null for all. Chains without sessions go.
CREATE FUNCTION refresh_chains(ids uuid[]) RETURNS void LANGUAGE sql AS $$
  DELETE FROM chains c WHERE c.chain_id = ANY(ids) AND NOT EXISTS (SELECT FROM sessions s WHERE s.chain_id = c.chain_id);
  INSERT INTO chains (chain_id, project_id, name, labels, tail_id, attempts, epoch, state, cause, created_at,
    newest_activity_at, ended_at, total_key)
  SELECT root.id, root.project_id, root.name, root.labels, tail.id, tail.attempt, tail.epoch, now.state, failed.cause,
    root.created_at, greatest(tail.created_at, tail.terminated_at, d.decided_at), now.ended_at,
    chain_total_key(root.created_at, now.ended_at)
  FROM sessions root
  CROSS JOIN LATERAL (SELECT * FROM sessions s WHERE s.chain_id = root.id ORDER BY s.attempt DESC LIMIT 1) AS tail
  LEFT JOIN retry_decisions d ON d.session_id = tail.id
  CROSS JOIN LATERAL (SELECT chain_state(tail.status, tail.result, tail.session_type, d.phase) AS state) AS is_now
  CROSS JOIN LATERAL (SELECT is_now.state,
    CASE WHEN chain_is_over(is_now.state) THEN tail.terminated_at END AS ended_at) AS now
  LEFT JOIN LATERAL (SELECT s.failure_cause AS cause FROM sessions s
    WHERE s.chain_id = root.id AND s.failure_cause IS NOT NULL ORDER BY s.attempt DESC LIMIT 1) AS failed ON true
  WHERE root.attempt = 1 AND (ids IS NULL OR root.id = ANY(ids))
  ON CONFLICT (chain_id) DO UPDATE SET created_at = EXCLUDED.created_at, tail_id = EXCLUDED.tail_id, attempts = EXCLUDED.attempts,
    epoch = EXCLUDED.epoch, state = EXCLUDED.state, cause = EXCLUDED.cause,
    newest_activity_at = EXCLUDED.newest_activity_at, ended_at = EXCLUDED.ended_at, total_key = EXCLUDED.total_key;
$$;

SELECT refresh_chains(NULL);

-- A chain's row is, by construction, what its newest attempt and that attempt's decision say: whatever statement
-- writes those changes it in the same transaction. Whoever writes holds the newest attempt or its decision, so that
-- no two transactions meet at one chain. The plans of these functions are kept while their tables grow from empty,
-- so that joins other than by index are put out of their reach.

CREATE FUNCTION chains_gain_attempts() RETURNS trigger LANGUAGE plpgsql
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off AS $$
BEGIN
  INSERT INTO chains (chain_id, project_id, name, labels, tail_id, attempts, epoch, state, created_at,
    newest_activity_at, ended_at, total_key)
  SELECT s.id, s.project_id, s.name, s.labels, s.id, 1, s.epoch, n.state, s.created_at,
    greatest(s.created_at, s.terminated_at), n.ended_at, chain_total_key(s.created_at, n.ended_at)
  FROM (SELECT s.*, chain_state(s.status, s.result, s.session_type, NULL) AS state FROM new_sessions s) AS s
  CROSS JOIN LATERAL (SELECT s.state, CASE WHEN chain_is_over(s.state) THEN s.terminated_at END AS ended_at) AS n
  WHERE s.attempt = 1;

  UPDATE chains c SET tail_id = s.id, attempts = s.attempt, epoch = s.epoch, state = n.state,
    newest_activity_at = greatest(c.newest_activity_at, s.created_at, s.terminated_at), ended_at = n.ended_at,
    total_key = chain_total_key(c.created_at, n.ended_at)
  FROM (SELECT DISTINCT ON (s.chain_id) s.*, chain_state(s.status, s.result, s.session_type, NULL) AS state
    FROM new_sessions s WHERE s.attempt > 1 ORDER BY s.chain_id, s.attempt DESC) AS s
  CROSS JOIN LATERAL (SELECT s.state, CASE WHEN chain_is_over(s.state) THEN s.terminated_at END AS ended_at) AS n
  WHERE c.chain_id = s.chain_id AND c.project_id = s.project_id AND c.attempts < s.attempt;
  RETURN NULL;
END $$;

CREATE TRIGGER sessions_make_chains AFTER INSERT ON "sessions"
  REFERENCING NEW TABLE AS new_sessions FOR EACH STATEMENT EXECUTE FUNCTION chains_gain_attempts();

CREATE FUNCTION chains_follow_decisions() RETURNS trigger LANGUAGE plpgsql
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off AS $$
BEGIN
  UPDATE chains c SET state = n.state, cause = coalesce(n.cause, c.cause),
    newest_activity_at = greatest(c.newest_activity_at, CASE TG_OP WHEN 'INSERT' THEN n.decided_at ELSE now() END),
    ended_at = n.ended_at, total_key = chain_total_key(c.created_at, n.ended_at)
  FROM (SELECT d.chain_id, d.session_id, d.decided_at, d.cause, is_now.state,
      CASE WHEN chain_is_over(is_now.state) THEN s.terminated_at END AS ended_at
    FROM new_decisions d JOIN sessions s ON s.id = d.session_id
    CROSS JOIN LATERAL (SELECT chain_state(s.status, s.result, s.session_type, d.phase) AS state) AS is_now) AS n
  WHERE c.chain_id = n.chain_id AND c.tail_id = n.session_id
    AND (c.state <> n.state OR n.cause IS NOT NULL AND c.cause IS DISTINCT FROM n.cause);
  RETURN NULL;
END $$;

CREATE TRIGGER retry_decisions_tell_chains AFTER INSERT ON "retry_decisions"
  REFERENCING NEW TABLE AS new_decisions FOR EACH STATEMENT EXECUTE FUNCTION chains_follow_decisions();
CREATE TRIGGER retry_decisions_change_chains AFTER UPDATE ON "retry_decisions"
  REFERENCING NEW TABLE AS new_decisions FOR EACH STATEMENT EXECUTE FUNCTION chains_follow_decisions();

-- Sessions that are not BATCH have no decision: their end is the chain's.
CREATE FUNCTION chain_ends() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM refresh_chains(ARRAY[NEW.chain_id]);
  RETURN NULL;
END $$;

CREATE TRIGGER sessions_end_chains AFTER UPDATE ON "sessions" FOR EACH ROW
  WHEN (NEW.session_type <> 'BATCH' AND NEW.terminated_at IS NOT NULL AND OLD.terminated_at IS NULL)
  EXECUTE FUNCTION chain_ends();

CREATE FUNCTION chains_lose_attempts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM refresh_chains(ARRAY(SELECT DISTINCT chain_id FROM old_sessions));
  RETURN NULL;
END $$;

CREATE TRIGGER sessions_leave_chains AFTER DELETE ON "sessions"
  REFERENCING OLD TABLE AS old_sessions FOR EACH STATEMENT EXECUTE FUNCTION chains_lose_attempts();

CREATE FUNCTION chains_vanish() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  TRUNCATE chains;
  RETURN NULL;
END $$;

CREATE TRIGGER sessions_vanish AFTER TRUNCATE ON "sessions" FOR EACH STATEMENT EXECUTE FUNCTION chains_vanish();
