import { readdir, readFile, writeFile, appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import type pg from 'pg'
import type { PromiseName } from './judge/promises.ts'
import { now, readRecords, type Moment, type StormRecord } from './records.ts'

/**
 * Faults that are planted into what a storm has left, one after the other, each of them in evidence that the judge has
 * found in order: it must accuse of this promise. What one has spoilt, the next does not use.
 */

export interface Canary {
  name: string
  promise: PromiseName
  /** @returns whom the judge must accuse, as the beginning of the violation's subject */
  plant(scene: Scene): Promise<string>
}

export interface Scene {
  directory: string
  /** As superuser, without triggers. */
  client: pg.Client
}

interface Chosen {
  id: string
  chainId: string
}

/** Longer than any limit, fence and overtime of a storm together. */
const TOO_LONG_SECONDS = 50_000

const USED = new Set<string>()

/** A session that no canary has used. @param where of `s`, its decision `d` and its kernel `k` */
async function choose({ client }: Scene, where: string): Promise<Chosen> {
  const { rows } = await client.query<Chosen>(
    `SELECT s.id, s.chain_id AS "chainId" FROM sessions s JOIN retry_decisions d ON d.session_id = s.id
     JOIN kernels k ON k.session_id = s.id AND k.role = 'main'
     WHERE s.cluster_size = 1 AND s.chain_id <> ALL($1) AND ${where} ORDER BY s.created_at LIMIT 1`,
    [[...USED]],
  )
  if (rows[0] === undefined) throw new Error(`the storm has left no session where ${where}`)
  USED.add(rows[0].chainId)
  return rows[0]
}

export const CANARIES: readonly Canary[] = [
  {
    name: 'a second child',
    promise: 'one-child',
    async plant(scene) {
      const { id } = await choose(scene, `d.phase = 'DISPATCHED'`)
      for (const index of ['parent_session_id', 'chain_id_attempt', 'project_id_creation_id']) {
        await scene.client.query(`DROP INDEX sessions_${index}_key`)
      }
      await scene.client.query(
        `INSERT INTO sessions SELECT (jsonb_populate_record(NULL::sessions, to_jsonb(s) || jsonb_build_object(
           'id', gen_random_uuid(), 'creation_id', s.creation_id || ':second'))).* FROM sessions s WHERE s.parent_session_id = $1`,
        [id],
      )
      return id
    },
  },
  {
    name: 'a failed attempt without its child',
    promise: 'one-child',
    async plant(scene) {
      const { id } = await choose(scene, `s.status = 'TERMINATED' AND s.origin = 'AUTO_RETRY'`)
      const { rows } = await scene.client.query<{ parent: string }>(
        'DELETE FROM sessions WHERE id = $1 RETURNING parent_session_id AS parent',
        [id],
      )
      return rows[0]!.parent
    },
  },
  {
    name: 'an attempt that lives on beside the next one',
    promise: 'two-live',
    async plant(scene) {
      const { id, chainId } = await choose(
        scene,
        `d.phase = 'DISPATCHED' AND s.name = 'third-time' AND s.attempt = 1
        AND EXISTS (SELECT FROM sessions c WHERE c.parent_session_id = s.id AND c.started_at IS NOT NULL)`,
      )
      const [first, second] = [await linesOf(scene, id), await linesOf(scene, id, true)]
      await appendFile(first.path, second.lines.at(-1)!.replace(second.identity, first.identity))
      return chainId
    },
  },
  {
    name: 'an ended session that has another end later',
    promise: 'terminal',
    async plant(scene) {
      const { id } = await choose(scene, `s.status = 'ERROR' AND d.phase = 'EXHAUSTED'`)
      await scene.client.query(`UPDATE sessions SET status = 'TERMINATED' WHERE id = $1`, [id])
      return id
    },
  },
  {
    name: 'an event of a status after the last one',
    promise: 'terminal',
    async plant(scene) {
      const { id } = await choose(scene, `s.status = 'TERMINATED'`)
      await scene.client.query(
        `INSERT INTO session_events (type, session_id, chain_id, project_id, data)
         SELECT 'session.status_changed', id, chain_id, project_id, '{"from": "TERMINATED", "to": "RUNNING"}' FROM sessions WHERE id = $1`,
        [id],
      )
      return id
    },
  },
  {
    name: 'an accepted session that is gone',
    promise: 'lost',
    async plant(scene) {
      const { id } = await choose(scene, `s.status = 'TERMINATED' AND s.attempt = 1`)
      await scene.client.query('DELETE FROM sessions WHERE id = $1', [id])
      return id
    },
  },
  {
    name: 'a session that never ends',
    promise: 'lost',
    async plant(scene) {
      const { id } = await choose(scene, `s.status = 'TERMINATED'`)
      await scene.client.query(`UPDATE sessions SET status = 'RUNNING' WHERE id = $1`, [id])
      return id
    },
  },
  {
    name: 'a program of a session that nobody knows',
    promise: 'lost',
    async plant(scene) {
      const { id } = await choose(scene, `s.status = 'TERMINATED'`)
      const { lines } = await linesOf(scene, id)
      const unknown = '00000000-0000-7000-8000-000000000000'
      await writeFile(
        join(scene.directory, 'lines/unknown'),
        lines.map((line) => line.replaceAll(id, unknown)).join(''),
      )
      return unknown
    },
  },
  {
    name: 'a retry after its cancellation',
    promise: 'asked',
    async plant(scene) {
      const { id } = await choose(scene, `d.phase = 'DISPATCHED'`)
      const asked = { kind: 'asked', number: 1, at: now(), call: 'cancelRetry', sessionId: id }
      const answered = { kind: 'answered', number: 1, at: now(), outcome: 'done', sessionId: id }
      const text = [asked, answered].map((record) => `${JSON.stringify(record)}\n`).join('')
      await writeFile(join(scene.directory, 'records/client-9.ndjson'), text)
      return id
    },
  },
  {
    name: 'an event that a subscriber never received',
    promise: 'events',
    async plant(scene) {
      const path = join(scene.directory, 'records/subscriber-1.ndjson')
      const received = (await readFile(path, 'utf8')).split('\n')
      await writeFile(path, received.toSpliced(Math.floor(received.length / 2), 1).join('\n'))
      return 'subscriber 1'
    },
  },
  {
    name: 'two events of a chain in the wrong order',
    promise: 'events',
    async plant(scene) {
      const { chainId } = await choose(scene, `s.status = 'TERMINATED'`)
      const path = join(scene.directory, 'records/subscriber-2.ndjson')
      const received = (await readFile(path, 'utf8')).split('\n')
      const own = [...received.keys()].filter((index) => received[index]!.includes(chainId))
      const [first, last] = [own[0]!, own.at(-1)!]
      await writeFile(path, received.with(first, received[last]!).with(last, received[first]!).join('\n'))
      return 'subscriber 2'
    },
  },
  {
    name: 'an exit code that the program did not have',
    promise: 'exit-code',
    async plant(scene) {
      const { id } = await choose(scene, `k.exit_code = 9`)
      await scene.client.query('UPDATE kernels SET exit_code = 8 WHERE session_id = $1', [id])
      return id
    },
  },
  {
    name: 'a success in time that counts as a timeout',
    promise: 'exit-code',
    async plant(scene) {
      const { id } = await choose(
        scene,
        `s.status = 'TERMINATED' AND k.exit_code = 0 AND NOT k.stopped AND s.terminated_by IS NULL`,
      )
      await scene.client.query(
        `UPDATE sessions SET result = 'FAILURE', status = 'ERROR', failure_cause = 'KERNEL_NONZERO_EXIT', status_reason = 'task-timeout',
           exit_code = NULL WHERE id = $1`,
        [id],
      )
      return id
    },
  },
  {
    name: 'a program that lives on after its time limit',
    promise: 'time-limit',
    async plant(scene) {
      const { id } = await choose(scene, `s.batch_timeout IS NOT NULL AND s.started_at IS NOT NULL`)
      const { path, lines } = await linesOf(scene, id)
      const words = lines.at(-1)!.split(' ')
      await appendFile(path, words.with(1, String(Number(words[1]) + TOO_LONG_SECONDS)).join(' '))
      return id
    },
  },
  {
    name: 'slots that stay booked',
    promise: 'left',
    async plant(scene) {
      const { id } = await choose(scene, `s.status = 'TERMINATED'`)
      await scene.client.query('UPDATE kernels SET slots_held = true WHERE session_id = $1', [id])
      return id
    },
  },
  {
    name: 'a server that ended by itself',
    promise: 'process',
    async plant(scene) {
      const record: StormRecord = {
        kind: 'exit',
        at: now(),
        process: 'server-9',
        wanted: false,
        status: 1,
        signal: null,
        log: ['an unhandled rejection'],
      }
      await appendFile(join(scene.directory, 'records/storm.ndjson'), `${JSON.stringify(record)}\n`)
      return 'server-9'
    },
  },
]

/** What only a storm can show that moves time: it has leases that ran out, and chains that were removed. */
export const MOVED_CANARIES: readonly Canary[] = [
  CANARIES.find(({ name }) => name === 'a program that lives on after its time limit')!,
  {
    name: 'a lease that does not run out',
    promise: 'lease',
    async plant(scene) {
      const { settled, last } = await momentsOf(scene)
      await noteFault(scene, { kind: 'fault', at: settled, until: last, fault: 'SIGSTOP agent', target: 'agent-1' })
      return 'agent-1'
    },
  },
  {
    name: 'a program that runs on behind its fence',
    promise: 'fence',
    async plant(scene) {
      const { rows } = await scene.client.query<{ id: string; sessionId: string; agent: string }>(
        `SELECT k.id, k.session_id AS "sessionId", a.name AS agent FROM kernels k JOIN agents a ON a.id = k.agent_id
         WHERE k.started_at IS NOT NULL ORDER BY k.started_at`,
      )
      const files = await readdir(join(scene.directory, 'lines'))
      const { id, sessionId, agent } = rows.find((row) => files.some((file) => file.startsWith(row.id)))!
      const path = join(
        scene.directory,
        'lines',
        files.find((file) => file.startsWith(id))!,
      )
      const words = (await readFile(path, 'utf8')).trimEnd().split('\n').at(-1)!.split(' ')
      await appendFile(path, `${words.with(1, String(Number(words[1]) + TOO_LONG_SECONDS)).join(' ')}\n`)
      const at = { up: Number(words[0]), wall: 0 }
      const { last } = await momentsOf(scene)
      await noteFault(scene, { kind: 'fault', at, until: last, fault: 'agent line deaf', target: `${agent} line` })
      return sessionId
    },
  },
  {
    name: 'a chain of which a part was removed',
    promise: 'retention',
    async plant({ client }) {
      const { rows } = await client.query<{ id: string }>(
        `INSERT INTO sessions SELECT (jsonb_populate_record(NULL::sessions, data || jsonb_build_object(
           'id', gen_random_uuid(), 'attempt', 99, 'creation_id', data ->> 'creation_id' || ':second'))).*
         FROM seeds.removed WHERE source = 'sessions' ORDER BY at DESC LIMIT 1 RETURNING chain_id AS id`,
      )
      return rows[0]!.id
    },
  },
  {
    name: 'a chain that was removed too early',
    promise: 'retention',
    async plant({ client }) {
      const { rows } = await client.query<{ id: string }>(
        `UPDATE seeds.removed SET at = (data ->> 'terminated_at')::timestamptz + interval '1 hour'
         WHERE source = 'sessions' AND data ->> 'id' = (SELECT data ->> 'id' FROM seeds.removed
           WHERE source = 'sessions' AND data ->> 'terminated_at' IS NOT NULL ORDER BY at DESC LIMIT 1)
         RETURNING data ->> 'chain_id' AS id`,
      )
      return rows[0]!.id
    },
  },
  {
    name: 'an old chain that stays',
    promise: 'retention',
    async plant({ client }) {
      const { rows } = await client.query<{ id: string; ids: string[] }>(
        `SELECT data ->> 'chain_id' AS id, array_agg(data ->> 'id') AS ids FROM seeds.removed
         WHERE source = 'sessions' GROUP BY 1 ORDER BY min(at) LIMIT 1`,
      )
      const { id, ids } = rows[0]!
      for (const table of ['sessions', 'kernels', 'retry_decisions']) {
        await client.query(
          `WITH back AS (DELETE FROM seeds.removed WHERE source = '${table}'
             AND coalesce(data ->> 'session_id', data ->> 'id') = ANY($1) RETURNING data)
           INSERT INTO ${table} SELECT (jsonb_populate_record(NULL::${table}, data)).* FROM back`,
          [ids],
        )
      }
      await client.query(
        `UPDATE sessions SET terminated_at = terminated_at - interval '10 hours' WHERE chain_id = $1`,
        [id],
      )
      return id
    },
  },
  {
    name: 'a link that is good for longer than a minute',
    promise: 'asked',
    async plant(scene) {
      const { settled, last } = await momentsOf(scene)
      const records = [
        { kind: 'asked', number: 1, at: settled, call: 'link' },
        { kind: 'answered', number: 1, at: settled, outcome: 'done' },
        { kind: 'asked', number: 2, at: last, call: 'follow', linkOf: 1 },
        { kind: 'answered', number: 2, at: last, outcome: 'done', httpStatus: 200 },
      ]
      const text = records.map((each) => `${JSON.stringify(each)}\n`).join('')
      await writeFile(join(scene.directory, 'records/client-8.ndjson'), text)
      return 'client-8.ndjson call 2'
    },
  },
]

/** When all had ended, and when time was last moved: nothing but time passed between. */
async function momentsOf({ directory }: Scene): Promise<{ settled: Moment; last: Moment }> {
  const records = await readRecords<StormRecord>(join(directory, 'records/storm.ndjson'))
  const [settled, last] = ['settled', 'clock'].map((kind) => records.findLast((each) => each.kind === kind)!.at)
  return { settled: settled!, last: last! }
}

async function noteFault({ directory }: Scene, fault: StormRecord): Promise<void> {
  await appendFile(join(directory, 'records/storm.ndjson'), `${JSON.stringify(fault)}\n`)
}

/** The lines that a kernel of the session wrote, or one of its child. */
async function linesOf(
  scene: Scene,
  sessionId: string,
  ofChild = false,
): Promise<{ path: string; lines: string[]; identity: string }> {
  const { rows } = await scene.client.query<{ id: string }>(
    `SELECT k.id FROM kernels k JOIN sessions s ON s.id = k.session_id WHERE ${ofChild ? 's.parent_session_id' : 's.id'} = $1`,
    [sessionId],
  )
  const directory = join(scene.directory, 'lines')
  const name = (await readdir(directory)).find((file) => file.startsWith(rows[0]!.id))
  if (name === undefined) throw new Error(`session ${sessionId} has written no lines`)
  const path = join(directory, name)
  const lines = (await readFile(path, 'utf8')).match(/.*\n/g) ?? []
  return { path, lines, identity: lines[0]!.split(' ').slice(2, 7).join(' ') }
}
