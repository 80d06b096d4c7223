import { v7 as uuidv7 } from 'uuid'
import { resolvePolicy } from '../../src/domain/retry/policy/resolve-policy.ts'
import type { SessionStatus } from '../../src/domain/session/lifecycle.ts'
import type { Database, Queryable } from '../../src/store/database.ts'
import type { BenchGround } from './ground.ts'

const BATCH_SESSIONS = 500
const PROJECT_ID = '00000000-0000-7000-8000-000000000002'

/**
 * The ceiling of lifecycles: the rows that a session and its kernel leave behind, written in the same order by
 * plain statements over sets, in batches of 500 on one connection at a time. Nothing is claimed, compared,
 * decided or told to anybody. Answers with sessions/s.
 */
export async function bareLifecycles(ground: BenchGround, db: Database, sessions: number): Promise<number> {
  const agentId = await addAgent(db, sessions)
  const begun = performance.now()
  for (let done = 0; done < sessions; done += BATCH_SESSIONS) {
    ground.signal.throwIfAborted()
    const size = Math.min(BATCH_SESSIONS, sessions - done)
    const ids = Array.from({ length: size }, () => uuidv7())
    const kernelIds = Array.from({ length: size }, () => uuidv7())
    await db.transaction((tx) => create(tx, ids, kernelIds))
    await db.transaction(async (tx) => {
      await tx.query(
        `UPDATE kernels SET status = 'PREPARING', status_changed_at = now(), agent_id = $2, assignment = 1,
           slots_held = true, confirmed_gone = false WHERE id = ANY($1::uuid[])`,
        [kernelIds, agentId],
      )
      await moveSessions(tx, ids, ['PENDING', 'SCHEDULED', 'PREPARING'])
    })
    await moveKernels(db, kernelIds, 'PREPARED')
    await db.transaction(async (tx) => {
      await moveKernels(tx, kernelIds, 'CREATING')
      await moveSessions(tx, ids, ['PREPARING', 'PREPARED', 'CREATING'])
    })
    await db.query(
      `UPDATE kernels SET status = 'TERMINATED', status_changed_at = now(), started_at = now(), terminated_at = now(),
         exit_code = 0, slots_held = false, confirmed_gone = true WHERE id = ANY($1::uuid[])`,
      [kernelIds],
    )
    const ends = `, started_at = now(), exit_code = 0, result = 'SUCCESS', terminated_at = now()`
    await db.transaction((tx) => moveSessions(tx, ids, ['CREATING', 'RUNNING', 'TERMINATING', 'TERMINATED'], ends))
    await db.transaction((tx) => decide(tx, ids))
  }
  return sessions / ((performance.now() - begun) / 1000)
}

async function addAgent(db: Database, slots: number): Promise<string> {
  const id = uuidv7()
  await db.query(
    `INSERT INTO agents (id, name, resource_group, address, version, status, instance_id)
     VALUES ($1, 'bare', 'default', 'nowhere', '0', 'ALIVE', $1)`,
    [id],
  )
  await db.query(`INSERT INTO agent_slots (agent_id, slot, declared, capacity) VALUES ($1, 'cpu', $2, $2)`, [id, slots])
  return id
}

async function create(tx: Queryable, ids: readonly string[], kernelIds: readonly string[]): Promise<void> {
  const { policy } = resolvePolicy([])
  await tx.query(
    `INSERT INTO sessions (id, project_id, resource_group, creation_id, name, session_type, command, environ,
       resource_slots, cluster_mode, cluster_size, priority, labels, chain_id, attempt, max_retries, retry_policy)
     SELECT id, $2, 'default', id::text, 'bench', 'BATCH', '{noop}', '[]', '{"cpu": "1"}', 'SINGLE_NODE', 1, 10, '{}',
       id, 1, 0, $3 FROM unnest($1::uuid[]) AS id`,
    [ids, PROJECT_ID, policy],
  )
  await tx.query(
    `INSERT INTO kernels (id, session_id, role, index, resource_slots)
     SELECT id, session_id, 'main', 1, '{"cpu": "1"}' FROM unnest($1::uuid[], $2::uuid[]) AS i(id, session_id)`,
    [kernelIds, ids],
  )
  await addEvents(tx, ids, 'session.created', null, 'PENDING')
}

async function moveKernels(tx: Queryable, kernelIds: readonly string[], to: SessionStatus): Promise<void> {
  await tx.query(`UPDATE kernels SET status = $2, status_changed_at = now() WHERE id = ANY($1::uuid[])`, [
    kernelIds,
    to,
  ])
}

/** One write of the rows, and an event and a line of history for each step of the way. */
async function moveSessions(
  tx: Queryable,
  ids: readonly string[],
  way: readonly [SessionStatus, ...SessionStatus[]],
  sets = '',
): Promise<void> {
  await tx.query(`UPDATE sessions SET status = $2, status_changed_at = now()${sets} WHERE id = ANY($1::uuid[])`, [
    ids,
    way.at(-1),
  ])
  for (const [step, to] of way.slice(1).entries()) {
    const from = way[step]!
    await addEvents(tx, ids, to === 'TERMINATED' ? 'session.terminated' : 'session.status_changed', from, to)
    await tx.query(
      `INSERT INTO scheduling_history (entity, entity_id, phase, from_status, to_status, result)
       SELECT 'SESSION', id, 'bench-sessions', $2, $3, 'SUCCESS' FROM unnest($1::uuid[]) AS id`,
      [ids, from, to],
    )
  }
}

async function addEvents(
  tx: Queryable,
  ids: readonly string[],
  type: string,
  from: SessionStatus | null,
  to: SessionStatus,
): Promise<void> {
  await tx.query(
    `INSERT INTO session_events (type, session_id, chain_id, project_id, data)
     SELECT $2, id, id, $3, $4 FROM unnest($1::uuid[]) AS id`,
    [ids, type, PROJECT_ID, { from, to, reason: null }],
  )
}

async function decide(tx: Queryable, ids: readonly string[]): Promise<void> {
  await tx.query(`UPDATE sessions SET retry_decided = true WHERE id = ANY($1::uuid[])`, [ids])
  await tx.query(
    `INSERT INTO retry_decisions (session_id, project_id, chain_id, phase, explanation)
     SELECT id, $2, id, 'SUCCEEDED', 'the session succeeded' FROM unnest($1::uuid[]) AS id`,
    [ids, PROJECT_ID],
  )
}
