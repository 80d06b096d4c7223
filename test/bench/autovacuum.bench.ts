import { setTimeout as sleep } from 'node:timers/promises'
import { createNoopExecutor } from '../../src/agent/executors/noop-executor.ts'
import { FOREVER } from '../../src/domain/retention.ts'
import { removeOld } from '../../src/scheduler/retention-service.ts'
import { createSessions } from '../../src/services/session/create-sessions.ts'
import type { Database } from '../../src/store/database.ts'
import type { Measurement } from './bench.ts'
import { openServer } from './bench-server.ts'
import type { BenchGround } from './ground.ts'
import { readTableSizes, type TableSize } from './table-sizes.ts'

/** Half of what two cores do, so that what is left shows whether autovacuum has enough of them. */
const SESSIONS_PER_SECOND = 300
const CREATE_BATCH_SESSIONS = 100
const MINUTE_MS = 60_000
/** By then what has ended is removed: from the third minute on as much goes as comes. */
const KEPT_SECONDS = 120
const REMOVE_INTERVAL_MS = 10_000
const CPU_SLOTS = 2_000
/** Of the size in the middle of the run: what is larger still grows. */
const LEVEL = 1.3
/** Smaller tables are let grow to this. */
const SMALL_BYTES = 4 * 2 ** 20

interface Sample {
  /** In the minute that ended here. */
  perSecond: number
  tables: TableSize[]
}

/** Lifecycles at a steady rate, with retention: whether the tables stop growing, and the last minute is as the first. */
export async function* autovacuum(ground: BenchGround, size: number): AsyncGenerator<Measurement> {
  const { db, connectionString } = await ground.database()
  await using server = openServer(ground, db, connectionString)
  await server.startServices()
  await server.startAgent(createNoopExecutor, { cpu: String(CPU_SLOTS) })
  const over = new AbortController()
  const create = async (count: number) => {
    const inputs = Array.from({ length: count }, () => ({ name: 'bench', command: ['noop'] }))
    await createSessions(server.context, inputs)
  }
  const minutes = Math.ceil(size / (60 * SESSIONS_PER_SECOND))
  const work = [steadily(ground, size, create), keepRemoving(ground, db, over.signal)]
  const samples: Sample[] = []
  try {
    for (let minute = 1; minute <= minutes; minute++) {
      await Promise.race([sleep(MINUTE_MS, undefined, { signal: ground.signal }), failureOf(work)])
      samples.push(await sample(db))
      ground.progress(`minute ${minute}: ${described(samples.at(-1)!)}`)
    }
  } finally {
    over.abort()
  }
  await Promise.all(work)
  yield* judged(samples)
}

/** As many as are due by the clock; those that a slow server is behind with are made up for. */
async function steadily(ground: BenchGround, size: number, create: (count: number) => Promise<void>): Promise<void> {
  const begun = performance.now()
  for (let made = 0; made < size; made += CREATE_BATCH_SESSIONS) {
    await create(Math.min(CREATE_BATCH_SESSIONS, size - made))
    const dueAt = begun + ((made + CREATE_BATCH_SESSIONS) / SESSIONS_PER_SECOND) * 1000
    await sleep(Math.max(0, dueAt - performance.now()), undefined, { signal: ground.signal })
  }
}

async function keepRemoving({ log }: BenchGround, db: Database, over: AbortSignal): Promise<void> {
  const kept = { ageSeconds: KEPT_SECONDS, count: null }
  const policy = {
    chains: kept,
    events: kept,
    logs: kept,
    audit: kept,
    agentHistory: FOREVER,
    succeededCheckpoints: FOREVER,
    failedCheckpoints: FOREVER,
  }
  while (!over.aborted) {
    await removeOld({ db, log }, policy, over)
    await sleep(REMOVE_INTERVAL_MS, undefined, { signal: over }).catch(() => {})
  }
}

/** Never comes to an end by itself where all goes well. */
function failureOf(work: readonly Promise<void>[]): Promise<never> {
  return new Promise((_, reject) => {
    for (const each of work) each.catch(reject)
  })
}

async function sample(db: Database): Promise<Sample> {
  const { rows } = await db.query<{ decided: number }>(
    `SELECT count(*)::float8 AS decided FROM retry_decisions WHERE decided_at > now() - interval '1 minute'`,
  )
  return { perSecond: rows[0]!.decided / 60, tables: await readTableSizes(db) }
}

function described({ perSecond, tables }: Sample): string {
  const each = tables
    .filter(({ bytes }) => bytes > SMALL_BYTES)
    .map(({ table, bytes, live, dead, vacuums }) =>
      [table, mebibytes(bytes), `${live} live`, `${dead} dead`, `${vacuums} vacuums`].join(' '),
    )
  return [`${Math.round(perSecond)} sessions/s`, ...each].join('; ')
}

function mebibytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MiB`
}

function judged(samples: readonly Sample[]): Measurement[] {
  const last = samples.at(-1)!
  const middle = samples[Math.floor((samples.length - 1) / 2)]!
  const rate = {
    what: `lifecycles in minute ${samples.length}, beside the first`,
    figure: last.perSecond,
    unit: 'sessions/s',
    ceiling: samples[0]!.perSecond,
    ratioAtLeast: 0.77,
  }
  return [rate, ...last.tables.map((table) => sizeOf(table, middle, samples))]
}

function sizeOf({ table, bytes, live, vacuums }: TableSize, middle: Sample, samples: readonly Sample[]): Measurement {
  const all = samples.flatMap(({ tables }) => tables.filter((each) => each.table === table))
  const before = middle.tables.find((each) => each.table === table)?.bytes ?? 0
  return {
    what: `size of ${table}`,
    figure: bytes / 2 ** 20,
    unit: 'MiB',
    target: { atMost: Math.round(Math.max(SMALL_BYTES, before * LEVEL) / 2 ** 20) },
    notes: {
      'in the middle': mebibytes(before),
      'live rows': live,
      'dead rows at most': Math.max(...all.map(({ dead }) => dead)),
      vacuums,
    },
  }
}
