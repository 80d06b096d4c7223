import { EVENT_POSITION } from '../event/event-data.sql.ts'
import type { ChainReport, ChainSize } from '../../../domain/agent/protocol.ts'
import { DROPPED_CHAINS_MAX } from '../../../domain/limits.ts'
import type { Queryable } from '../../database.ts'

/**
 * Records for which existing chains an agent keeps a directory, and returns the recorded chains that no longer exist. A
 * chain is recorded only if some kernel of it was given to the agent, or if its checkpoint is in the agent's store. So
 * no directory is removed only because its chain is unknown here: the database may have been restored from an older
 * dump, or be another database altogether. Also, an agent learns nothing about chains that it did not run. The table
 * has one row for each directory of an agent. Indexes: primary key, sessions(chain_id, attempt), kernels(session_id),
 * checkpoints, agents.
 */
const SQL = `
WITH reported AS (
  SELECT DISTINCT unnest($2::uuid[]) AS chain_id
), left_behind AS (
  DELETE FROM chain_directories d WHERE agent_id = $1
    AND ($3::uuid IS NULL OR chain_id > $3) AND ($4::uuid IS NULL OR chain_id <= $4)
    AND NOT EXISTS (SELECT FROM reported t WHERE t.chain_id = d.chain_id)
), added AS (
  INSERT INTO chain_directories (agent_id, chain_id)
  SELECT $1, t.chain_id FROM reported t
  WHERE NOT EXISTS (SELECT FROM chain_directories d WHERE d.agent_id = $1 AND d.chain_id = t.chain_id)
    AND (EXISTS (SELECT FROM sessions s JOIN kernels k ON k.session_id = s.id
        WHERE s.chain_id = t.chain_id AND k.agent_id = $1)
      OR EXISTS (SELECT FROM checkpoints p JOIN agents a ON a.chain_store = p.store
        WHERE p.chain_id = t.chain_id AND a.id = $1))
  ON CONFLICT DO NOTHING
)
SELECT d.chain_id AS id FROM reported JOIN chain_directories d USING (chain_id)
WHERE d.agent_id = $1 AND NOT EXISTS (SELECT FROM sessions s WHERE s.chain_id = d.chain_id)
ORDER BY d.chain_id LIMIT $5`

/** @returns the removed chains among those reported */
export async function recordChainDirectories(
  db: Queryable,
  agentId: string,
  { after, upTo, chainIds }: ChainReport,
): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>(SQL, [agentId, chainIds, after, upTo, DROPPED_CHAINS_MAX])
  return rows.map(({ id }) => id)
}

const PAST_SQL = `
SELECT p.chain_id AS "chainId", p.generation AS before
FROM unnest($2::uuid[], $3::int[]) AS t(chain_id, oldest) JOIN checkpoints p ON p.chain_id = t.chain_id
WHERE p.generation > t.oldest AND (EXISTS (SELECT FROM chain_directories d WHERE d.agent_id = $1 AND d.chain_id = t.chain_id)
  OR p.store = (SELECT a.chain_store FROM agents a WHERE a.id = $1))
ORDER BY p.chain_id LIMIT $4`

/**
 * Selects the reported chains of which the agent has directories that are no longer needed. Each generation of a
 * checkpoint has its own directory; `before` is the present generation, and directories of earlier ones can be removed.
 */
export async function readPastGenerations(
  db: Queryable,
  agentId: string,
  { chainIds, generations = {} }: ChainReport,
): Promise<{ chainId: string; before: number }[]> {
  const oldest = chainIds.map((chainId) => generations[chainId] ?? 0)
  const { rows } = await db.query<{ chainId: string; before: number }>(PAST_SQL, [
    agentId,
    chainIds,
    oldest,
    DROPPED_CHAINS_MAX,
  ])
  return rows
}

/**
 * Records the sizes of chain directories, for chains of which the agent has unsettled kernels or whose checkpoint is in
 * its store. If the recorded checkpoint is in another agent's store, its size stays as it is: that of the attempt that
 * runs here is recorded at its end. Sizes of other generations than the present one are ignored. Locks: checkpoints, in
 * the order of their chains. Indexes: primary keys, kernels_on_agent.
 */
