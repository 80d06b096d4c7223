import { appendFile, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type pg from 'pg'
import type { PromiseName } from './judge/promises.ts'
import { readRecords, type Moment, type StormRecord } from './records.ts'

/** What a storm has left, for faults that are planted into it. */

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
export const TOO_LONG_SECONDS = 50_000

const USED = new Set<string>()

/** A session that no canary has used. @param where of `s`, its decision `d` and its kernel `k` */
export async function choose({ client }: Scene, where: string): Promise<Chosen> {
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

/** When all had ended, and when time was last moved: nothing but time passed between. */
export async function momentsOf({ directory }: Scene): Promise<{ settled: Moment; last: Moment }> {
  const records = await readRecords<StormRecord>(join(directory, 'records/storm.ndjson'))
  const [settled, last] = ['settled', 'clock'].map((kind) => records.findLast((each) => each.kind === kind)!.at)
  return { settled: settled!, last: last! }
}

export async function noteFault({ directory }: Scene, fault: StormRecord): Promise<void> {
  await appendFile(join(directory, 'records/storm.ndjson'), `${JSON.stringify(fault)}\n`)
}

/** The lines that a kernel of the session wrote, or one of its child. */
export async function linesOf(
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
