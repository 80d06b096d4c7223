-- CreateTable
CREATE TABLE "retry_waits" (
    "session_id" UUID NOT NULL,
    "number" INTEGER NOT NULL,
    "reason" "hold_reason" NOT NULL,
    "scope" TEXT,
    "from_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "to_at" TIMESTAMPTZ(3),

    CONSTRAINT "retry_waits_pkey" PRIMARY KEY ("session_id","number")
);

-- AddForeignKey
ALTER TABLE "retry_waits" ADD CONSTRAINT "retry_waits_session_id_fkey" FOREIGN KEY ("session_id") REFERENCES "retry_decisions"("session_id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AlterTable
ALTER TABLE "retry_decisions" ADD COLUMN "abandoned_at" TIMESTAMPTZ(3);

-- What Prisma's schema language cannot say.

ALTER TABLE "retry_waits"
  ADD CONSTRAINT "retry_waits_number" CHECK ("number" >= 1),
  ADD CONSTRAINT "retry_waits_span" CHECK ("to_at" >= "from_at");

-- A chain that waited for a retry until that was given up has gone on until then.

CREATE FUNCTION chain_ended_at(state chain_state, terminated_at timestamptz, abandoned_at timestamptz)
RETURNS timestamptz LANGUAGE sql IMMUTABLE
RETURN CASE WHEN state NOT IN ('LIVE', 'WAITING_RETRY', 'HELD') THEN greatest(terminated_at, abandoned_at) END;

CREATE OR REPLACE FUNCTION refresh_chains(ids uuid[]) RETURNS void LANGUAGE sql
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off SET enable_indexscan = off
SET enable_indexonlyscan = off AS $$
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
    chain_ended_at(is_now.state, tail.terminated_at, d.abandoned_at) AS ended_at) AS now
  LEFT JOIN LATERAL (SELECT s.failure_cause AS cause FROM sessions s
    WHERE s.chain_id = root.id AND s.failure_cause IS NOT NULL ORDER BY s.attempt DESC LIMIT 1) AS failed ON true
  WHERE root.attempt = 1
  ON CONFLICT (chain_id) DO UPDATE SET created_at = EXCLUDED.created_at, tail_id = EXCLUDED.tail_id, attempts = EXCLUDED.attempts,
    epoch = EXCLUDED.epoch, state = EXCLUDED.state, cause = EXCLUDED.cause,
    newest_activity_at = EXCLUDED.newest_activity_at, ended_at = EXCLUDED.ended_at, total_key = EXCLUDED.total_key;
$$;

CREATE OR REPLACE FUNCTION chains_follow_decisions() RETURNS trigger LANGUAGE plpgsql
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off SET enable_indexscan = off
SET enable_indexonlyscan = off AS $$
BEGIN
  UPDATE chains c SET state = n.state, cause = coalesce(n.cause, c.cause),
    newest_activity_at = greatest(c.newest_activity_at, CASE TG_OP WHEN 'INSERT' THEN n.decided_at ELSE now() END),
    ended_at = n.ended_at, total_key = chain_total_key(c.created_at, n.ended_at)
  FROM (SELECT d.chain_id, d.session_id, d.decided_at, d.cause, is_now.state,
      chain_ended_at(is_now.state, s.terminated_at, d.abandoned_at) AS ended_at
    FROM new_decisions d JOIN sessions s ON s.id = d.session_id
    CROSS JOIN LATERAL (SELECT chain_state(s.status, s.result, s.session_type, d.phase) AS state) AS is_now) AS n
  WHERE c.chain_id = n.chain_id AND c.tail_id = n.session_id
    AND (c.state <> n.state OR n.cause IS NOT NULL AND c.cause IS DISTINCT FROM n.cause);
  RETURN NULL;
END $$;
