import { readFile, writeFile, appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import { now, type StormRecord } from './records.ts'
import { type Canary, choose, linesOf, TOO_LONG_SECONDS } from './scene.ts'

/**
 * Faults that are planted into what a storm has left, one after the other, each of them in evidence that the judge has
 * found in order: it must accuse of this promise. What one has spoilt, the next does not use.
 */

const KEPT = `EXISTS (SELECT FROM output_files f WHERE f.session_id = s.id AND f.path = 'last')`

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
    name: 'work that runs again although it must not',
    promise: 'once',
    async plant(scene) {
      const { id } = await choose(scene, `s.name = 'only-once' AND s.started_at IS NOT NULL`)
      const { path, lines } = await linesOf(scene, id)
      await writeFile(`${path}.again`, lines.slice(-1).join(''))
      return id
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
      const { id } = await choose(scene, `s.result = 'SUCCESS'`)
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
      const cancelled = `SELECT FROM retry_decisions c WHERE c.chain_id = s.chain_id AND c.phase = 'CANCELLED'`
      const { id } = await choose(scene, `d.phase = 'DISPATCHED' AND NOT EXISTS (${cancelled})`)
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
        // The judge gives one that ended close to its limit the benefit of the doubt.
        `s.status = 'TERMINATED' AND k.exit_code = 0 AND NOT k.stopped AND s.terminated_by IS NULL
         AND (s.batch_timeout IS NULL OR s.terminated_at - s.started_at < make_interval(secs => s.batch_timeout / 2))`,
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
    name: 'a file of the outputs that did not arrive',
    promise: 'outputs',
    async plant(scene) {
      const { id } = await choose(scene, `s.result = 'SUCCESS' AND ${KEPT}`)
      await scene.client.query(`DELETE FROM output_files WHERE session_id = $1 AND path = 'last'`, [id])
      return id
    },
  },
  {
    name: 'a byte of the outputs that is another one',
    promise: 'outputs',
    async plant(scene) {
      const { id } = await choose(scene, `s.result = 'SUCCESS' AND ${KEPT}`)
      const { rows } = await scene.client.query<{ project: string; sha256: string }>(
        `SELECT project_id AS project, sha256 FROM output_files WHERE session_id = $1 AND path = 'left/first'`,
        [id],
      )
      const { project, sha256 } = rows[0]!
      const path = join(scene.directory, 'server/checkpoints/blobs', project, sha256.slice(0, 2), sha256)
      const bytes = await readFile(path)
      bytes[0]! ^= 1
      await writeFile(path, bytes)
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
