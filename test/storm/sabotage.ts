import { setTimeout as sleep } from 'node:timers/promises'
import type { Ground } from './ground.ts'

/**
 * The planted fault: a second dispatch. Somebody with the rights of the database's owner takes the constraints away and
 * puts a second, pending child beside the first one of a failed attempt, whose first child still waits or runs. The
 * servers then place and run it as any session.
 */

const UNGUARD = ['DROP INDEX sessions_parent_session_id_key', 'DROP INDEX sessions_chain_id_attempt_key']

/** Children that run for long and have just begun, so that both live at once. */
const DOUBLE = `WITH child AS (
  SELECT s.*, gen_random_uuid() AS new_id FROM sessions s JOIN kernels k ON k.session_id = s.id
  WHERE s.parent_session_id IS NOT NULL AND s.status = 'RUNNING' AND s.name = ANY($1)
    AND s.started_at > reprise_now() - interval '2 seconds'
  ORDER BY s.name = 'stubborn' DESC LIMIT 1),
made AS (
  INSERT INTO sessions SELECT (jsonb_populate_record(NULL::sessions, to_jsonb(c) - 'new_id' || jsonb_build_object('id', c.new_id,
    'status', 'PENDING', 'creation_id', c.creation_id || ':second', 'started_at', NULL, 'times_out_at', NULL,
    'status_changed_at', reprise_now(), 'created_at', reprise_now()))).* FROM child c RETURNING id, chain_id),
its AS (
  INSERT INTO kernels (id, session_id, role, index, status, resource_slots)
  SELECT gen_random_uuid(), made.id, k.role, k.index, 'PENDING', k.resource_slots
  FROM made, child c JOIN kernels k ON k.session_id = c.id)
SELECT id, chain_id AS "chainId" FROM made`

const DOUBLED = ['long', 'too-long', 'stubborn']

/** @returns what was planted */
export async function sabotage({ db }: Ground, signal: AbortSignal): Promise<string> {
  for (const statement of UNGUARD) await db.query(statement)
  while (!signal.aborted) {
    const { rows } = await db
      .query<{ id: string; chainId: string }>(DOUBLE, [DOUBLED])
      .catch(() => ({ rows: [] as { id: string; chainId: string }[] }))
    if (rows[0] !== undefined) return `planted ${rows[0].id}, a second child in the chain ${rows[0].chainId}`
    await sleep(50)
  }
  return 'nothing was planted: no child ran for long'
}
