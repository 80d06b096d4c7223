import { readdir, readFile, writeFile, appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CANARIES } from '../canaries.ts'
import { type Canary, momentsOf, noteFault, TOO_LONG_SECONDS } from '../scene.ts'

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
           'id', gen_random_uuid(), 'attempt', 99, 'parent_session_id', NULL, 'creation_id', data ->> 'creation_id' || ':second'))).*
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
         WHERE source = 'sessions' AND NOT EXISTS (SELECT FROM sessions s WHERE s.chain_id::text = data ->> 'chain_id')
         GROUP BY 1 ORDER BY min(at) LIMIT 1`,
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
