import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { v7 as uuidv7 } from 'uuid'
import { createClient, type Client } from '../../src/client/node/index.ts'
import { randomOf } from '../support/random.ts'
import type { Ground } from './ground.ts'
import { FOREVER, sessionOf, type Kind } from './kernel.ts'

/**
 * The planted fault: a second dispatch. Somebody with the rights of the database's owner takes the constraints away and
 * puts a second, pending child beside the running one of a failed attempt. The servers then place and run it as any
 * session. The chain is the saboteur's own: its children run until both have been seen to write at once, however busy
 * the machine is and whatever fault strikes them.
 */

const UNGUARD = ['DROP INDEX sessions_parent_session_id_key', 'DROP INDEX sessions_chain_id_attempt_key']

const FAILS_ONCE: Kind = {
  name: 'fails-once',
  attempts: [
    { turns: 1, code: 9 },
    { turns: FOREVER, code: 0 },
  ],
  maxRetries: 50,
  limit: FOREVER / 4,
}

/** A second child beside the chain's running one, unless it has another one. */
const DOUBLE = `WITH child AS (
  SELECT s.*, gen_random_uuid() AS new_id FROM sessions s JOIN kernels k ON k.session_id = s.id
  WHERE s.parent_session_id IS NOT NULL AND s.status = 'RUNNING' AND s.chain_id = $1
    AND NOT EXISTS (SELECT FROM sessions o WHERE o.chain_id = s.chain_id AND o.id <> s.id
      AND o.status NOT IN ('TERMINATED', 'ERROR', 'CANCELLED'))),
made AS (
  INSERT INTO sessions SELECT (jsonb_populate_record(NULL::sessions, to_jsonb(c) - 'new_id' || jsonb_build_object('id', c.new_id,
    'status', 'PENDING', 'creation_id', c.new_id, 'started_at', NULL, 'times_out_at', NULL,
    'status_changed_at', reprise_now(), 'created_at', reprise_now()))).* FROM child c RETURNING id, chain_id),
its AS (
  INSERT INTO kernels (id, session_id, role, index, status, resource_slots)
  SELECT gen_random_uuid(), made.id, k.role, k.index, 'PENDING', k.resource_slots
  FROM made, child c JOIN kernels k ON k.session_id = c.id)
SELECT id FROM made`

const LIVE_KERNELS = `SELECT k.id, s.id AS "sessionId" FROM kernels k JOIN sessions s ON s.id = k.session_id
  WHERE s.chain_id = $1 AND s.status = 'RUNNING'`

/** Goes on after the storm, when nothing strikes the children any more. @returns what was planted */
export async function sabotage(ground: Ground, signal: AbortSignal): Promise<string> {
  const { db, lines, terms, token } = ground
  for (const statement of UNGUARD) await db.query(statement)
  await using client = createClient({ urls: ground.clientLines.map(({ url }) => url), token })
  const uptime = ground.clock?.machineUptime ?? '/proc/uptime'
  const input = sessionOf(FAILS_ONCE, { lines, uptime, terms, random: randomOf(0) })
  const { session } = await client.createSession({ ...input, creationId: uuidv7() }, { signal })
  const chainId = session.sessionId

  let planted: string | null = null
  let sizes = new Map<string, number>()
  while (!signal.aborted) {
    // The database is one of the things that faults strike.
    planted = (await db.query<{ id: string }>(DOUBLE, [chainId]).catch(() => null))?.rows[0]?.id ?? planted
    const live = (await db.query<{ id: string; sessionId: string }>(LIVE_KERNELS, [chainId]).catch(() => null))?.rows
    const before = sizes
    sizes = await sizesOf(
      lines,
      (live ?? []).map(({ id }) => id),
    )
    const writing = (live ?? []).filter(({ id }) => before.has(id) && sizes.get(id)! > before.get(id)!)
    if (planted !== null && new Set(writing.map(({ sessionId }) => sessionId)).size > 1) {
      await Promise.all(writing.map(({ sessionId }) => terminate(client, sessionId, signal)))
      return `planted ${planted}, a second child in the chain ${chainId}`
    }
    await sleep(500)
  }
  return 'nothing was planted'
}

/** By kernel, the bytes of the lines that it has written. */
async function sizesOf(lines: string, kernels: readonly string[]): Promise<Map<string, number>> {
  const sizes = new Map<string, number>()
  for (const name of await readdir(lines)) {
    const kernel = kernels.find((id) => name.startsWith(id))
    if (kernel !== undefined) sizes.set(kernel, (sizes.get(kernel) ?? 0) + (await stat(join(lines, name))).size)
  }
  return sizes
}

/** A client tries again by itself; a session that has ended meanwhile is none to end. */
async function terminate(client: Client, sessionId: string, signal: AbortSignal): Promise<void> {
  await client.terminateSession(sessionId, { signal, force: true }).catch(() => {})
}