const CHAIN_SIZES = `
WITH here AS (
  SELECT chain_store FROM agents WHERE id = $1
), own AS (
  SELECT DISTINCT s.chain_id FROM kernels k JOIN sessions s ON s.id = k.session_id
  WHERE k.agent_id = $1 AND (k.slots_held OR NOT k.confirmed_gone) AND s.chain_id = ANY($2::uuid[])
  UNION
  SELECT p.chain_id FROM checkpoints p JOIN here ON p.store = here.chain_store WHERE p.chain_id = ANY($2)
)
INSERT INTO checkpoints AS c (chain_id, project_id, generation, bytes)
SELECT DISTINCT ON (root.id) root.id, root.project_id, m.generation, m.bytes
FROM unnest($2::uuid[], $3::int[], $4::bigint[]) AS m(chain_id, generation, bytes)
JOIN own USING (chain_id) JOIN sessions root ON root.id = m.chain_id CROSS JOIN here
LEFT JOIN checkpoints r ON r.chain_id = m.chain_id
WHERE m.generation = coalesce(r.generation, 0) AND r.dropped_at IS NULL AND coalesce(r.store = here.chain_store, true)
ORDER BY root.id
ON CONFLICT (chain_id) DO UPDATE SET bytes = excluded.bytes
WHERE c.generation = excluded.generation AND c.dropped_at IS NULL
  AND coalesce(c.store = (SELECT chain_store FROM here), true)`

export async function recordChainSizes(db: Queryable, agentId: string, sizes: readonly ChainSize[]): Promise<void> {
  if (sizes.length === 0) return
  await db.query(CHAIN_SIZES, [
    agentId,
    sizes.map(({ chainId }) => chainId),
    sizes.map(({ generation }) => generation),
    sizes.map(({ bytes }) => bytes),
  ])
}

/**
 * Parts of the statement that records an agent's report, for the few reports that mention checkpoints. They read
 * `locked`, the changes of the report with `found_checkpoint` and `left_checkpoint`, and `changed`, the ids of those
 * that took effect; $4 is the agent.
 */

/** Describes the agents that have the checkpoint's store: the most available one by name, and the number of others. */
const WHO_HAS_IT = `(SELECT 'agent ' || (array_agg(a.name ORDER BY a.status, a.last_heard_at DESC))[1]
    || CASE count(*) WHEN 1 THEN '' WHEN 2 THEN ' and another one' ELSE ' and ' || count(*) - 1 || ' others' END
    || CASE count(*) WHEN 1 THEN ' has it and is ' || min(a.status::text)
      ELSE ' have it; the first is ' || (array_agg(a.status::text ORDER BY a.status, a.last_heard_at DESC))[1] END
  FROM agents a WHERE a.chain_store = c.store AND a.status <> 'TERMINATED')`

/** The reason why a session on agent $4 starts without the checkpoint. */
const WHY_MISSING = `CASE WHEN c.dropped_at IS NOT NULL THEN 'it has been removed, long after the chain had ended'
  WHEN c.store = here.chain_store THEN 'it is no longer where it was'
  ELSE coalesce(${WHO_HAS_IT}, 'no agent has it now') END`

/**
 * Records, once per session, the checkpoint that it found. For a missing checkpoint it also writes the event, and
 * appends the reason to the decision that created the session. Reports of a later attempt's checkpoint are ignored,
 * because they cannot be true. A session may have found the checkpoint of its own attempt, if it had run before and was
 * sent back to PENDING.
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
  SELECT s.id, s.chain_id, s.project_id, s.parent_session_id, ${EVENT_POSITION} AS event_position, found.note, found.from_attempt
  FROM found JOIN sessions s ON s.id = found.session_id WHERE found.state = 'MISSING'
), missing_events AS (
  INSERT INTO session_events (xid, type, session_id, chain_id, project_id, data)
  SELECT event_position, 'session.checkpoint_missing', id, chain_id, project_id, jsonb_build_object('attempt', from_attempt, 'reason', note)
  FROM missing
), explained AS (
  UPDATE retry_decisions d SET explanation = d.explanation || '; ' || missing.note
  FROM missing WHERE d.session_id = missing.parent_session_id AND d.child_session_id = missing.id
)`

/**
 * True if the recorded copy is of the same attempt, but from before its session was sent back to PENDING and assigned
 * again.
 */
const OF_EARLIER_TRY = `(c.relay_attempt = excluded.attempt AND c.assignment <> excluded.assignment)`
const keptUnlessEarlier = (column: string) => `${column} = CASE WHEN ${OF_EARLIER_TRY} THEN NULL ELSE c.${column} END`

/**
 * Records the checkpoint that an attempt left. The newest attempt wins, even if its report arrives before that of an
 * earlier one. The report of an empty directory counts only if the recorded checkpoint is in the same store: otherwise
 * the recorded one still exists. Reports of other generations than the present one are ignored. The record of the
 * servers' copy is cleared if the copy was made before the attempt's session was sent back to PENDING. A directory with
 * too many files to count keeps the size that was last measured in that store.
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
