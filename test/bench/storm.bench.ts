import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { setRetrySwitch } from '../../src/services/retry/retry-switches.ts'
import type { Database } from '../../src/store/database.ts'
import { dueRetries } from '../support/sessions/due-retries.ts'
import type { Measurement } from './bench.ts'
import type { BenchGround } from './ground.ts'
import { openServer } from './bench-server.ts'
import { countTo, percentile } from './waiting.ts'

const LIMIT = { perSecond: 1_000, burst: 500 }
const CALM_RETRIES = 150
const CALM_INTERVAL_MS = 40
const MIB = 2 ** 20

/**
 * All retries of one project due at once under a rate limit, dispatched by two servers, and beside them those of a calm
 * project one by one: whether the limit is kept and used, and how late the others are.
 */
export async function* storm(ground: BenchGround, size: number): AsyncGenerator<Measurement> {
  const { db } = await ground.database()
  await db.query(`INSERT INTO projects (id, domain_id, name) SELECT $1, id, 'calm' FROM domains`, [randomUUID()])
  await using first = openServer(ground, db)
  await using second = openServer(ground, db)
  await setRetrySwitch(first.context, { scope: 'PROJECT', name: 'default', rateLimit: LIMIT })
  ground.progress(`${size} retries due at once`)
  await dueRetries(first.context, { count: size })
  await db.query('VACUUM ANALYZE')
  const before = process.memoryUsage().rss
  for (const server of [first, second]) await server.startServices('dispatch-retries')
  const commits: number[] = []
  for (const server of [first, second]) server.hub.on('events', () => commits.push(Date.now()))
  for (let made = 0; made < CALM_RETRIES; made++) {
    ground.signal.throwIfAborted()
    await dueRetries(first.context, { count: 1, project: 'calm' })
    first.hub.wake('dispatch-retries')
    await sleep(CALM_INTERVAL_MS)
  }
  await countTo(ground, db, 'dispatched', DISPATCHED, size + CALM_RETRIES)
  const grown = process.memoryUsage().rss - before
  const late = await latenessOf(db, commits)
  const { rows } = await db.query<{ seconds: number; first: number; children: number; parents: number }>(STORM)
  const { seconds, first: burst, children, parents } = rows[0]!
  yield* [
    {
      what: 'a storm under a limit: retries let go after the first look',
      figure: (size - burst) / seconds,
      unit: 'retries/s',
      ceiling: LIMIT.perSecond,
      ratioAtLeast: 0.9,
      notes: { retries: size, duplicates: children - parents, 'MiB more': Math.round(grown / MIB) },
    },
    {
      what: "another project's retry beside the storm, p99",
      figure: percentile(late, 0.99),
      unit: 'ms late',
      target: { atMost: 250 },
      notes: { p50: Math.round(percentile(late, 0.5)), retries: late.length },
    },
  ]
}

/** Until the commit that makes each child visible. */
async function latenessOf(db: Database, commits: readonly number[]): Promise<number[]> {
  const { rows } = await db.query<{ due: number; begun: number }>(CALM)
  return rows.map(({ due, begun }) => commits.find((at) => at >= begun)! - due)
}

const DISPATCHED = `SELECT count(*) FROM retry_decisions WHERE phase = 'DISPATCHED'`
const CALM = `SELECT (extract(epoch FROM due_at) * 1000)::float8 AS due,
  (extract(epoch FROM dispatched_at) * 1000)::float8 AS begun
  FROM retry_decisions d JOIN projects p ON p.id = d.project_id WHERE p.name = 'calm'`
const STORM = `SELECT extract(epoch FROM max(dispatched_at) - min(dispatched_at))::float8 AS seconds,
  count(*) FILTER (WHERE dispatched_at = first.at) AS first,
  (SELECT count(parent_session_id) FROM sessions) AS children,
  (SELECT count(DISTINCT parent_session_id) FROM sessions) AS parents
  FROM retry_decisions d JOIN projects p ON p.id = d.project_id,
  (SELECT min(dispatched_at) AS at FROM retry_decisions d JOIN projects p ON p.id = d.project_id WHERE p.name = 'default') AS first
  WHERE p.name = 'default' GROUP BY first.at`
