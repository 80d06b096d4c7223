import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openDatabase } from '../../../src/store/database.ts'
import type { Measurement } from '../bench.ts'
import type { BenchDatabase, BenchGround } from '../ground.ts'
import { readCpuSeconds } from '../quick/cpu-seconds.ts'
import { percentile, reachCount } from '../waiting.ts'
import type { Side } from './side.ts'

const ALONE_JOBS = 30
const ALONE_CHECK_MS = 2
const NOBODY: ReadonlySet<number> = new Set()

/** Jobs alone, one after another; then `size` at once. */
export async function* measureSide(ground: BenchGround, side: Side, size: number): AsyncGenerator<Measurement> {
  const { name, backoffMs, setup } = side
  const measured = await byRunning(ground, side, size)
  const { times, seconds, bytes, cpuSeconds } = measured
  const rows = 'db' in side.store ? await rowsPerJob(side.store, size + ALONE_JOBS) : null
  yield {
    what: `${name}: jobs that fail once`,
    figure: size / seconds,
    unit: 'jobs/s',
    notes: {
      jobs: size,
      'the backoff not counted': `${Math.round(size / (seconds - backoffMs / 1000))} jobs/s`,
      ...rows,
      [rows ? 'WAL KiB for each' : 'AOF KiB for each']: (bytes / size / 1024).toFixed(1),
      ...(cpuSeconds !== null && { 'CPU ms for each': ((cpuSeconds / size) * 1000).toFixed(2) }),
      setup,
    },
  }
  yield {
    what: `${name}: a job alone, median`,
    figure: percentile(times, 0.5),
    unit: 'ms',
    notes: {
      jobs: ALONE_JOBS,
      p99: `${Math.round(percentile(times, 0.99))} ms`,
      backoff: `${backoffMs} ms`,
      'median beyond it': `${(percentile(times, 0.5) - backoffMs).toFixed(0)} ms`,
    },
  }
}

interface Measured {
  /** From enqueue to success, in ms. */
  times: number[]
  seconds: number
  /** Written to the log of its store. */
  bytes: number
  /** Of the bench, the peer and the store. */
  cpuSeconds: number | null
}

async function byRunning(ground: BenchGround, side: Side, size: number): Promise<Measured> {
  const { name, store } = side
  ground.progress(`${name} starts`)
  await using running = await side.start()
  const times: number[] = []
  for (let job = 0; job < ALONE_JOBS; job++) {
    if (job % 10 === 0) ground.progress(`${name}: job ${job} of ${ALONE_JOBS}, one after another`)
    const began = performance.now()
    await running.enqueue(1)
    await reachCount(ground, { what: name, count: running.succeeded, wanted: job + 1, everyMs: ALONE_CHECK_MS })
    times.push(performance.now() - began)
  }
  ground.progress(`${name}: ${size} jobs at once`)
  // After a checkpoint, the log holds whole pages: each side begins right after one, and none comes in between.
  if ('db' in store) await store.db.query('CHECKPOINT')
  const [bytesBefore, cpuBefore] = [await bytesLogged(side), await readCpuSeconds(ground.dir, NOBODY)]
  const began = performance.now()
  await running.enqueue(size)
  await reachCount(ground, { what: name, count: running.succeeded, wanted: ALONE_JOBS + size })
  const seconds = (performance.now() - began) / 1000
  const cpuAfter = await readCpuSeconds(ground.dir, NOBODY)
  const cpuSeconds = cpuBefore === null || cpuAfter === null ? null : cpuAfter - cpuBefore
  return { times, seconds, bytes: (await bytesLogged(side)) - bytesBefore, cpuSeconds }
}

async function bytesLogged({ store }: Side): Promise<number> {
  if ('db' in store) {
    const position = `SELECT (pg_current_wal_insert_lsn() - '0/0')::float8 AS bytes`
    return (await store.db.query<{ bytes: number }>(position)).rows[0]!.bytes
  }
  const files = await readdir(store.aofDirectory)
  const sizes = await Promise.all(files.map(async (file) => (await stat(join(store.aofDirectory, file))).size))
  return sizes.reduce((sum, bytes) => sum + bytes, 0)
}

/**
 * Rows of all tables written for each job. First closes the connections of the bench: PostgreSQL counts the last rows of
 * a connection when it is closed. The peer has closed its own.
 */
async function rowsPerJob(database: BenchDatabase, jobs: number): Promise<Record<string, string>> {
  await database.db.close()
  const db = openDatabase({ connectionString: database.connectionString, connectionsMax: 1, onError: () => {} })
  try {
    await sleep(200)
    const { rows } = await db.query<{ inserted: number; updated: number; deleted: number }>(
      `SELECT sum(n_tup_ins)::float8 AS inserted, sum(n_tup_upd)::float8 AS updated, sum(n_tup_del)::float8 AS deleted
       FROM pg_stat_user_tables`,
    )
    const { inserted, updated, deleted } = rows[0]!
    const each = (count: number) => (count / jobs).toFixed(1)
    return {
      'rows written for each': each(inserted + updated + deleted),
      'inserted+updated+deleted': `${each(inserted)}+${each(updated)}+${each(deleted)}`,
    }
  } finally {
    await db.close()
  }
}
